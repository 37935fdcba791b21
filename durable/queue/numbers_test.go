package queue

import (
	"fmt"
	"testing"
)

// TestAQueueNumberIsNotGivenTwice removes the newest queue and lets the log
// forget that it ever was.
func TestAQueueNumberIsNotGivenTwice(t *testing.T) {
	r := newRig(t, testConfig())
	r.done(t, &Declare{Name: "stays", Settings: Defaults()})
	r.done(t, &Declare{Name: "goes", Settings: Defaults()})
	gone, _ := r.state.Info("goes")
	r.done(t, &Remove{Name: "goes"})
	for range 3 { // it must be said again each time
		r.done(t, &Publish{Queue: "stays", MaxAttempts: -1})
		n := len(r.log) - 1
		r.carry(t, n, 10, false, func() {})
		r.drop(n)
		r.crash(t, 0)
	}
	r.done(t, &Declare{Name: "goes", Settings: Defaults()})
	if again, _ := r.state.Info("goes"); again.ID <= gone.ID {
		t.Errorf("number %d was given to two queues", again.ID)
	}
}

// TestAMessageNumberIsNotGivenTwice takes all messages away in every way there
// is, and lets the log forget them.
func TestAMessageNumberIsNotGivenTwice(t *testing.T) {
	r := newRig(t, testConfig())
	r.done(t, &Declare{Name: "grave", Settings: Defaults()})
	given := map[string]bool{}
	publish := func() {
		t.Helper()
		seq := fmt.Sprint("q", r.done(t, &Publish{Queue: "q", MaxAttempts: -1}).Seq)
		if given[seq] {
			t.Fatalf("%s was given twice", seq)
		}
		given[seq] = true
	}
	takeAway := []func(seq uint64) Op{
		func(seq uint64) Op { return &Purge{Name: "q"} },
		func(seq uint64) Op { return &Delete{Name: "q", Seq: seq} },
		func(seq uint64) Op { return &Kill{Name: "q", Seq: seq} },
	}
	for round := range 9 {
		publish()
		i, _ := r.state.Info("q")
		r.done(t, takeAway[round%3](i.LastSeq))
		if round%3 == 2 {
			dlq, _ := r.state.Info("q-dlq")
			if seq := fmt.Sprint("dlq", dlq.LastSeq); given[seq] {
				t.Fatalf("%s was given twice", seq)
			} else {
				given[seq] = true
			}
			replayed := r.done(t, &Replay{Name: "q-dlq", Seq: dlq.LastSeq})
			given[fmt.Sprint("q", replayed.Seq)] = true
			r.done(t, &Purge{Name: "q"})
		}
		r.done(t, &Publish{Queue: "other", MaxAttempts: -1}) // the log must hold something
		n := len(r.log) - 1
		r.carry(t, n, 10, false, func() {})
		r.drop(n)
		r.crash(t, 0)
	}
}

// TestADeliveryNumberIsNotGivenTwice is what keeps an old answer from settling a
// new delivery.
func TestADeliveryNumberIsNotGivenTwice(t *testing.T) {
	r := newRig(t, testConfig())
	last := uint64(0)
	for range 5 {
		r.done(t, &Publish{Queue: "q", MaxAttempts: -1})
		out := r.do(t, &Pull{Queue: "q", Inbox: "in", Batch: 1})
		if d := out.Speech[0].Delivery; d <= last {
			t.Fatalf("delivery %d comes after %d", d, last)
		}
		last = out.Speech[0].Delivery
		r.done(t, &Purge{Name: "q"})
		n := len(r.log) - 1
		r.carry(t, n, 10, false, func() {})
		r.drop(n)
		r.crash(t, 0)
	}
}

// TestALogWithoutItsQueueIsRefused loses the commit that says what a queue is.
func TestALogWithoutItsQueueIsRefused(t *testing.T) {
	r := newRig(t, testConfig())
	r.done(t, &Declare{Name: "q", Settings: Defaults()})
	r.done(t, &Publish{Queue: "q", MaxAttempts: -1})
	if _, err := recoverState(r.cfg, r.log[2:]); err == nil {
		t.Error("a message of no queue is taken")
	}
}
