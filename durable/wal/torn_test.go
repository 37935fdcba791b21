package wal

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dsend/testkit"
)

// torn is a log of 10 commits that was killed, the last three of which were one sync that never came back: nobody was
// told that they are durable. It returns the newest segment file, its content and the byte where each of the three begins.
func torn(t *testing.T) (dir string, newest uint64, file []byte, starts [3]int) {
	t.Helper()
	dir = folder(t)
	l := open(t, dir, Options{GenerationSize: 200})
	appendSmall(t, l, 7)
	for n := uint64(8); n <= 10; n++ {
		check(t, l.Append(small(n)))
	}
	g := l.gens[len(l.gens)-1]
	if g.first == 1 || g.first > 8 {
		t.Fatalf("the newest generation begins with commit %d", g.first)
	}
	for i := range starts {
		starts[i] = int(g.ends[8-g.first+uint64(i)-1])
	}
	killFull(t, l)
	file, err := os.ReadFile(segment(dir, g.first))
	check(t, err)
	return dir, g.first, file, starts
}

// wantCut recovers dir, of which the newest file was made torn. It checks that exactly the commits up to last are
// there, that one warning says what was dropped, if it was more than zeros, that the dropped bytes were kept, and that the
// log goes on.
func wantCut(t *testing.T, dir string, last uint64, lost []byte) {
	t.Helper()
	var m memory
	first, all, err := content(t, dir, Options{Logger: slog.New(&m)})
	check(t, err)
	checkSmall(t, first, all)
	if first != 1 || len(all) != int(last) {
		t.Fatalf("%d commits from %d, want %d", len(all), first, last)
	}
	if lost = bytes.TrimRight(lost, "\x00"); len(lost) == 0 {
		if len(m.lines) != 0 {
			t.Fatalf("warned: %q", m.lines)
		}
		return
	}
	if len(m.lines) != 1 || !strings.HasPrefix(m.lines[0], "WARN") || !strings.Contains(m.lines[0], fmt.Sprintf("commit=%d ", last+1)) ||
		!strings.Contains(m.lines[0], fmt.Sprintf("bytes=%d ", len(lost))) {
		t.Fatalf("warned: %q", m.lines)
	}
	wantKept(t, dir, last+1, lost)

	l := open(t, dir, Options{})
	appendSmall(t, l, last+3)
	kill(l)
	wantSmall(t, dir, 1, last+3)
}

// wantKept checks that the side file of commit holds lost.
func wantKept(t *testing.T, dir string, commit uint64, lost []byte) {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("%020d-*.cut", commit)))
	check(t, err)
	if len(lost) == 0 {
		if len(kept) != 0 {
			t.Fatalf("kept zeros in %v", kept)
		}
		return
	}
	if len(kept) != 1 {
		t.Fatalf("side files of commit %d: %v", commit, kept)
	}
	got, err := os.ReadFile(kept[0])
	check(t, err)
	if !bytes.Equal(got, lost) {
		t.Fatalf("kept %x, want %x", got, lost)
	}
}

func TestTornAtEveryByte(t *testing.T) {
	dir, newest, file, starts := torn(t)
	for at := starts[0]; at <= len(file); at++ {
		cut := copyDir(t, dir)
		check(t, os.Truncate(segment(cut, newest), int64(at)))
		last, from := uint64(7), starts[0]
		for i, s := range append(starts[1:], len(file)) {
			if at >= s {
				last, from = 8+uint64(i), s
			}
		}
		wantCut(t, cut, last, file[from:at])
	}
}

func TestRandomBytesBehindTheEnd(t *testing.T) {
	dir, newest, file, _ := torn(t)
	seed := testkit.Seed(t)
	for n := 1; n <= 64; n++ {
		junk := noise(seed, n)
		junk[n-1] |= 1 // the zeros at the end are not kept
		longer := copyDir(t, dir)
		check(t, os.WriteFile(segment(longer, newest), append(bytes.Clone(file), junk...), filePerm))
		wantCut(t, longer, 10, junk)
	}
}

