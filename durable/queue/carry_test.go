package queue

import (
	"testing"
	"time"
)

// carryOf is a Carry of all commits of a log.
func carryOf(log []entry) *Carry {
	op := &Carry{Through: log[len(log)-1].number, Finish: true}
	for _, e := range log {
		for offset, record := range Messages(e.data) {
			op.Add(e.number, offset, record)
		}
	}
	return op
}

// TestOnlyWhatIsNeededIsCarried carries the same commits three times: what was
// carried, or is done, is not carried again, wherever the message is by then.
func TestOnlyWhatIsNeededIsCarried(t *testing.T) {
	r := newRig(t, testConfig())
	r.do(t,
		&Publish{Queue: "q", Body: []byte("plain"), MaxAttempts: -1, ID: "x"},
		&Publish{Queue: "q", Body: []byte("plain"), MaxAttempts: -1},
		&Publish{Queue: "q", Body: []byte("done"), MaxAttempts: -1},
		&Publish{Queue: "q", Body: []byte("delayed"), MaxAttempts: -1, Delay: time.Hour},
		&Publish{Queue: "q", Body: []byte("dead"), MaxAttempts: -1},
		&Publish{Queue: "q", Body: []byte("dead and back"), MaxAttempts: -1},
		&Delete{Name: "q", Seq: 3}, &Kill{Name: "q", Seq: 5}, &Kill{Name: "q", Seq: 6})
	r.done(t, &Replay{Name: "q-dlq", Seq: 2})
	older := r.log
	for i, want := range []int{5, 0, 0} {
		if got := r.done(t, carryOf(older)).Count; got != want {
			t.Errorf("time %d: %d messages carried, not %d", i, got, want)
		}
	}
	if n := len(r.log) - len(older); n != 1 {
		t.Errorf("there was nothing to carry after the first time, and it took %d commits", n)
	}

	// what is carried is carried again when its turn comes
	second := r.log[len(older):]
	if got := r.done(t, carryOf(second)).Count; got != 5 {
		t.Errorf("%d messages carried from where they had been carried to", got)
	}
	r.drop(len(older) + len(second))
	before := dump(r.state)
	if d := difference(before, dump(r.recovered(t, r.log))); d != "" {
		t.Error(d)
	}
}

// TestACarryOfTheCommitAtHand names commits that are not there yet: ids must not
// be said for ever.
func TestACarryOfTheCommitAtHand(t *testing.T) {
	r := newRig(t, testConfig())
	r.done(t, &Publish{Queue: "q", ID: "x", MaxAttempts: -1})
	r.done(t, &Carry{Through: r.last + 100, Finish: true})
	if d := difference(dump(r.state), dump(r.recovered(t, r.log))); d != "" {
		t.Error(d)
	}
}
