package system

import (
	"os"
	"sync"
	"testing"
	"time"
)

// A watchdog notes when this machine lets nobody work: it wakes up many times a
// second and syncs a byte to the disk, and if that takes far longer than it should,
// nobody else could be in time either. What a bound of time proves is then less, by
// what was lost.
type watchdog struct {
	file *os.File
	stop chan struct{}
	done chan struct{}

	mu     sync.Mutex
	stalls []stall
	since  time.Time // when the look began that is not over yet
}

// stall is a time in which nobody could work.
type stall struct{ from, to time.Time }

const (
	looks = 100 * time.Millisecond // between two
	usual = 100 * time.Millisecond // that a look may take, beside that
)

// machine is the watchdog of all tests.
var machine *watchdog

func newWatchdog() (*watchdog, error) {
	f, err := os.CreateTemp("", "dsend-watchdog-")
	if err != nil {
		return nil, err
	}
	w := &watchdog{file: f, stop: make(chan struct{}), done: make(chan struct{}), since: time.Now()}
	go w.watch()
	return w, os.Remove(f.Name()) // it is open
}

func (w *watchdog) watch() {
	defer close(w.done)
	tick := time.NewTimer(looks)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		_, err := w.file.WriteAt([]byte{1}, 0)
		if err == nil {
			err = w.file.Sync()
		}
		w.looked(time.Now(), err)
		tick.Reset(looks)
	}
}

// looked ends a look and begins the next. A disk that cannot be written to is the
// matter of some test, and no stall.
func (w *watchdog) looked(now time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := (stall{w.since.Add(looks), now}); err == nil && s.to.Sub(s.from) > usual {
		w.stalls = append(w.stalls, s)
	}
	w.since = now
}

// lost is how much of a time was lost.
func (w *watchdog) lost(from, to time.Time) (lost time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := stall{w.since.Add(looks), time.Now()} // perhaps
	for _, s := range append(w.stalls[:len(w.stalls):len(w.stalls)], now) {
		if s.to.Sub(s.from) > usual {
			lost += max(0, minTime(to, s.to).Sub(maxTime(from, s.from)))
		}
	}
	return lost
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (w *watchdog) close() {
	close(w.stop)
	<-w.done
	_ = w.file.Close()
}

// allowed is how much later than on an idle machine something may come that is
// reckoned from one time and came at another: this machine is not idle, and what it
// lost it lost for each of the processes that take part.
func allowed(from, to time.Time) time.Duration {
	return overload + 3*machine.lost(from.Add(-time.Second), to)
}

// checkSoon checks that something happened within a limit from its beginning until
// now.
func checkSoon(t testing.TB, what string, begin time.Time, limit time.Duration) {
	t.Helper()
	now := time.Now()
	switch took, more := now.Sub(begin), allowed(begin, now); {
	case took > limit+more:
		t.Errorf("%s took %s, more than %s and the %s of a busy machine", what, took, limit, more)
	case took > limit:
		t.Logf("%s took %s: a busy machine?", what, took)
	}
}

// The watchdog sees what is lost, and only that.
func TestWatchdog(t *testing.T) {
	second := func(n float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(n * float64(time.Second))) }
	w := &watchdog{since: second(0)}
	w.looked(second(0.1), nil)
	w.looked(second(0.25), nil)
	w.looked(second(3.35), nil) // three seconds
	w.looked(second(3.45), nil)
	w.looked(second(9), os.ErrInvalid)
	w.looked(second(11.1), nil) // two
	w.since = time.Now()
	for _, c := range []struct {
		from, to float64
		lost     time.Duration
	}{{0, 0.3, 0}, {0, 20, 5 * time.Second}, {1, 2, time.Second}, {2.35, 4, time.Second}, {4, 9, 0}, {10.1, 20, time.Second}, {12, 20, 0}} {
		if got := w.lost(second(c.from), second(c.to)).Round(time.Millisecond); got != c.lost {
			t.Errorf("from %v to %v: %s lost, not %s", c.from, c.to, got, c.lost)
		}
	}
	now := time.Now()
	w.since = now.Add(-looks - time.Minute) // a look that does not end
	if got := w.lost(now.Add(-time.Second), now); got != time.Second {
		t.Errorf("while nothing goes on %s are lost, not 1s", got)
	}
}
