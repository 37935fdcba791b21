package system

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Publishes that come together share their syncs; one that comes alone is answered
// after exactly one.
func TestSyncs_GroupCommit(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	c.put(t, plain("orders", "the queue is there, and its first generation"))
	x := s.trace(t, syncs()...)
	calls := func() int { return x.calls("fsync", "fdatasync") }

	before := calls()
	c.putMany(t, "orders", "m", 500)
	together := calls() - before
	if together < 1 || together > 100 {
		t.Errorf("500 publishes at once took %d syncs", together)
	}
	for range 5 {
		before := calls()
		c.put(t, plain("orders", "one"))
		eventually(t, "one publish takes one sync", func() error { return equal(calls()-before, 1) })
	}
	before = calls()
	c.one(t, "orders").must(t, ack, "ok")
	t.Logf("500 publishes at once: %d syncs; a delivery and its ack: %d", together, calls()-before)
}

// The server is killed in the moment of the sync that some request waits for. It
// is not answered; and when the server is back, what was asked for is wholly done
// or not at all, and can be asked for again.
func TestSyncs_KilledAtTheNextOne(t *testing.T) {
	t.Parallel()
	rng := dice(t)
	for _, play := range []struct {
		name string
		act  func(*client, *ledger, *delivery) error // asks for what needs a sync
	}{
		{"publish", func(c *client, l *ledger, _ *delivery) error { return l.publish(c, l.draw("orders")) }},
		{"ack", answered(ack)},
		{"nak", answered(nak)},
		{"nak with a delay", answered(nakFor(50 * time.Millisecond))},
		{"term", answered(term + " no use")},
		{"kill", func(c *client, l *ledger, d *delivery) error { return l.kill(c, l.of(d), "orders", d.seq) }},
		{"delete", func(c *client, l *ledger, d *delivery) error { return l.remove(c, l.of(d), "orders", d.seq) }},
		{"purge", func(c *client, l *ledger, _ *delivery) error { return l.purge(c, "trash", 3) }},
		{"replay", func(c *client, l *ledger, _ *delivery) error { _, err := l.replay(c, "orders"); return err }},
		{"remove the queue", func(c *client, l *ledger, _ *delivery) error { return l.removeQueue(c, "trash") }},
		{"deliver", func(c *client, l *ledger, _ *delivery) error {
			p, err := c.pull("orders", pull{Batch: 3, Expires: time.Second})
			if len(p.msgs) > 0 {
				return fmt.Errorf("%v was handed out", p.msgs)
			}
			return err
		}},
	} {
		l := newLedger(rng, 3*time.Second)
		t.Run(play.name, func(t *testing.T) {
			t.Parallel()
			killedAtSync(t, l, play.act)
		})
	}
}

func answered(answer string) func(*client, *ledger, *delivery) error {
	return func(c *client, l *ledger, d *delivery) error {
		_, err := l.answer(&delivery{Msg: d.Msg, c: c}, answer)
		return err
	}
}

func killedAtSync(t *testing.T, l *ledger, act func(*client, *ledger, *delivery) error) {
	s := start(t, setup{config: `
defaults:
  visibility_timeout: 3s
  max_attempts: 2
  backoff: {list: [20ms]}
auto_create: true
`})
	c := s.connect(t)
	// There is a message that was tried before, a dead one, and others.
	l.put(t, c, "trash", 5)
	l.put(t, c, "orders", 2)
	for _, d := range c.take(t, "orders", 2) {
		l.saw(d)
		answer := nakFor(1)
		if d.seq == 1 {
			answer = term
		}
		if _, err := l.answer(d, answer); err != nil {
			t.Fatal(err)
		}
	}
	held := c.one(t, "orders")
	l.saw(held)
	if held.attempt != 2 {
		t.Fatalf("%v: want attempt 2", held)
	}
	l.put(t, c, "orders", 3)

	s.trace(t, deadly()...)
	ctx, cancel := context.WithCancel(t.Context())
	cut := make(chan error, 1)
	go func() { cut <- act(c.until(ctx), l, held) }()
	s.killed()
	cancel() // nobody waits for the answer any longer
	if err := <-cut; err == nil {
		t.Error("it was answered before the sync")
	}
	s.start()
	c.back(t)
	l.balance(t, c)
	if err := act(c, l, held); err != nil && !expected(err) {
		t.Errorf("again: %v", err)
	}
	l.drain(t, c)
}

// expected: what was asked for was done before, or the message has moved on.
func expected(err error) bool {
	text := err.Error()
	return slices.ContainsFunc([]string{"there is no message", "there is no queue", "was handed out"}, func(s string) bool {
		return strings.Contains(text, s)
	})
}
