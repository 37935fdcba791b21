package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"dsend/testkit"
)

// The interface that package durable defines; it is repeated here so that a change of a method is noticed here.
var _ interface {
	Recover(fn func(commit uint64, data []byte) error) error
	Last() uint64
	Append(data []byte) error
	Sync() error
	Read(commit uint64, off uint32, p []byte) error
	Generations() []struct {
		First, Last uint64
		Bytes       int64
	}
	Newest() struct {
		First, Last uint64
		Bytes       int64
	}
	Scan(first uint64, fn func(commit uint64, data []byte) error) error
	Drop(first uint64) error
	Free() (uint64, error)
	Close() error
} = (*Log)(nil)

func TestAppendReadScanDrop(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{GenerationSize: 200})
	appendSmall(t, l, 40)
	gens := l.Generations()
	if len(gens) < 5 || gens[0].First != 1 || gens[len(gens)-1].Last != 40 {
		t.Fatalf("generations %v", gens)
	}
	if got := l.Newest(); got != gens[len(gens)-1] {
		t.Fatalf("newest generation %v", got)
	}
	for i, g := range gens {
		info, err := os.Stat(segment(dir, g.First))
		check(t, err)
		room := i == len(gens)-1 && info.Size() == 200 // in the newest
		if info.Size() != g.Bytes && !room || i > 0 && g.First != gens[i-1].Last+1 || i < len(gens)-1 && (g.Bytes < 200 || g.Bytes > 300) {
			t.Fatalf("generation %+v in a file of %d bytes", g, info.Size())
		}
	}
	for n := uint64(1); n <= 40; n++ {
		want := small(n)
		for off := range len(want) + 1 {
			p := make([]byte, len(want)-off)
			check(t, l.Read(n, uint32(off), p))
			if !bytes.Equal(p, want[off:]) {
				t.Fatalf("commit %d from byte %d: %x", n, off, p)
			}
		}
		if err := l.Read(n, uint32(len(want)), make([]byte, 1)); !errors.Is(err, ErrNoCommit) {
			t.Fatalf("read beyond the end of commit %d: %v", n, err)
		}
	}
	for _, n := range []uint64{0, 41} {
		if err := l.Read(n, 0, nil); !errors.Is(err, ErrNoCommit) {
			t.Fatalf("read of commit %d: %v", n, err)
		}
	}

	for _, g := range gens[:len(gens)-1] {
		next := g.First
		check(t, l.Scan(g.First, func(commit uint64, data []byte) error {
			if commit != next || !bytes.Equal(data, small(commit)) {
				t.Fatalf("scan: commit %d, want %d", commit, next)
			}
			next++
			return nil
		}))
		if next != g.Last+1 {
			t.Fatalf("scan ended before commit %d, want behind %d", next, g.Last)
		}
	}
	stop := errors.New("stop")
	if err := l.Scan(1, func(uint64, []byte) error { return stop }); err != stop {
		t.Fatalf("scan stopped by its caller: %v", err)
	}
	for _, first := range []uint64{2, gens[len(gens)-1].First} {
		if err := l.Scan(first, nil); !errors.Is(err, ErrNoCommit) {
			t.Fatalf("scan of generation %d: %v", first, err)
		}
	}

	if err := l.Drop(gens[1].First); !errors.Is(err, ErrNoCommit) {
		t.Fatalf("drop of the second generation: %v", err)
	}
	for i, g := range gens[:len(gens)-1] {
		check(t, l.Drop(g.First))
		if got := l.Generations(); !slices.Equal(got, gens[i+1:]) {
			t.Fatalf("after the drop of %d: %v", g.First, got)
		}
		if slices.ContainsFunc(l.readers.files, func(f *os.File) bool { return f.Name() == segment(dir, g.First) }) {
			t.Fatal("a dropped file is still open, and so on the disk")
		}
		if err := l.Read(g.First, 0, nil); !errors.Is(err, ErrNoCommit) {
			t.Fatalf("read of a dropped commit: %v", err)
		}
	}
	last := gens[len(gens)-1]
	if err := l.Drop(last.First); !errors.Is(err, ErrNoCommit) {
		t.Fatalf("drop of the last generation: %v", err)
	}
	appendSmall(t, l, last.Last+1)
	check(t, l.Close())
	wantSmall(t, dir, last.First, last.Last+1)
}

// TestDropWaitsForADurableSuccessor: were the first commit of the next generation lost, so would the numbering be.
func TestDropWaitsForADurableSuccessor(t *testing.T) {
	l := open(t, t.TempDir(), Options{GenerationSize: 1})
	check(t, l.Append(small(1)))
	check(t, l.Append(small(2)))
	if err := l.Drop(1); !errors.Is(err, ErrNoCommit) {
		t.Fatal(err)
	}
	check(t, l.Sync())
	check(t, l.Drop(1))
}

