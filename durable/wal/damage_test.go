package wal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// threeGenerations is a log of 9 small commits in three generations, each synced; the lock file is as kill -9 leaves it.
func threeGenerations(t *testing.T) (dir string, gens []*generation) {
	t.Helper()
	dir = folder(t)
	l := open(t, dir, Options{GenerationSize: 150})
	appendSmall(t, l, 9)
	killFull(t, l)
	if len(l.gens) != 3 {
		t.Fatalf("%v", l.Generations())
	}
	return dir, l.gens
}

// TestEveryBit flips each bit of each file of a log, one at a time. Nothing wrong may be delivered. A hurt commit is refused
// by file and offset, but for the last one of all, of which nobody can know that it was durable: it is cut and kept.
func TestEveryBit(t *testing.T) {
	dir, gens := threeGenerations(t)
	flips, refused, cut := 0, 0, 0
	for _, g := range gens {
		file, err := os.ReadFile(segment(dir, g.first))
		check(t, err)
		for bit := range len(file) * 8 {
			flips++
			hurt := bytes.Clone(file)
			hurt[bit/8] ^= 1 << (bit % 8)
			commit, offset := commitAt(g, bit/8)
			check(t, os.WriteFile(segment(dir, g.first), hurt, filePerm))
			work := dir
			if commit == 9 {
				work = copyDir(t, dir) // will be changed
			}
			first, all, err := content(t, work, Options{})
			checkSmall(t, first, all)
			if commit == 9 {
				check(t, err)
				if len(all) != 8 {
					t.Fatalf("bit %d of the last commit: %d commits", bit, len(all))
				}
				wantKept(t, work, 9, bytes.TrimRight(hurt[offset:], "\x00"))
				check(t, os.RemoveAll(work))
				cut++
				continue
			}
			wantDamage(t, err, segment(dir, g.first), commit, offset)
			refused++
		}
		check(t, os.WriteFile(segment(dir, g.first), file, filePerm))
	}
	t.Logf("%d bits flipped: %d refused, %d in the last commit cut", flips, refused, cut)

	path := filepath.Join(dir, lockName)
	file, err := os.ReadFile(path)
	check(t, err)
	for bit := range len(file) * 8 {
		hurt := bytes.Clone(file)
		hurt[bit/8] ^= 1 << (bit % 8)
		check(t, os.WriteFile(path, hurt, filePerm))
		wantSmall(t, dir, 1, 9)
	}
}

// commitAt is the commit of g that byte at of its file belongs to, and where that commit begins.
func commitAt(g *generation, at int) (commit uint64, offset int64) {
	for i, end := range g.ends {
		if at < int(end) {
			return g.first + uint64(i), offset
		}
		offset = int64(end)
	}
	panic("behind the end")
}

// TestScanFindsDamage: what recovery finds at the start, Scan finds later.
func TestScanFindsDamage(t *testing.T) {
	dir, gens := threeGenerations(t)
	l := open(t, dir, Options{})
	path := segment(dir, 1)
	file, err := os.ReadFile(path)
	check(t, err)
	for at := range file {
		hurt := bytes.Clone(file)
		hurt[at] ^= 1
		check(t, os.WriteFile(path, hurt, filePerm))
		commit, offset := commitAt(gens[0], at)
		wantDamage(t, l.Scan(1, func(n uint64, data []byte) error {
			if n >= commit || !bytes.Equal(data, small(n)) {
				t.Fatalf("commit %d delivered", n)
			}
			return nil
		}), path, commit, offset)

		check(t, os.WriteFile(path, file[:at], filePerm))
		wantDamage(t, l.Scan(1, func(uint64, []byte) error { return nil }), path, commit, 0)
	}
	check(t, os.WriteFile(path, append(file, 0), filePerm))
	wantDamage(t, l.Scan(1, func(uint64, []byte) error { return nil }), path, gens[1].first, int64(len(file)))
}

