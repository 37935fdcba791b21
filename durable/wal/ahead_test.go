package wal

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"
)

// What is read ahead comes in order and whole, also where a generation is too large for that.
func TestRecoverReadsAhead(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 1000})
	data := func(n uint64) []byte {
		if n == 7 || n == 70 {
			return noise(n, aheadMax+1)
		}
		return noise(n, 300)
	}
	const commits = 100
	for n := uint64(1); n <= commits; n++ {
		check(t, l.Append(data(n)))
	}
	check(t, l.Close())

	again, err := Open(dir, Options{})
	check(t, err)
	next := uint64(1)
	check(t, again.Recover(func(commit uint64, got []byte) error {
		if commit != next || !bytes.Equal(got, data(commit)) {
			return fmt.Errorf("commit %d comes with %d bytes, not commit %d", commit, len(got), next)
		}
		next++
		return nil
	}))
	if next != commits+1 || len(again.Generations()) < 20 {
		t.Errorf("%d commits in %d generations", next-1, len(again.Generations()))
	}
	check(t, again.Close())
}

// A recovery that is ended by its caller leaves no reader behind, wherever it ends.
func TestRecoverThatIsEndedReadsNoFurther(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 100})
	for n := uint64(1); n <= 20; n++ {
		check(t, l.Append(noise(n, 100)))
	}
	check(t, l.Close())
	enough := errors.New("enough")
	for last := uint64(1); last <= 20; last++ {
		l, err := Open(dir, Options{})
		check(t, err)
		err = l.Recover(func(commit uint64, _ []byte) error {
			if commit == last {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Fatalf("ended at commit %d: %v", last, err)
		}
		check(t, l.Close())
	}
}
