package durable

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// A View sees a State between two commits: whole, with all that was said.
func TestViewIsConsistent(t *testing.T) {
	s, r := open(t, newMemLog())
	do(t, s, &queue.Declare{Name: "q", Settings: queue.Defaults()})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = s.Submit([]queue.Op{publish("body"), pull(1)}, 0)
				for _, d := range r.deliveries() {
					_ = s.Submit([]queue.Op{answer(d, queue.Ack, false)}, 0)
				}
				time.Sleep(time.Millisecond)
			}
		}
	}()
	for range 200 {
		said := len(r.answers())
		sound(t, s)
		info, err := s.Info(t.Context(), "q")
		must(t, err)
		if info.LastSeq < uint64(said) {
			t.Fatalf("message %d was confirmed, a View saw %d", said, info.LastSeq)
		}
	}
	close(stop)
	<-stopped
}

// Who does not wait any longer gets away at once, and what he would have seen
// is not shown to him later.
func TestViewIsCancelled(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, _ := open(t, log)
		log.hold()
		submit(t, s, publish("body"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began, viewed := time.Now(), 0
		err := s.View(ctx, func(*queue.State) { viewed++ })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		log.release()
		synctest.Wait()
		if err := s.View(ctx, func(*queue.State) { viewed++ }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a context that is over: %v", err)
		}
		synctest.Wait()
		if viewed != 0 {
			t.Errorf("it was viewed %d times after all", viewed)
		}
		must(t, s.View(t.Context(), func(*queue.State) { viewed++ }))
		if viewed != 1 {
			t.Errorf("it was viewed %d times", viewed)
		}
	})
}

func TestDoIsCancelled(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, _ := open(t, log)
		do(t, s, publish("the first"))
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Do(over, publish("never")); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that is over: %v", err)
		}
		log.hold()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := s.Do(ctx, publish("the second")); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		log.release()
		synctest.Wait()
		if n := len(list(t, s, "q")); n != 2 {
			t.Errorf("%d messages: the first, and the second that had been handed over", n)
		}
	})
}

// Views, ops and reads never hang, whenever the store fails.
func TestNothingHangsWhenTheStoreFails(t *testing.T) {
	for n := 1; n <= 30; n++ {
		log := newMemLog()
		s, _ := open(t, log, noCache)
		do(t, s, publish("body"))
		log.failNext([]string{"Append", "Sync"}[n%2], n)
		ended := make(chan struct{})
		callers := []func() error{
			func() error { return s.View(background, func(*queue.State) {}) },
			func() error { _, err := s.Do(background, publish("body")); return err },
			func() error { _, _, err := s.Message(background, "q", 1); return err },
			func() error {
				time.Sleep(time.Microsecond)
				return s.Submit([]queue.Op{publish("body"), pull(1)}, 4)
			},
		}
		for _, call := range callers {
			go func() {
				defer func() { ended <- struct{}{} }()
				for call() == nil {
				}
			}()
		}
		soon(t, "a caller", func() {
			for range callers {
				<-ended
			}
		})
		soon(t, "Close", func() { failedBecauseOf(t, s.Close()) })
	}
}

func failedBecauseOf(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, errDisk) {
		t.Errorf("the error is %v", err)
	}
}

// The store's secret may be asked for at any time, also while compaction
// carries it forward.
func TestKey(t *testing.T) {
	log := newMemLog()
	s, _ := open(t, log, small(log))
	key := s.Key()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				if s.Key() != key {
					t.Error("the key changed")
				}
			}
		}
	}()
	for range 50 {
		do(t, s, publish(string(make([]byte, 500))))
		do(t, s, &queue.Purge{Name: "q"})
	}
	close(stop)
	<-stopped
	if log.count("Drop") == 0 {
		t.Error("nothing was compacted")
	}
	must(t, s.Close())
	again, _ := open(t, log.crash(0))
	if again.Key() != key || key == [16]byte{} {
		t.Error("the key is another one after a restart")
	}
}