// TestHurtFolder takes files away, adds some, renames them, cuts them. The log is refused by the name of what is wrong
// and not changed, or it is whole.
func TestHurtFolder(t *testing.T) {
	type place struct {
		dir        string
		gens       []*generation
		a, b, c    string // directories of the generations
		fa, fb, fc string // their files
	}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	cp := func(from, to string) { must(os.CopyFS(to, os.DirFS(from))) }
	write := func(path string, data []byte) { must(os.WriteFile(path, data, filePerm)) }
	rename := func(from, to string) { must(os.Rename(from, to)) }
	name := func(p place, first uint64) string { return filepath.Join(p.dir, generationName(first)) }

	for what, c := range map[string]struct {
		hurt func(p place)
		want func(p place) string // path that the error names
		err  error                // and what it is; nil: *Damage
	}{
		"oldest deleted":      {func(p place) { must(os.RemoveAll(p.a)) }, func(p place) string { return p.dir }, nil},
		"oldest file deleted": {func(p place) { must(os.Remove(p.fa)) }, func(p place) string { return p.dir }, nil},
		"middle deleted":      {func(p place) { must(os.RemoveAll(p.b)) }, func(p place) string { return p.fa }, nil},
		"middle file deleted": {func(p place) { must(os.Remove(p.fb)) }, func(p place) string { return p.fb }, nil},
		"newest deleted":      {func(p place) { must(os.RemoveAll(p.c)) }, func(p place) string { return p.fb }, nil},
		"newest file deleted": {func(p place) { must(os.Remove(p.fc)) }, func(p place) string { return p.c }, nil},
		"all deleted": {func(p place) {
			must(errors.Join(os.RemoveAll(p.a), os.RemoveAll(p.b), os.RemoveAll(p.c)))
		}, func(p place) string { return p.dir }, nil},
		"oldest emptied":          {func(p place) { must(os.Truncate(p.fa, 0)) }, func(p place) string { return p.fa }, nil},
		"middle emptied":          {func(p place) { must(os.Truncate(p.fb, 0)) }, func(p place) string { return p.fb }, nil},
		"newest emptied":          {func(p place) { must(os.Truncate(p.fc, 0)) }, func(p place) string { return p.fc }, nil},
		"middle cut at a commit":  {func(p place) { must(os.Truncate(p.fb, int64(p.gens[1].ends[0]))) }, func(p place) string { return p.fb }, nil},
		"newest cut at a commit":  {func(p place) { must(os.Truncate(p.fc, int64(p.gens[2].ends[0]))) }, func(p place) string { return p.fc }, nil},
		"zeros behind the middle": {func(p place) { must(os.Truncate(p.fb, p.gens[1].bytes+9)) }, func(p place) string { return p.fb }, nil},
		"oldest renamed":          {func(p place) { rename(p.a, name(p, 2)) }, func(p place) string { return p.dir }, nil},
		"middle renamed":          {func(p place) { rename(p.b, name(p, p.gens[1].first+1)) }, func(p place) string { return p.fa }, nil},
		"newest renamed up":       {func(p place) { rename(p.c, name(p, p.gens[2].first+1)) }, func(p place) string { return p.fb }, nil},
		"newest renamed down":     {func(p place) { rename(p.c, name(p, p.gens[2].first-1)) }, func(p place) string { return p.fb }, nil},
		"swapped":                 {func(p place) { rename(p.fa, p.dir+"x"); rename(p.fb, p.fa); rename(p.dir+"x", p.fb) }, func(p place) string { return p.fa }, nil},
		"duplicated":              {func(p place) { cp(p.b, name(p, p.gens[1].first+1)) }, func(p place) string { return p.fb }, nil},

		"name of another shape": {func(p place) { rename(p.b, p.b+" (copy)") }, func(p place) string { return p.b + " (copy)" }, ErrUnknownFile},
		"name without zeros":    {func(p place) { rename(p.a, filepath.Join(p.dir, "1.gen")) }, func(p place) string { return filepath.Join(p.dir, "1.gen") }, ErrUnknownFile},
		"generation 0":          {func(p place) { cp(p.a, name(p, 0)) }, func(p place) string { return name(p, 0) }, ErrUnknownFile},
		"stray file":            {func(p place) { write(filepath.Join(p.dir, "x"), nil) }, func(p place) string { return filepath.Join(p.dir, "x") }, ErrUnknownFile},
		"stray .END":            {func(p place) { write(p.fb+".END", nil) }, func(p place) string { return p.fb + ".END" }, ErrUnknownFile},
		"stray .START":          {func(p place) { write(p.fb+".START", nil) }, func(p place) string { return p.fb + ".START" }, ErrUnknownFile},
		"stray .TEMP":           {func(p place) { write(p.fc+".TEMP", nil) }, func(p place) string { return p.fc + ".TEMP" }, ErrUnknownFile},
		"stray segment":         {func(p place) { write(filepath.Join(p.c, "00000000000000000002"), nil) }, func(p place) string { return filepath.Join(p.c, "00000000000000000002") }, ErrUnknownFile},
		"file for a generation": {func(p place) { write(name(p, 11), nil) }, func(p place) string { return name(p, 11) }, ErrUnknownFile},
		"folder for a segment":  {func(p place) { must(os.Remove(p.fb)); must(os.Mkdir(p.fb, dirPerm)) }, func(p place) string { return p.fb }, ErrUnknownFile},
		"link for a segment":    {func(p place) { rename(p.fb, p.dir+"x"); must(os.Symlink(p.dir+"x", p.fb)) }, func(p place) string { return p.fb }, ErrUnknownFile},
		"link for a generation": {func(p place) { rename(p.b, p.dir+"x"); must(os.Symlink(p.dir+"x", p.b)) }, func(p place) string { return p.b }, ErrUnknownFile},
		"link for the lock": {func(p place) {
			rename(filepath.Join(p.dir, lockName), p.dir+"x")
			must(os.Symlink(p.dir+"x", filepath.Join(p.dir, lockName)))
		}, func(p place) string { return filepath.Join(p.dir, lockName) }, ErrUnknownFile},
		"folder for the lock": {func(p place) {
			must(os.Remove(filepath.Join(p.dir, lockName)))
			must(os.Mkdir(filepath.Join(p.dir, lockName), dirPerm))
		}, func(p place) string { return filepath.Join(p.dir, lockName) }, ErrUnknownFile},
		"pipe for the lock": {func(p place) {
			must(os.Remove(filepath.Join(p.dir, lockName)))
			must(unix.Mkfifo(filepath.Join(p.dir, lockName), filePerm))
		}, func(p place) string { return filepath.Join(p.dir, lockName) }, ErrUnknownFile},
		"folder for a side file": {func(p place) { must(os.Mkdir(filepath.Join(p.dir, "1.cut"), dirPerm)) }, func(p place) string { return filepath.Join(p.dir, "1.cut") }, ErrUnknownFile},
	} {
		t.Run(what, func(t *testing.T) {
			dir := folder(t)
			l := open(t, dir, Options{GenerationSize: 150})
			appendSmall(t, l, 10)
			check(t, l.Close())
			p := place{dir: dir, gens: l.gens}
			p.a, p.b, p.c = l.gens[0].dir, l.gens[1].dir, l.gens[2].dir
			p.fa, p.fb, p.fc = l.gens[0].segment(), l.gens[1].segment(), l.gens[2].segment()
			c.hurt(p)
			before := tree(t, dir)
			first, all, err := content(t, dir, Options{})
			checkSmall(t, first, all)
			if c.err == nil {
				wantDamage(t, err, c.want(p), 0, 0)
			} else if !errors.Is(err, c.err) || !strings.Contains(fmt.Sprint(err), c.want(p)) {
				t.Fatalf("%v", err)
			}
			if after := tree(t, dir); after != before {
				t.Fatalf("changed:\n%s\nwas:\n%s", after, before)
			}
			t.Log(err)
		})
	}
}

