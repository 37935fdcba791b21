package durable

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// stuck gives a store that needs compaction, and a janitor that is at work on
// it and gets no further until free is called.
func stuck(t *testing.T) (log *memLog, s *Store, r *recorder, free func()) {
	log = newMemLog()
	s, r = open(t, log, small(log))
	gate := make(chan struct{})
	log.boundary = func(at string) {
		if at == "Drop" {
			<-gate
		}
	}
	for log.count("Drop") == 0 {
		submit(t, s, publish(strings.Repeat("x", 200)), &queue.Purge{Name: "q"})
		synctest.Wait()
	}
	return log, s, r, func() { close(gate) }
}

// While compaction does not keep up, what comes in waits, and the log does not
// grow beyond its bound.
func TestTheLogDoesNotOutgrowCompaction(t *testing.T) {
	play(t, func(t *testing.T) {
		log, s, r, free := stuck(t)
		answered, turns := len(r.answers()), 0
		for i := range 200 {
			submit(t, s, publish(strings.Repeat("x", 200)), &queue.Purge{Name: "q"})
			if i == 150 {
				turns = log.count("Last")
			}
			synctest.Wait()
		}
		if size := log.bytes(); size > s.cfg.Slack {
			t.Errorf("the log has %d bytes, the bound is %d", size, s.cfg.Slack)
		}
		if n := len(r.answers()) - answered; n == 0 || n > 100 {
			t.Errorf("%d ops were done meanwhile", n)
		}
		time.Sleep(time.Second)
		if n := log.count("Last") - turns; n > 200 {
			t.Errorf("%d turns of the loop for 50 ops that must wait", n)
		}
		free()
		synctest.Wait()
		if n := len(r.answers()) - answered; n != 400 {
			t.Errorf("afterwards %d of 400 ops are done", n)
		}
	})
}

// The janitor looks at the clock and at the disk, too. It never waits for what
// waits for it.
func TestTheJanitorDoesNotWaitForWhatItHoldsUp(t *testing.T) {
	for range 20 {
		play(t, func(t *testing.T) {
			_, s, r, free := stuck(t)
			for range 200 {
				submit(t, s, publish(strings.Repeat("x", 200)), &queue.Purge{Name: "q"})
				synctest.Wait()
			}
			time.Sleep(2 * doubtInterval)
			free()
			synctest.Wait()
			if n := len(r.answers()); n < 400 {
				t.Errorf("%d of 400 ops are done", n)
			}
		})
	}
}

// Who closes the store does not wait for compaction to make room.
func TestCloseWhileCrowded(t *testing.T) {
	play(t, func(t *testing.T) {
		_, s, r, free := stuck(t)
		answered := len(r.answers())
		for range 200 {
			submit(t, s, publish(strings.Repeat("x", 200)), &queue.Purge{Name: "q"})
			synctest.Wait()
		}
		go func() { must(t, s.Close()) }()
		<-s.silent
		if n := len(r.answers()) - answered; n != 400 {
			t.Errorf("%d of 400 ops are done", n)
		}
		free()
		<-s.Done()
	})
}

// The janitor's ops go before all that has come in.
func TestCompactionDoesNotWaitInLine(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, r := open(t, log)
		log.hold()
		for range 100 {
			submit(t, s, publish(string(make([]byte, 64<<10))))
		}
		synctest.Wait() // the first commit is under way
		reply, done := make(chan queue.Reply, 1), 0
		r.hear = func() { // the speaking goroutine, between two commits
			if done == 0 && len(reply) > 0 {
				done = len(r.answers())
			}
		}
		must(t, s.put(item{urgent: true, op: &queue.Carry{Finish: true}, reply: reply}))
		log.release()
		synctest.Wait()
		if done == 0 || done > 60 {
			t.Errorf("it was done after %d of 100 publishes", done)
		}
	})
}