func TestZerosBehindTheEnd(t *testing.T) {
	dir, newest, file, starts := torn(t)
	for _, size := range []int{1, 512, 4096, 3*chunk + 1} {
		zeros := make([]byte, size)
		longer := copyDir(t, dir)
		check(t, os.WriteFile(segment(longer, newest), append(bytes.Clone(file), zeros...), filePerm))
		wantCut(t, longer, 10, zeros)
	}
	// The size was made durable and the data was not, wholly or in part.
	for at := starts[0]; at < len(file); at++ {
		hole := copyDir(t, dir)
		data := append(bytes.Clone(file[:at]), make([]byte, len(file)-at)...)
		check(t, os.WriteFile(segment(hole, newest), data, filePerm))
		last, from := uint64(7), starts[0]
		for i, s := range append(starts[1:], len(file)) {
			if bytes.Equal(data[from:s], file[from:s]) {
				last, from = 8+uint64(i), s
			}
		}
		wantCut(t, hole, last, data[from:])
	}
}

// TestHurtAndNeverDurable: later commits are whole, but they too say that this one was not durable.
func TestHurtAndNeverDurable(t *testing.T) {
	dir, newest, file, starts := torn(t)
	for at := starts[0]; at < starts[1]; at++ {
		hurt := copyDir(t, dir)
		data := bytes.Clone(file)
		data[at] ^= 0xff
		check(t, os.WriteFile(segment(hurt, newest), data, filePerm))
		wantCut(t, hurt, 7, data[starts[0]:])
	}
}

// TestTornFirstCommit: the first commit of a new generation is torn, so that the generation goes as a whole.
func TestTornFirstCommit(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 1})
	appendSmall(t, l, 3)
	check(t, l.Append(small(4)))
	killFull(t, l)
	file, err := os.ReadFile(segment(dir, 4))
	check(t, err)
	for at := range file {
		cut := copyDir(t, dir)
		check(t, os.Truncate(segment(cut, 4), int64(at)))
		wantCut(t, cut, 3, file[:at])
	}
	check(t, os.Remove(segment(dir, 4)))
	wantCut(t, dir, 3, nil)
	if _, err := os.Stat(filepath.Join(dir, generationName(4))); err != nil {
		return
	}
	t.Fatal("the empty generation was not removed")
}

// TestTornFirstCommitOfAll is the same for commit 1.
func TestTornFirstCommitOfAll(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{})
	check(t, l.Append(small(1)))
	killFull(t, l)
	file, err := os.ReadFile(segment(dir, 1))
	check(t, err)
	for at := range file {
		cut := copyDir(t, dir)
		check(t, os.Truncate(segment(cut, 1), int64(at)))
		var m memory
		_, all, err := content(t, cut, Options{Logger: slog.New(&m)})
		check(t, err)
		if len(all) != 0 || at > 0 && len(m.lines) != 1 {
			t.Fatalf("cut at %d: %d commits, %q", at, len(all), m.lines)
		}
		l := open(t, cut, Options{})
		appendSmall(t, l, 2)
		kill(l)
		wantSmall(t, cut, 1, 2)
	}
}