// TestHarmless is what may be missing, or be there, without harm.
func TestHarmless(t *testing.T) {
	for what, change := range map[string]func(dir string, gens []*generation) error{
		"no lock file":    func(dir string, _ []*generation) error { return os.Remove(filepath.Join(dir, lockName)) },
		"empty lock file": func(dir string, _ []*generation) error { return os.Truncate(filepath.Join(dir, lockName), 0) },
		"side files": func(dir string, _ []*generation) error {
			return os.WriteFile(filepath.Join(dir, "00000000000000000007.cut"), []byte("x"), filePerm)
		},
		"a copy behind the end": func(dir string, gens []*generation) error { // is cut as torn, and kept
			return os.CopyFS(filepath.Join(dir, generationName(10)), os.DirFS(gens[1].dir))
		},
		"creation cut short": func(dir string, _ []*generation) error {
			return os.Mkdir(filepath.Join(dir, generationName(10)), dirPerm)
		},
		"creation cut short, with a file": func(dir string, _ []*generation) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, generationName(10)), dirPerm), os.WriteFile(segment(dir, 10), nil, filePerm))
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir, gens := threeGenerations(t)
			check(t, change(dir, gens))
			wantSmall(t, dir, 1, 9)
			l := open(t, dir, Options{})
			appendSmall(t, l, 11)
			check(t, l.Close())
			wantSmall(t, dir, 1, 11)
		})
	}
}

