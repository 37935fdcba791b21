package queue

import (
	"slices"
	"testing"
	"time"
)

// After a restart a worker that held a message has a longer grace to come back
// in; if it does not, the message is free long before its timeout.
func TestHoldersAfterRestart(t *testing.T) {
	for _, back := range []bool{false, true} {
		var out Out
		live := New(Config{AutoCreate: true, Defaults: Defaults(), Grace: time.Second})
		live.Begin(1, 1, &out)
		live.Step(&Publish{Queue: "q", MaxAttempts: -1}, 1, &out)
		live.Step(&Pull{Queue: "q", Inbox: "in.p", Peer: "p", Batch: 1}, 1, &out)

		s := New(live.cfg)
		var found Out
		if err := s.Recover(1, out.Records, &found); err != nil {
			t.Fatal(err)
		}
		if err := s.Recovered(); err != nil {
			t.Fatal(err)
		}
		if got := s.Holders(); !slices.Equal(got, []string{"p"}) {
			t.Fatalf("holders are %q", got)
		}
		now := int64(5 * time.Second)
		s.Begin(2, now, &found)
		s.Step(&Peer{Peer: "p", Grace: 10 * time.Second}, now, &found)
		if back {
			s.Step(&Peer{Peer: "p", Present: true}, now, &found)
		}
		phases := map[bool]Phase{true: InFlight, false: Delayed}
		for _, at := range []struct {
			passed time.Duration
			want   Phase
		}{{10*time.Second - 1, InFlight}, {10 * time.Second, phases[back]}} {
			s.Tick(now+int64(at.passed), &found)
			if e, err := s.Entry("q", 1); err != nil || e.Phase != at.want {
				t.Errorf("back %t: after %s the message is %s (%v), want %s", back, at.passed, e.Phase, err, at.want)
			}
		}
	}
}