// TestTornButDurable: what is torn was answered, and something says so. It is refused, and nothing is changed.
func TestTornButDurable(t *testing.T) {
	hurt := func(file []byte, at int) []byte { file = bytes.Clone(file); file[at] ^= 0x10; return file }
	for name, c := range map[string]struct {
		closed bool // closed in order, so that the mark says all is durable
		change func(file []byte, starts [3]int) []byte
	}{
		"the mark says so":            {true, func(f []byte, s [3]int) []byte { return f[:s[2]+1] }},
		"the mark says so, at an end": {true, func(f []byte, s [3]int) []byte { return f[:s[2]] }},
		"a later commit says so":      {false, func(f []byte, s [3]int) []byte { return hurt(f, s[0]+headerSize) }},
		"a torn later one says so":    {false, func(f []byte, s [3]int) []byte { return hurt(f, s[0]+headerSize)[:s[1]+1+headerSize] }},
		"zeros in front of a later":   {false, func(f []byte, s [3]int) []byte { f = bytes.Clone(f); clear(f[s[0]:s[1]]); return f }},
		"one that says so was moved":  {false, func(f []byte, s [3]int) []byte { return append(bytes.Clone(f[:s[0]]), f[s[1]:]...) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			l := open(t, dir, Options{GenerationSize: 200})
			appendSmall(t, l, 10)
			g := l.gens[len(l.gens)-1]
			var starts [3]int
			for i := range starts {
				starts[i] = int(g.ends[8-g.first+uint64(i)-1])
			}
			if c.closed {
				check(t, l.Close())
			}
			kill(l)
			path := segment(dir, g.first)
			file, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(path, c.change(file, starts), filePerm))
			before := tree(t, dir)
			at, commit := starts[0], uint64(8)
			if c.closed {
				at, commit = starts[2], 10
			}
			_, _, err = content(t, dir, Options{})
			wantDamage(t, err, path, commit, int64(at))
			if tree(t, dir) != before {
				t.Fatal("a damaged log was changed")
			}
		})
	}
}

// TestForgedTestimony: somebody publishes bytes that look like frames which say that everything was durable. In a torn
// end they must not count, or a power cut would keep the server from starting.
func TestForgedTestimony(t *testing.T) {
	var forged []byte
	for n := uint64(1); n < 100; n++ {
		forged = appendFrame(forged, header{commit: n, watermark: n - 1}, nil)
	}
	for _, torn := range []int64{1, int64(len(forged)) / 2} {
		dir := folder(t)
		l := open(t, dir, Options{})
		appendSmall(t, l, 3)
		check(t, l.Append(forged))
		end := l.Generations()[0].Bytes
		kill(l)
		check(t, os.Truncate(segment(dir, 1), end-torn))
		_, all, err := content(t, dir, Options{})
		check(t, err)
		if len(all) != 3 {
			t.Fatalf("%d commits", len(all))
		}
	}
}

// TestStaleBlocks: after a power cut some file systems show old blocks of deleted files where new data was not written
// in time. An old generation in the place of the end is not taken for commits, nor for testimony.
func TestStaleBlocks(t *testing.T) {
	old := folder(t)
	l := open(t, old, Options{})
	appendSmall(t, l, 40)
	kill(l)
	stale, err := os.ReadFile(segment(old, 1))
	check(t, err)
	dir, newest, file, starts := torn(t)
	for _, at := range starts {
		check(t, os.WriteFile(segment(dir, newest), append(bytes.Clone(file[:at]), stale...), filePerm))
		first, all, err := content(t, copyDir(t, dir), Options{})
		check(t, err)
		checkSmall(t, first, all)
	}

	l = open(t, dir, Options{GenerationSize: 1})
	next := l.Last() + 1
	check(t, l.Append(small(next)))
	kill(l)
	check(t, os.WriteFile(segment(dir, next), stale[:l.gens[0].bytes], filePerm))
	wantSmall(t, dir, 1, next-1)
}

// TestRepeatedCut: recovery dies after it kept the torn bytes and before it cut them. The next one keeps no second copy.
func TestRepeatedCut(t *testing.T) {
	dir, newest, file, starts := torn(t)
	check(t, os.Truncate(segment(dir, newest), int64(len(file)-1)))
	again := copyDir(t, dir)
	wantCut(t, dir, 9, file[starts[2]:len(file)-1])
	kept, err := filepath.Glob(filepath.Join(dir, "*.cut"))
	check(t, err)
	data, err := os.ReadFile(kept[0])
	check(t, err)
	check(t, os.WriteFile(filepath.Join(again, filepath.Base(kept[0])), data[:3], filePerm))
	wantCut(t, again, 9, file[starts[2]:len(file)-1])
}
