package wal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSealAndCopy: what is sealed can be copied while the log goes on, and the copy is a log of its own.
func TestSealAndCopy(t *testing.T) {
	l := open(t, folder(t), Options{GenerationSize: 150})
	appendSmall(t, l, 8)
	newest := l.Newest()
	if err := l.ReadFile(newest.First, 0, make([]byte, 1)); !errors.Is(err, ErrNoCommit) {
		t.Fatalf("the generation that is being written is read: %v", err)
	}
	check(t, l.Seal())
	check(t, l.Seal())
	gens := l.Generations()
	appendSmall(t, l, 12)
	if l.Newest().First != 9 {
		t.Fatalf("the next generation begins with %d", l.Newest().First)
	}
	dir := folder(t)
	check(t, os.MkdirAll(dir, dirPerm))
	check(t, os.WriteFile(filepath.Join(dir, LockName), Mark(1, 8), filePerm))
	for _, g := range gens {
		data := make([]byte, g.Bytes)
		check(t, l.ReadFile(g.First, 0, data[:10]))
		check(t, l.ReadFile(g.First, 10, data[10:]))
		if err := l.ReadFile(g.First, 1, data); !errors.Is(err, ErrNoCommit) {
			t.Fatalf("behind the end: %v", err)
		}
		name := filepath.Join(dir, FileName(g.First))
		check(t, os.Mkdir(filepath.Dir(name), dirPerm))
		check(t, os.WriteFile(name, data, filePerm))
	}
	wantSmall(t, dir, 1, 8)
	wantSmall(t, dir, 1, 8)
	last := gens[len(gens)-1]
	check(t, os.RemoveAll(filepath.Join(dir, generationName(last.First))))
	if s, _ := surveyed(t, dir); !s.Damaged() || s.Lost[0] != (Lost{last.First, 8}) {
		t.Fatalf("an incomplete copy: %v", s.Places)
	}
	check(t, l.Close())
	if err := l.Seal(); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestFileName(t *testing.T) {
	if first, ok := ParseFileName(FileName(42)); !ok || first != 42 {
		t.Fatal(first, ok)
	}
	for _, name := range []string{"", "lock", "1.gen/" + segmentName, generationName(1), generationName(1) + "/x", generationName(1) + "/../" + segmentName, "/" + FileName(1)} {
		if _, ok := ParseFileName(name); ok {
			t.Errorf("%q is taken for a file of a log", name)
		}
	}
}
