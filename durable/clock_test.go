package durable

import (
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// left makes a log: after an hour a message was delayed by ten minutes, and
// after eleven hours, in which nothing happened, one was handed out for 30 s,
// one delayed by a minute. Fake time starts at 2000-01-01 in each bubble: who
// opens the log in another one has a wall clock that was set back.
func left(t *testing.T) (log *memLog, at time.Time) {
	play(t, func(t *testing.T) {
		before := newMemLog()
		s, _ := open(t, before)
		time.Sleep(time.Hour)
		overdue := publish("overdue")
		overdue.Delay = 10 * time.Minute
		do(t, s, overdue)
		do(t, s, &queue.Pause{Name: "q", Pause: true})
		time.Sleep(10 * time.Hour)
		at = s.Now()
		do(t, s, &queue.Pause{Name: "q", Pause: false})
		do(t, s, &queue.Delete{Name: "q", Seq: 1})
		do(t, s, publish("in flight"))
		do(t, s, pull(1))
		delayed := publish("delayed")
		delayed.Delay = time.Minute
		do(t, s, delayed)
		log = before.crash(0)
	})
	return log, at
}

// delivered gives when, from now on, each body is delivered.
func delivered(t *testing.T, s *Store, r *recorder) map[string]time.Duration {
	t.Helper()
	when, began := map[string]time.Duration{}, time.Now()
	submit(t, s, pull(100))
	for range 200 {
		synctest.Wait()
		for _, d := range r.deliveries() {
			if _, known := when[string(d.Message.Body)]; !known {
				when[string(d.Message.Body)] = time.Since(began)
			}
		}
		time.Sleep(time.Second)
	}
	return when
}

// The State's time does not go back over a restart, and what was to come comes
// when it was to come.
func TestTheWallClockWasSetBack(t *testing.T) {
	log, at := left(t)
	play(t, func(t *testing.T) {
		began := time.Now()
		s, r := open(t, log)
		if now := s.Now(); now.Before(at) || now.Sub(at) > time.Second {
			t.Errorf("the store's time was %v, now it is %v", at, now)
		}
		when := delivered(t, s, r)
		// A second of backoff behind the timeout.
		if when["in flight"] != 31*time.Second || when["delayed"] != time.Minute {
			t.Errorf("delivered after %v", when)
		}
		if moved, passed := s.Now().Sub(at), time.Since(began); moved < passed || moved > passed+time.Second {
			t.Errorf("the store's time moved by %v in %v", moved, passed)
		}
	})
}

// What became due while the store was down is ready at once.
func TestTheStoreWasDown(t *testing.T) {
	log, _ := left(t)
	play(t, func(t *testing.T) {
		time.Sleep(1000 * time.Hour)
		s, r := open(t, log)
		if s.Now().UnixNano() != time.Now().UnixNano() {
			t.Errorf("the store's time is %v", s.Now())
		}
		if when := delivered(t, s, r); when["in flight"] > time.Second || when["delayed"] != 0 {
			t.Errorf("delivered after %v", when)
		}
	})
}

// An old commit does not keep the time back: it says when it was made, not
// when the one before it was.
func TestACommitSaysWhenItWasMade(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, _ := open(t, log)
		for range 3 {
			time.Sleep(24 * time.Hour)
			do(t, s, publish("body"))
			state, out := queue.New(queue.Config{}), queue.Out{}
			must(t, log.crash(0).Recover(func(commit uint64, data []byte) error { return state.Recover(commit, data, &out) }))
			if state.Now() != s.now() {
				t.Errorf("recovery goes on from %v, it is %v", time.Unix(0, state.Now()), s.Now())
			}
		}
	})
}