func TestReopenWithoutAppendLeavesNothingNew(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	check(t, l.Close())
	l = open(t, dir, Options{})
	appendSmall(t, l, 3)
	check(t, l.Close())
	want := tree(t, dir)
	for range 3 {
		check(t, open(t, dir, Options{}).Close())
	}
	if got := tree(t, dir); got != want {
		t.Fatalf("reopened:\n%s\nwas:\n%s", got, want)
	}
}

func TestOrderOfCalls(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{})
	check(t, err)
	nothing := func(uint64, []byte) error { return nil }
	for name, call := range map[string]func() error{
		"Append": func() error { return l.Append(nil) },
		"Sync":   l.Sync,
		"Drop":   func() error { return l.Drop(1) },
		"Read":   func() error { return l.Read(1, 0, nil) },
		"Scan":   func() error { return l.Scan(1, nothing) },
	} {
		if err := call(); !errors.Is(err, ErrNotRecovered) {
			t.Fatalf("%s before Recover: %v", name, err)
		}
	}
	check(t, l.Recover(nothing))
	if err := l.Recover(nothing); err == nil {
		t.Fatal("Recover twice")
	}
	check(t, l.Append([]byte("a")))
	check(t, l.Close())
	for name, call := range map[string]func() error{
		"Append":  func() error { return l.Append(nil) },
		"Sync":    l.Sync,
		"Drop":    func() error { return l.Drop(1) },
		"Read":    func() error { return l.Read(1, 0, nil) },
		"Scan":    func() error { return l.Scan(1, nothing) },
		"Close":   l.Close,
		"readers": func() error { return l.readers.readAt(segment(dir, 1), nil, 0) },
	} {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Fatalf("%s after Close: %v", name, err)
		}
	}

	l, err = Open(dir, Options{})
	check(t, err)
	stop := errors.New("stop")
	if err := l.Recover(func(uint64, []byte) error { return stop }); err != stop {
		t.Fatalf("recovery stopped by its caller: %v", err)
	}
	if err := l.Append(nil); !errors.Is(err, ErrNotRecovered) || !errors.Is(err, stop) {
		t.Fatalf("Append after a failed recovery: %v", err)
	}
	check(t, l.Close())
}

func TestLargeCommits(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	if err := l.Append(make([]byte, MaxData+1)); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	large := bytes.Repeat(noise(1, 1<<20), 65)
	check(t, l.Append(large))
	check(t, l.Append([]byte("next")))
	check(t, l.Close())
	_, all, err := content(t, dir, Options{})
	check(t, err)
	if len(all) != 2 || !bytes.Equal(all[0], large) || string(all[1]) != "next" {
		t.Fatal("a large commit came back wrong")
	}
}

func TestOptions(t *testing.T) {
	for _, size := range []int64{-1, maxGenerationSize + 1} {
		if _, err := Open(t.TempDir(), Options{GenerationSize: size}); err == nil {
			t.Fatalf("generation size %d", size)
		}
	}
}

func TestFree(t *testing.T) {
	l := open(t, t.TempDir(), Options{})
	free, err := l.Free()
	check(t, err)
	if free < 1<<20 || free > 1<<60 {
		t.Fatalf("%d bytes free", free)
	}
}

// TestTogether runs all that may run side by side: one goroutine appends, syncs and drops, others read and scan.
func TestTogether(t *testing.T) {
	l := open(t, t.TempDir(), Options{GenerationSize: 2000})
	seed := testkit.Seed(t)
	var wg sync.WaitGroup
	done := make(chan struct{})
	aside := func(work func(r *rand.Rand) error) {
		wg.Go(func() {
			for r := rand.New(rand.NewPCG(seed, 1)); ; {
				select {
				case <-done:
					return
				default:
				}
				if err := work(r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	aside(func(r *rand.Rand) error {
		n := 1 + r.Uint64N(l.Last()+1)
		p := make([]byte, len(small(n)))
		err := l.Read(n, 0, p)
		if err == nil && !bytes.Equal(p, small(n)) {
			err = fmt.Errorf("commit %d read wrong", n)
		}
		if errors.Is(err, ErrNoCommit) { // not written yet, or dropped
			err = nil
		}
		return err
	})
	aside(func(r *rand.Rand) error {
		gens := l.Generations()
		if len(gens) < 40 {
			return nil
		}
		first := gens[20+r.IntN(len(gens)-21)].First // not one of the oldest: a caller does not drop what it scans
		return l.Scan(first, func(n uint64, data []byte) error {
			if !bytes.Equal(data, small(n)) {
				return fmt.Errorf("commit %d scanned wrong", n)
			}
			return nil
		})
	})
	for n := uint64(1); n <= 5000; n++ {
		check(t, l.Append(small(n)))
		if n%50 == 0 {
			check(t, l.Sync())
		}
		if gens := l.Generations(); len(gens) > openFiles+10 {
			check(t, l.Drop(gens[0].First))
		}
	}
	close(done)
	wg.Wait()
}
