package system

import (
	"testing"
	"time"
)

// Whatever is confirmed, is confirmed after the sync: answers of workers, what
// people ask for, and the second publish of an id whose first one is still on its
// way to the disk.
func TestA1_WhatIsConfirmedIsSynced(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	s := start(t, setup{})
	c := s.connect(t)
	c.putMany(t, "orders", "m", 10)
	msgs := c.take(t, "orders", 5)
	s.trace(t, slow(int(delay.Microseconds()))...)

	waits := func(what string, do func() error) {
		t.Helper()
		begin := time.Now()
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		} else if took := time.Since(begin); took < delay {
			t.Errorf("%s was confirmed after %s, before the sync of %s", what, took, delay)
		}
	}
	for k, answer := range []string{inProgress, ack, nak, nakFor(time.Hour), term} {
		waits(answer, func() error {
			result, err := msgs[k].ask(answer)
			if err == nil {
				err = equal(result, "ok")
			}
			return err
		})
	}
	asks := func(endpoint string, request args) {
		t.Helper()
		waits(endpoint, func() error { return c.api(endpoint, request, nil) })
	}
	asks("msg.kill", args{"queue": "orders", "seq": 6})
	asks("dlq.replay", args{"queue": "orders"})
	asks("msg.rm", args{"queue": "orders", "seq": 7})
	asks("queue.pause", args{"queue": "orders"})
	asks("queue.resume", args{"queue": "orders"})
	asks("queue.purge", args{"queue": "orders"})
	asks("queue.rm", args{"queue": "orders"})

	c.put(t, plain("orders", "the queue is there again"))
	twice := plain("orders", "once").with("Nats-Msg-Id", "1")
	waits("a publish and its repetition", func() error {
		answers, err := c.publishAll([]out{twice, twice})
		for _, a := range answers {
			if a.took < delay {
				t.Errorf("%+v came before the sync", a)
			}
		}
		if !answers[1].ack.Duplicate || answers[0].ack.Seq != answers[1].ack.Seq {
			t.Errorf("the answers are %+v", answers)
		}
		return err
	})
	waits("a delivery", func() error { _, err := c.pull("orders", pull{Batch: 1}); return err })
}
