package durable

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// weight is a Ballast of 100 bytes that takes its room from a log.
type weight struct {
	log   *memLog
	mu    sync.Mutex
	is    bool
	calls int
	err   error
}

func (w *weight) Size() int64 { return 100 }
func (w *weight) Take() error { return w.set(true) }
func (w *weight) Give() error { return w.set(false) }

func (w *weight) Held() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.is
}

// obey has it fail with an error, or not.
func (w *weight) obey(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

func (w *weight) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

func (w *weight) set(held bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if w.err != nil {
		return w.err
	}
	free, err := w.log.Free()
	if w.is = held; held {
		free -= 100
	} else {
		free += 100
	}
	w.log.setFree(free, err)
	return nil
}

// The ballast is there while the disk has room, is given back when less is left
// than it holds, and is taken again with the publishes. It counts as free, so
// that it does not change by itself what is refused.
func TestBallast(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		log.setFree(5000, nil)
		w := &weight{log: log}
		s, _ := open(t, log, func(c *Config) { c.Reserve, c.Ballast = 1000, w })
		if !w.Held() {
			t.Error("it is not there from the start")
		}
		steps := []struct {
			free    uint64 // beside the ballast, if it is held
			held    bool
			refused bool
		}{
			{900, true, false}, {899, true, true}, {100, true, true}, {99, false, true},
			{0, false, true}, {500, false, true}, {1099, false, true}, {1100, true, false}, {900, true, false},
		}
		for _, step := range steps {
			log.setFree(step.free, nil)
			time.Sleep(spaceInterval)
			synctest.Wait()
			r, err := s.Do(t.Context(), publish("body"))
			must(t, err)
			if refused := r.Err != nil && r.Err.Code == queue.NoSpace; refused != step.refused || w.Held() != step.held {
				t.Errorf("with %d bytes free refused is %t and held is %t", step.free, refused, w.Held())
			}
		}
		if w.count() != 3 {
			t.Errorf("it was moved %d times, not 3", w.count())
		}
	})
}

// A server that starts on a full disk has its room before it writes anything.
func TestBallastAtStart(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		w := &weight{log: log, is: true}
		log.setFree(0, nil)
		early := false
		log.boundary = func(at string) { early = early || at == "Append" && log.count("Append") > 1 && w.Held() }
		s, _ := open(t, log, func(c *Config) { c.Reserve, c.Ballast = 1000, w })
		do(t, s, &queue.Declare{Name: "q", Settings: queue.Defaults()})
		if w.Held() || early {
			t.Error("it is held while the disk is full")
		}
	})
}

// While the disk is nearly full it is asked more often: others may go on.
func TestALowDiskIsWatchedClosely(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		w := &weight{log: log, is: true}
		open(t, log, func(c *Config) { c.Reserve, c.Ballast = 1000, w })
		log.setFree(800, nil)
		time.Sleep(spaceInterval)
		synctest.Wait()
		log.setFree(50, nil)
		time.Sleep(lowInterval)
		synctest.Wait()
		if w.Held() {
			t.Error("it is held still")
		}
		before := log.count("Free")
		log.setFree(5000, nil)
		time.Sleep(10 * spaceInterval)
		synctest.Wait()
		if n := log.count("Free") - before; n > 15 {
			t.Errorf("a disk with room was asked %d times in 10 s", n)
		}
	})
}

// A ballast that does not obey is no reason to stop.
func TestBallastFails(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		log.setFree(5000, nil)
		w := &weight{log: log, err: errors.New("no")}
		s, _ := open(t, log, func(c *Config) { c.Reserve, c.Ballast = 1000, w })
		do(t, s, publish("body"))
		time.Sleep(10 * spaceInterval)
		synctest.Wait()
		if w.count() < 5 {
			t.Errorf("it was tried %d times", w.count())
		}
		w.obey(nil)
		time.Sleep(spaceInterval)
		synctest.Wait()
		if !w.Held() {
			t.Error("it is not taken when it can be")
		}
	})
}
