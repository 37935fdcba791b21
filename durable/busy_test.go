package durable

import (
	"errors"
	"testing"
	"testing/synctest"

	"dsend/durable/queue"
)

// admit submits publishes that hold size bytes until the store is busy, and
// tells how many were taken.
func admit(t *testing.T, s *Store, size int64) (n int) {
	t.Helper()
	for ; n < 1_000_000; n++ {
		err := s.Submit([]queue.Op{publish(string(make([]byte, size)))}, size)
		if errors.Is(err, ErrBusy) {
			return n
		}
		must(t, err)
	}
	t.Fatal("never busy")
	return n
}

// What waits for the disk is bounded, and what was refused was not taken.
func TestErrBusy(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, r := open(t, log, func(c *Config) { c.MaxWaiting = 1000 })
		log.hold()
		if n := admit(t, s, 100); n != 10 {
			t.Errorf("%d publishes of 100 bytes were taken, the bound is 1000 bytes", n)
		}
		synctest.Wait()
		if n := admit(t, s, 100); n != 0 {
			t.Errorf("%d more were taken while the disk was at work on the first 10", n)
		}
		submit(t, s, pull(1), &queue.Pause{Name: "q", Pause: true})
		log.release()
		synctest.Wait()
		log.hold()
		if n := admit(t, s, 100); n != 10 {
			t.Errorf("after the disk had done its work %d publishes were taken", n)
		}
		log.release()
		synctest.Wait()
		if n := len(r.answers()); n != 21 {
			t.Errorf("%d answers for 20 publishes and a pause", n)
		}
		if n := len(list(t, s, "q")); n != 20 {
			t.Errorf("%d messages are stored of 20 publishes that were taken", n)
		}
	})
}

// The bound holds also for what is left for the next commits.
func TestErrBusyOverSeveralCommits(t *testing.T) {
	play(t, func(t *testing.T) {
		const size, bound = 64 << 10, 4 << 20
		log := newMemLog()
		s, _ := open(t, log, func(c *Config) { c.MaxWaiting = bound })
		log.hold()
		for range bound / size {
			must(t, s.Submit([]queue.Op{publish(string(make([]byte, size)))}, size))
		}
		for range 8 {
			synctest.Wait() // the loop has taken the inbox, and waits for the disk
			if n := admit(t, s, size); n > maxCommit/size+1 {
				t.Fatalf("%d bytes were taken after a commit of %d", n*size, maxCommit)
			}
			log.release()
			log.hold()
		}
		log.release()
	})
}

// One publish that is larger than the bound is taken when nothing waits.
func TestAPublishAboveTheBound(t *testing.T) {
	play(t, func(t *testing.T) {
		s, r := open(t, newMemLog(), func(c *Config) { c.MaxWaiting = 10 })
		for range 3 {
			must(t, s.Submit([]queue.Op{publish("longer than ten bytes")}, 21))
			synctest.Wait()
		}
		must(t, s.Submit(nil, 1000)) // of nobody
		must(t, s.Submit([]queue.Op{publish("short")}, 5))
		synctest.Wait()
		if n := len(r.answers()); n != 4 {
			t.Errorf("%d of 4 publishes were answered", n)
		}
	})
}
