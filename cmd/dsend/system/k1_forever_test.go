package system

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// errorSize is how much of an error is kept, in bytes.
const errorSize = 1024

// Nothing is ever done with these messages. A nak that the kill undoes becomes a
// timeout, with the backoff of an attempt that has many before it: it is short.
const foreverConfig = `
defaults: {max_attempts: 0, backoff: {initial: 10ms, max: 10ms, jitter: 0}}
queues:
- name: again
- name: held
- name: empty
`

// K1: workers who fail for ever, say for ever that they are still at work, or ask
// for ever where nothing is, write over and over what nobody needs any longer. The
// log does not grow with it, and every message is there, with all its attempts.
func TestK1_WorkersWhoNeverFinish(t *testing.T) {
	t.Parallel()
	times, slack := 5, int64(16*mib) // a quarter of the bound is written so many times
	if storm() {
		times, slack = 40, 56*mib
	}
	// The messages and the last twenty errors of each, twice; two commits, and two
	// batches, as for those who are parked (TestK1_ParkedMessages).
	bound := slack + 8*mib + 2*3*mib
	s := start(t, setup{config: foreverConfig, args: []string{
		"--storage-slack", fmt.Sprintf("%dB", slack), "--storage-reserve", "32MiB",
	}})
	c := s.connect(t)
	l := newLedger(dice(t), 30*time.Second)
	const failing = 100
	l.put(t, c, "again", failing)
	l.put(t, c, "held", 1)
	held := c.one(t, "held")
	l.saw(held)

	disk := s.watchDisk(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	forever := func(do func() error) {
		running.Go(func() {
			for ctx.Err() == nil {
				if err := do(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 4 {
		worker := s.connect(t)
		forever(func() error { return l.failAll(worker) })
	}
	forever(func() error { return said(held.ask(inProgress)) })
	seeker := s.connect(t)
	forever(func() error { return seeker.seek("empty") })
	naks := int64(times) * bound / 4 / errorSize
	within(t, time.Duration(times)*patience, "they fail", func() error {
		if n := c.info(t, "again").total(t, "naked"); n < naks {
			return fmt.Errorf("%d times, not %d", n, naks)
		}
		return nil
	})
	cancel()
	running.Wait()
	if most := disk.stop(); most > bound {
		t.Errorf("there were up to %d bytes on the disk, the bound is %d", most, bound)
	} else {
		t.Logf("%d failed and %d were extended, up to %d MiB were on the disk",
			c.info(t, "again").total(t, "naked"), c.info(t, "held").total(t, "extended"), most/mib)
	}

	s.restart()
	c.back(t)
	if err := said(l.answer(held, ack)); err != nil {
		t.Error(err)
	}
	l.drain(t, c)
}

// failAll takes what is ready and fails it, with as much of an error as is kept.
func (l *ledger) failAll(c *client) error {
	p, err := c.pull("again", pull{Batch: 25, Expires: time.Second})
	for _, d := range p.msgs {
		l.saw(d)
		err = errors.Join(err, d.say(fmt.Sprintf(`-NAK {"delay":1,"error":%q}`, strings.Repeat("!", errorSize))))
	}
	return errors.Join(err, c.nc.FlushTimeout(patience))
}

// said checks the result of an answer.
func said(result string, err error) error {
	if err == nil {
		err = equal(result, "ok")
	}
	return err
}

// seek asks a queue for a message that is not there.
func (c *client) seek(queue string) error {
	p, err := c.pull(queue, pull{Batch: 1, NoWait: true})
	if err == nil {
		err = equal(p.status, "404 No Messages")
	}
	return err
}
