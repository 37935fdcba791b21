package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

func TestClose(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, r := open(t, log, func(c *Config) { c.AckInterval = time.Hour })
		fill(t, s, 1, func(int) string { return "body" })
		submit(t, s, pull(1))
		synctest.Wait()
		submit(t, s, answer(r.deliveries()[0], queue.Ack, false))
		for i := range 3 {
			p := pull(1)
			p.Inbox = fmt.Sprint("_INBOX.", i)
			submit(t, s, p)
		}
		log.hold()
		submit(t, s, publish("under way"))
		synctest.Wait()
		submit(t, s, publish("taken"))
		go func() { time.Sleep(time.Second); log.release() }()
		must(t, s.Close())

		if n := len(r.answers()); n != 2 {
			t.Errorf("%d of 2 publishes were answered", n)
		}
		ends := map[string]int{}
		for _, sp := range r.statuses() {
			if sp.Status == queue.StatusShutdown {
				ends[sp.Inbox]++
			}
		}
		// "under way" came to the first of them; "taken" is not delivered any more.
		if len(ends) != 2 || ends["_INBOX.1"] != 1 || ends["_INBOX.2"] != 1 {
			t.Errorf("these pulls were ended: %v", ends)
		}
		if left := alive(t, log.crash(0), "q"); left[1] || len(left) != 2 {
			t.Errorf("after Close these messages are durable: %v", left)
		}
		for range 2 {
			must(t, s.Close())
			if err := s.Submit([]queue.Op{publish("late")}, 4); !errors.Is(err, ErrStopped) {
				t.Errorf("Submit after Close: %v", err)
			}
		}
	})
}

// A store that compacts is closed like any other.
func TestCloseDuringCompaction(t *testing.T) {
	for _, call := range []string{"Append", "Drop"} {
		play(t, func(t *testing.T) {
			log := newMemLog()
			s, _ := open(t, log, small(log))
			closing := make(chan error, 1)
			log.boundary = func(at string) {
				if at == call && log.count("Scan") == 1 && len(closing) == 0 && !s.isClosed() {
					go func() { closing <- s.Close() }()
					time.Sleep(time.Millisecond)
				}
			}
			litter(t, s)
			must(t, <-closing)
		})
	}
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Everything that was taken before Close is done and answered, everything else
// is refused: nothing is in between.
func TestCloseWithOpsRacingIn(t *testing.T) {
	for round := range 6 {
		log := newMemLog()
		s, r := open(t, log)
		do(t, s, publish("the first"))
		var submitted, done, lost atomic.Int64
		var racers sync.WaitGroup
		race := func(call func() error) {
			racers.Go(func() {
				for {
					if err := call(); err != nil {
						if !errors.Is(err, ErrStopped) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		for range 2 {
			race(func() error {
				err := s.Submit([]queue.Op{publish("body")}, 4)
				if err == nil {
					submitted.Add(1)
				}
				return err
			})
			race(func() error {
				r, err := s.Do(background, publish("body"))
				if err == nil && r.Err == nil {
					done.Add(1)
				}
				return err
			})
			race(func() error {
				seen := false
				err := s.View(background, func(*queue.State) { seen = true })
				if seen != (err == nil) {
					lost.Add(1)
				}
				return err
			})
			race(func() error {
				_, _, err := s.Message(background, "q", 1)
				return err
			})
		}
		time.Sleep(time.Duration(round) * 200 * time.Microsecond)
		for range 3 {
			racers.Go(func() { must(t, s.Close()) })
		}
		soon(t, "Close", racers.Wait)

		if n := int64(len(r.answers())); n != submitted.Load() {
			t.Fatalf("%d publishes were taken, %d answered", submitted.Load(), n)
		}
		if n := int64(len(alive(t, log.crash(0), "q"))); n != 1+submitted.Load()+done.Load() {
			t.Fatalf("%d publishes were confirmed, %d are there", 1+submitted.Load()+done.Load(), n)
		}
		if lost.Load() > 0 {
			t.Fatal("a View returned nil and saw nothing, or an error and saw something")
		}
	}
}

// A reply that was the last thing to be said is not taken for none.
func TestTheLastReplyIsHeard(t *testing.T) {
	for range 100 {
		s := &Store{wake: make(chan struct{}, 1), silent: make(chan struct{})}
		ctx := waiting{background, func() {
			s.inbox[0].reply <- queue.Reply{Seq: 7}
			close(s.silent)
		}}
		if r, err := s.Do(ctx, publish("body")); err != nil || r.Seq != 7 {
			t.Fatalf("the reply is %+v, %v", r, err)
		}
	}
}

// waiting is a context that calls a function when somebody begins to wait.
type waiting struct {
	context.Context
	begin func()
}

func (w waiting) Done() <-chan struct{} {
	w.begin()
	return nil
}
