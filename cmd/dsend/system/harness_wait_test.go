package system

import (
	"fmt"
	"testing"
	"time"

	"dsend/testkit"
)

// patience is how long anything may take before a test gives up: a limit for
// failures, nothing ever waits for it to pass.
const patience = 60 * time.Second

// eventually polls until a condition holds: until it returns nil.
func eventually(t testing.TB, what string, holds func() error) {
	t.Helper()
	within(t, patience, what, holds)
}

// within is eventually with a limit of its own.
func within(t testing.TB, limit time.Duration, what string, holds func() error) {
	t.Helper()
	pause, begin := 2*time.Millisecond, time.Now()
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Since(begin) > limit {
			t.Fatalf("%s: not so after %s: %v", what, limit, err)
		}
		time.Sleep(pause)
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// next receives from a channel what must come.
func next[T any](t testing.TB, what string, from <-chan T) (got T) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case got = <-from:
	case <-limit.C:
		t.Fatalf("%s: nothing came in %s", what, patience)
	}
	return got
}

// equal is a condition for eventually.
func equal[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %+v, want %+v", got, want)
	}
	return nil
}

// Bounds of what is due at a time (SCENARIOS.md): never early, and in time on an
// idle machine. overload is added to the latter, since these machines are not, and
// what the machine lost for all (see watchdog).
const (
	early    = 20 * time.Millisecond
	late     = 500 * time.Millisecond
	overload = 4 * time.Second
)

// checkDue checks that something came when it was due, a delay after something.
func checkDue(t testing.TB, what string, due, got time.Time, delay time.Duration) {
	t.Helper()
	off, bound := got.Sub(due), late+delay/20
	more := allowed(due, got)
	switch {
	case off < -early:
		t.Errorf("%s came %s early (delay %s)", what, -off, delay)
	case off > bound+more:
		t.Errorf("%s came %s late (delay %s)", what, off, delay)
	case off > bound:
		t.Logf("%s came %s late (delay %s): a busy machine?", what, off, delay)
	}
}

// dueAt tells whether a message that was scheduled for a moment is due then: not
// before, and later by no more than it took from the reading of its header to its
// commit, because a schedule is a delay from then on.
func dueAt(due *time.Time, at time.Time) bool {
	return due != nil && due.Sub(at) > -early && due.Sub(at) < patience
}

// Words of all tests.
var dice, need, storm = testkit.Dice, testkit.Need, testkit.Storm
