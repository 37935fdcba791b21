package system

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// A1: the OK waits for fsync. On a disk where each sync takes 300 ms longer no
// publish is answered sooner, and those that come together share a sync.
func TestA1_OKWaitsForFsync(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	s := start(t, setup{})
	c := s.connect(t)
	l := newLedger(dice(t), 30*time.Second)
	l.put(t, c, "orders", 1) // the queue is there
	slow := s.trace(t, slow(int(delay.Microseconds()))...)

	for range 20 {
		i := l.draw("orders")
		begin := time.Now()
		if err := l.publish(c, i); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < delay {
			t.Errorf("answered after %s, before the sync of %s", took, delay)
		}
	}

	const together = 50
	outs := make([]out, together)
	for k := range outs {
		outs[k] = l.draw("orders").out
	}
	before := slow.calls("fsync", "fdatasync")
	begin := time.Now()
	answers, err := c.publishAll(outs)
	if err != nil {
		t.Fatal(err)
	}
	took, calls := time.Since(begin), slow.calls("fsync", "fdatasync")-before
	for _, a := range answers {
		if a.err != nil || a.took < delay {
			t.Errorf("answered after %s: %v", a.took, a.err)
		}
	}
	if calls > together/5 || took > together*delay/3+allowed(begin, time.Now()) {
		t.Errorf("%d publishes at once took %d syncs and %s", together, calls, took)
	}
	t.Logf("%d publishes at once: %d syncs, %s", together, calls, took)
	slow.detach()
	s.restart()
	c.back(t)
	l.balance(t, c)
}

// Publishers never stop; the server is killed at a random moment, again and again.
// What was answered is there, whole; what was not is there whole or not at all.
func TestA1_KilledWhilePublishing(t *testing.T) {
	t.Parallel()
	rounds := 8
	if storm() {
		rounds = 50
	}
	s := start(t, setup{})
	rng := dice(t)
	l := newLedger(rng, 30*time.Second)
	crew := newCrew(t, s, 8)
	c := s.connect(t)
	for range rounds {
		crew.begin(func(c *client) error { return l.publish(c, l.draw("orders")) })
		time.Sleep(aMoment(rng))
		s.kill()
		crew.end()
		s.start()
		c.back(t)
		l.balance(t, c)
	}
	l.drain(t, c)
}

// The same with the power: it is cut right after an OK has come.
func TestA1_PowerCutAfterOK(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	rounds := 5
	if storm() {
		rounds = 50
	}
	s := start(t, setup{dir: d.data(), args: []string{"--storage-reserve", "0"}})
	rng := dice(t)
	l := newLedger(rng, 30*time.Second)
	crew := newCrew(t, s, 4)
	c := s.connect(t)
	for range rounds {
		var cutting sync.RWMutex // an OK that comes while the power is being cut is not counted: see RELIABILITY.md 3.2
		off := false
		crew.begin(func(c *client) error {
			i := l.draw("orders")
			ack, err := c.publish(i.out)
			cutting.RLock()
			defer cutting.RUnlock()
			if off {
				return errors.New("the power is off")
			}
			l.answered(i, ack, err)
			return err
		})
		for range 10 + rng.IntN(30) {
			if err := l.publish(c, l.draw("orders")); err != nil {
				t.Fatal(err)
			}
		}
		cutting.Lock()
		off = true
		d.cut()
		cutting.Unlock()
		s.kill()
		crew.end()
		d.powerOn()
		s.start()
		c.back(t)
		l.balance(t, c)
	}
	s.stop()
	d.check()
}

// aMoment is a random time, up to a third of a second: for the moment of a kill.
func aMoment(rng *rand.Rand) time.Duration {
	return time.Duration(rng.IntN(300_000)+5_000) * time.Microsecond
}