// TestEmptyNewestIsTestimony: a generation is begun when all before it is durable, so its name says so.
func TestEmptyNewestIsTestimony(t *testing.T) {
	dir, gens := threeGenerations(t)
	check(t, os.Mkdir(filepath.Join(dir, generationName(10)), dirPerm))
	check(t, os.Truncate(segment(dir, gens[2].first), gens[2].bytes-1))
	_, _, err := content(t, dir, Options{})
	wantDamage(t, err, gens[2].segment(), 9, 0)
}

// TestHalfDropped: a power cut in the middle of Drop.
func TestHalfDropped(t *testing.T) {
	for _, lost := range []bool{false, true} { // is the lock file's mark lost with it?
		dir, gens := threeGenerations(t)
		l := open(t, dir, Options{})
		check(t, l.Drop(1))
		kill(l)
		check(t, os.Mkdir(gens[0].dir, dirPerm))
		if lost {
			check(t, os.Remove(filepath.Join(dir, lockName)))
		}
		wantSmall(t, dir, gens[1].first, 9)
		if _, err := os.Stat(gens[0].dir); !errors.Is(err, os.ErrNotExist) {
			t.Fatal("the empty folder was not removed")
		}
	}
	// The mark was made durable, and nothing was deleted.
	dir, gens := threeGenerations(t)
	whole := copyDir(t, dir)
	l := open(t, dir, Options{})
	check(t, l.Drop(1))
	kill(l)
	check(t, os.CopyFS(gens[0].dir, os.DirFS(filepath.Join(whole, generationName(1)))))
	wantSmall(t, dir, 1, 9)
}

// TestOnlyGenerationEmpty: where the numbering can no longer be known, nothing is begun.
func TestOnlyGenerationEmpty(t *testing.T) {
	for _, size := range []int64{0, 5} {
		dir, gens := threeGenerations(t)
		check(t, errors.Join(os.RemoveAll(gens[0].dir), os.RemoveAll(gens[1].dir), os.Remove(filepath.Join(dir, lockName))))
		check(t, os.Truncate(gens[2].segment(), size))
		_, _, err := content(t, dir, Options{})
		wantDamage(t, err, gens[2].segment(), gens[2].first, 0)
	}
}

// TestOlderBackup: a generation comes from a copy that was made when it was still being written.
func TestOlderBackup(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 150})
	appendSmall(t, l, 2)
	end := l.Newest().Bytes
	backup, err := os.ReadFile(segment(dir, 1))
	check(t, err)
	appendSmall(t, l, 9)
	kill(l)
	for _, room := range []int64{0, int64(len(backup)) - end} { // is what was prepared for more commits in the copy?
		check(t, os.WriteFile(segment(dir, 1), backup[:end+room], filePerm))
		_, _, err = content(t, dir, Options{})
		wantDamage(t, err, segment(dir, 1), 3, end)
	}
}
