package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"dsend/testkit"
)

// surveyed is what a survey of the log in dir finds. The numbers must have no gap.
func surveyed(t testing.TB, dir string) (s *Survey, whole map[uint64][]byte) {
	t.Helper()
	s, err := OpenSurvey(dir)
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	whole = map[uint64][]byte{}
	next := s.First
	check(t, s.Commits(func(commit uint64, data []byte) error {
		if commit != next {
			t.Fatalf("commit %d follows %d", commit, next-1)
		}
		whole[commit], next = bytes.Clone(data), commit+1
		return nil
	}, func(first, last uint64) error {
		if first != next || last < first {
			t.Fatalf("%d to %d lost behind %d", first, last, next-1)
		}
		next = last + 1
		return nil
	}))
	if next != s.Last+1 && s.First != 0 {
		t.Fatalf("commits up to %d, told are those up to %d", next-1, s.Last)
	}
	return s, whole
}

// wantRepaired repairs s and recovers the new log: the whole commits are there, the lost ones empty, and more at the end.
func wantRepaired(t testing.TB, s *Survey, whole map[uint64][]byte) {
	t.Helper()
	before := tree(t, s.Dir)
	aside, err := s.Repair([]byte("mended"))
	check(t, err)
	check(t, s.Close())
	defer func() { check(t, os.RemoveAll(aside)) }()
	if moved := bytes.ReplaceAll([]byte(tree(t, aside)), []byte(aside), []byte(s.Dir)); string(moved) != before {
		t.Fatalf("the damaged log was changed:\n%s\nwas\n%s", moved, before)
	}
	first, all, err := content(t, s.Dir, Options{})
	check(t, err)
	last := first + uint64(len(all)) - 1
	if last != s.Last+1 || string(all[len(all)-1]) != "mended" {
		t.Fatalf("the repaired log ends with commit %d, want %d and %q", last, s.Last+1, all[len(all)-1])
	}
	for i, data := range all[:len(all)-1] {
		if !bytes.Equal(data, whole[first+uint64(i)]) {
			t.Fatalf("commit %d of the repaired log is not what was there", first+uint64(i))
		}
		delete(whole, first+uint64(i))
	}
	if len(whole) > 0 {
		t.Fatalf("commits %v are not in the repaired log", slices.Sorted(maps.Keys(whole)))
	}
}

func checkWhole(t testing.TB, whole map[uint64][]byte) {
	t.Helper()
	for n, data := range whole {
		if !bytes.Equal(data, small(n)) {
			t.Fatalf("commit %d delivered wrong", n)
		}
	}
}

// twoGenerations is a log of 7 small commits in two generations, as kill -9 leaves it.
func twoGenerations(t *testing.T) (dir string, gens []*generation) {
	t.Helper()
	dir = folder(t)
	l := open(t, dir, Options{GenerationSize: 200})
	appendSmall(t, l, 7)
	killFull(t, l)
	if len(l.gens) != 2 {
		t.Fatalf("%v", l.Generations())
	}
	return dir, l.gens
}

// TestSurveyEveryBit flips each bit of each file. The survey finds the place that Recover refuses, and loses the one
// commit that was hurt; of the last one, which cannot be known to have been durable, it says that it is torn. The log is
// repaired for every 31st bit, for each bit in the long form.
func TestSurveyEveryBit(t *testing.T) {
	dir, gens := twoGenerations(t)
	flips, repairs := 0, 0
	for _, g := range gens {
		file, err := os.ReadFile(segment(dir, g.first))
		check(t, err)
		for bit := range len(file) * 8 {
			hurt := bytes.Clone(file)
			hurt[bit/8] ^= 1 << (bit % 8)
			check(t, os.WriteFile(segment(dir, g.first), hurt, filePerm))
			commit, offset := commitAt(g, bit/8)
			s, whole := surveyed(t, dir)
			checkWhole(t, whole)
			if commit == 7 {
				if s.Damaged() || s.Torn == nil || s.Torn.Offset != offset || len(whole) != 6 {
					t.Fatalf("bit %d of the last commit: %v, torn %v", bit, s.Places, s.Torn)
				}
			} else {
				if len(s.Places) != 1 || s.Places[0].File != segment(dir, g.first) || s.Places[0].Offset != offset || s.Places[0].Commit != commit {
					t.Fatalf("bit %d: found %v, want it in commit %d at byte %d", bit, s.Places, commit, offset)
				}
				if !slices.Equal(s.Lost, []Lost{{commit, commit}}) || len(whole) != 6 {
					t.Fatalf("bit %d of commit %d: lost %v", bit, commit, s.Lost)
				}
			}
			flips++
			if bit%31 == 0 || testkit.Storm() {
				work := copyDir(t, dir)
				s, whole := surveyed(t, work)
				wantRepaired(t, s, whole)
				check(t, os.RemoveAll(work))
				repairs++
			}
			check(t, s.Close())
		}
		check(t, os.WriteFile(segment(dir, g.first), file, filePerm))
	}
	t.Logf("%d bits flipped, %d logs repaired", flips, repairs)
}

// TestSurveyEveryLength cuts each file at every length. Commits below the cut are kept; those above are lost, or, in the
// newest generation without other testimony, torn.
func TestSurveyEveryLength(t *testing.T) {
	for _, closed := range []bool{false, true} { // closed: the mark testifies to every commit
		dir := folder(t)
		l := open(t, dir, Options{GenerationSize: 200})
		appendSmall(t, l, 7)
		if closed {
			check(t, l.Close())
		}
		killFull(t, l)
		for i, g := range l.gens {
			file, err := os.ReadFile(segment(dir, g.first))
			check(t, err)
			for length := range file {
				check(t, os.WriteFile(segment(dir, g.first), file[:length], filePerm))
				commit, offset := commitAt(g, length)
				s, whole := surveyed(t, dir)
				checkWhole(t, whole)
				_, _, recovered := content(t, copyDir(t, dir), Options{})
				if s.Damaged() != (recovered != nil) {
					t.Fatalf("cut at %d: the survey finds %v, recovery says %v", length, s.Places, recovered)
				}
				if s.Damaged() != (i == 0 || closed) {
					t.Fatalf("cut at %d: %v", length, s.Places)
				}
				if s.Damaged() {
					last := g.first + uint64(len(g.ends)) - 1
					if s.Places[0].Offset != offset || s.Places[0].Commit != commit || !slices.Equal(s.Lost, []Lost{{commit, last}}) {
						t.Fatalf("cut at %d: %v, lost %v", length, s.Places, s.Lost)
					}
				}
				check(t, s.Close())
			}
			check(t, os.WriteFile(segment(dir, g.first), file, filePerm))
		}
	}
}

// TestSurveyHurtFolder takes files away, adds some, renames and exchanges them. What is still somewhere is kept.
func TestSurveyHurtFolder(t *testing.T) {
	type place struct{ dir, a, b, c, fa, fb, fc string }
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	write := func(path string) { must(os.WriteFile(path, []byte("x"), filePerm)) }
	rename := func(from, to string) { must(os.Rename(from, to)) }
	cp := func(from, to string) { must(os.CopyFS(to, os.DirFS(from))) }
	for what, c := range map[string]struct {
		hurt func(p place, g []*generation)
		lost func(g []*generation) []Lost
	}{
		"oldest deleted":      {func(p place, _ []*generation) { must(os.RemoveAll(p.a)) }, func(g []*generation) []Lost { return []Lost{{1, g[1].first - 1}} }},
		"oldest file deleted": {func(p place, _ []*generation) { must(os.Remove(p.fa)) }, func(g []*generation) []Lost { return []Lost{{1, g[1].first - 1}} }},
		"middle deleted":      {func(p place, _ []*generation) { must(os.RemoveAll(p.b)) }, func(g []*generation) []Lost { return []Lost{{g[1].first, g[2].first - 1}} }},
		"middle file deleted": {func(p place, _ []*generation) { must(os.Remove(p.fb)) }, func(g []*generation) []Lost { return []Lost{{g[1].first, g[2].first - 1}} }},
		"newest deleted":      {func(p place, _ []*generation) { must(os.RemoveAll(p.c)) }, func(g []*generation) []Lost { return []Lost{{g[2].first, 10}} }},
		"newest file deleted": {func(p place, _ []*generation) { must(os.Remove(p.fc)) }, func(g []*generation) []Lost { return []Lost{{g[2].first, 10}} }},
		"all but lock deleted": {func(p place, _ []*generation) {
			must(errors.Join(os.RemoveAll(p.a), os.RemoveAll(p.b), os.RemoveAll(p.c)))
		}, func([]*generation) []Lost { return []Lost{{1, 10}} }},
		"oldest emptied": {func(p place, _ []*generation) { must(os.Truncate(p.fa, 0)) }, func(g []*generation) []Lost { return []Lost{{1, g[1].first - 1}} }},
		"zeros behind":   {func(p place, g []*generation) { must(os.Truncate(p.fb, g[1].bytes+9)) }, nil},
		"doubled":        {func(p place, g []*generation) { cp(p.b, filepath.Join(p.dir, generationName(g[1].first+1))) }, nil},
		"doubled in front": {func(p place, g []*generation) {
			cp(p.c, filepath.Join(p.dir, generationName(2)))
		}, nil},
		"swapped":             {func(p place, _ []*generation) { rename(p.fa, p.dir+"x"); rename(p.fb, p.fa); rename(p.dir+"x", p.fb) }, nil},
		"swapped with newest": {func(p place, _ []*generation) { rename(p.fa, p.dir+"x"); rename(p.fc, p.fa); rename(p.dir+"x", p.fc) }, nil},
		"oldest renamed":      {func(p place, _ []*generation) { rename(p.a, filepath.Join(p.dir, generationName(2))) }, nil},
		"stray file":          {func(p place, _ []*generation) { write(filepath.Join(p.dir, "x")) }, nil},
		"stray .END":          {func(p place, _ []*generation) { write(p.fb + ".END") }, nil},
		"stray folder":        {func(p place, _ []*generation) { must(os.Mkdir(filepath.Join(p.dir, "1.gen"), dirPerm)) }, nil},
		"pipe for the lock": {func(p place, _ []*generation) {
			must(os.Remove(filepath.Join(p.dir, lockName)))
			must(unix.Mkfifo(filepath.Join(p.dir, lockName), filePerm))
		}, nil},
		"folder for a segment": {func(p place, _ []*generation) { must(os.Remove(p.fb)); must(os.Mkdir(p.fb, dirPerm)) }, func(g []*generation) []Lost { return []Lost{{g[1].first, g[2].first - 1}} }},
	} {
		t.Run(what, func(t *testing.T) {
			dir := folder(t)
			l := open(t, dir, Options{GenerationSize: 150})
			appendSmall(t, l, 10)
			check(t, l.Close())
			p := place{dir: dir}
			p.a, p.b, p.c = l.gens[0].dir, l.gens[1].dir, l.gens[2].dir
			p.fa, p.fb, p.fc = l.gens[0].segment(), l.gens[1].segment(), l.gens[2].segment()
			c.hurt(p, l.gens)
			s, whole := surveyed(t, dir)
			checkWhole(t, whole)
			var lost []Lost
			if c.lost != nil {
				lost = c.lost(l.gens)
			}
			if !s.Damaged() || !slices.Equal(s.Lost, lost) {
				t.Fatalf("found %v, lost %v, want %v", s.Places, s.Lost, lost)
			}
			t.Log(s.Places)
			wantRepaired(t, s, whole)
		})
	}
}

// TestSurveyDamage hurts a log of many generations at random: bits, blocks of zeros, pieces taken out and put in. Nothing
// wrong is delivered, what is not hurt is kept, and every hurt commit is told.
func TestSurveyDamage(t *testing.T) {
	positions := 300
	if testkit.Storm() {
		positions = 10_000
	}
	r := testkit.Dice(t)
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 20_000})
	want := map[uint64][]byte{}
	for n := uint64(1); n <= 400; n++ {
		want[n] = noise(n, r.IntN(700))
		check(t, l.Append(want[n]))
		check(t, l.Sync())
	}
	check(t, l.Close())
	if len(l.gens) < 5 {
		t.Fatalf("only %d generations", len(l.gens))
	}
	for range positions {
		g := l.gens[r.IntN(len(l.gens))]
		file, err := os.ReadFile(g.segment())
		check(t, err)
		hurt, from, to := injure(r, bytes.Clone(file))
		check(t, os.WriteFile(g.segment(), hurt, filePerm))
		first, _ := commitAt(g, from)
		last, _ := commitAt(g, min(to, len(file))-1)
		s, whole := surveyed(t, dir)
		for n, data := range whole {
			if !bytes.Equal(data, want[n]) {
				t.Fatalf("commit %d delivered wrong", n)
			}
		}
		if !s.Damaged() || s.Places[0].File != g.segment() {
			t.Fatalf("bytes %d to %d of %s hurt, found %v", from, to, g.segment(), s.Places)
		}
		newest := g == l.gens[len(l.gens)-1]
		for n := range want {
			if _, kept := whole[n]; !kept && (n < first || n > last) && !(newest && first == g.first) {
				t.Fatalf("commits %d to %d hurt, %d lost: %v", first, last, n, s.Places)
			}
		}
		check(t, s.Close())
		check(t, os.WriteFile(g.segment(), file, filePerm))
	}
}

// injure hurts the bytes from from on, up to to, which are not the same afterwards.
func injure(r *rand.Rand, file []byte) (hurt []byte, from, to int) {
	from = r.IntN(len(file))
	to = min(len(file), from+1+r.IntN(5000))
	switch r.IntN(4) {
	case 0:
		file[from] ^= 1 << r.IntN(8)
		return file, from, from + 1
	case 1:
		copy(file[from:to], noise(r.Uint64(), to-from))
		file[from] ^= 1
		return file, from, to
	case 2:
		return slices.Delete(file, from, to), from, to
	}
	return slices.Insert(file, from, noise(r.Uint64(), to-from)...), from, from + 1
}

// TestForgedEntries: a publisher puts what looks like entries into a message, and the head of the file is damaged, so
// that the salt is lost. Nothing that was published is taken for a commit.
func TestForgedEntries(t *testing.T) {
	forged := func() (data []byte) {
		for n := uint64(2); n < 12; n++ {
			fake := appendFrame(nil, header{salt: salt{1, 2, 3, 4, 5, 6, 7, 8}, commit: n, watermark: n - 1}, []byte("forged"))
			data = append(append(data, byte(len(fake))), fake...)
		}
		return data
	}()
	for _, newest := range []bool{false, true} {
		dir := folder(t)
		l := open(t, dir, Options{GenerationSize: 5000})
		check(t, l.Append(append(make([]byte, 6000), forged...)[1000:]))
		if !newest {
			check(t, l.Append(make([]byte, 100)))
		}
		check(t, l.Close())
		path := l.gens[0].segment()
		file, err := os.ReadFile(path)
		check(t, err)
		clear(file[:100])
		check(t, os.WriteFile(path, file, filePerm))
		s, whole := surveyed(t, dir)
		for n, data := range whole {
			if bytes.Contains(data, []byte("forged")) {
				t.Fatalf("commit %d is what somebody published", n)
			}
		}
		if len(s.Lost) != 1 || s.Lost[0] != (Lost{1, 1}) {
			t.Fatalf("lost %v", s.Lost)
		}
		check(t, s.Close())
	}
}

// TestLostHead: a whole block is lost at the head of a sealed file, with the salt in it. What is behind it is kept,
// because it leads to the end of the file and to the next generation.
func TestLostHead(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 20_000})
	for n := uint64(1); n <= 100; n++ {
		check(t, l.Append(noise(n, 500)))
	}
	check(t, l.Close())
	path := l.gens[0].segment()
	file, err := os.ReadFile(path)
	check(t, err)
	clear(file[:block])
	check(t, os.WriteFile(path, file, filePerm))
	last, end := commitAt(l.gens[0], block)
	s, whole := surveyed(t, dir)
	if want := []Lost{{1, last}}; end == 0 || !slices.Equal(s.Lost, want) || len(whole) != 100-int(last) {
		t.Fatalf("lost %v, want %v", s.Lost, want)
	}
}

// TestUnreadableBlock: a block that the disk cannot read hides what is in it, and nothing else.
func TestUnreadableBlock(t *testing.T) {
	want := noise(1, 5*block+100)
	got := make([]byte, len(want)-50)
	bad := badDisk{bytes.NewReader(want), 2 * block}
	if _, err := bad.ReadAt(got, 50); !errors.Is(err, unix.EIO) {
		t.Fatalf("the disk does not fail: %v", err)
	}
	if n, err := (patient{bad}).ReadAt(got, 50); n != len(got) || err != nil {
		t.Fatal(n, err)
	}
	clear(want[2*block : 3*block])
	if !bytes.Equal(got, want[50:]) {
		t.Fatal("other bytes are not what they were")
	}
	if _, err := (patient{bad}).ReadAt(got, 1000); err != io.EOF {
		t.Fatalf("behind the end: %v", err)
	}
}

// badDisk cannot read the block at at.
type badDisk struct {
	*bytes.Reader
	at int64
}

func (d badDisk) ReadAt(p []byte, off int64) (int, error) {
	if off < d.at+block && off+int64(len(p)) > d.at {
		return 0, unix.EIO
	}
	return d.Reader.ReadAt(p, off)
}

// TestSurveyOfNothing: only what has something that only a log has is a log.
func TestSurveyOfNothing(t *testing.T) {
	empty := t.TempDir()
	foreign := t.TempDir()
	check(t, os.WriteFile(filepath.Join(foreign, "passwd"), []byte("root"), 0o600))
	check(t, os.WriteFile(filepath.Join(foreign, lockName), []byte("somebody else's"), 0o600))
	before := tree(t, foreign)
	for _, dir := range []string{empty, foreign, "/etc"} {
		if s, err := OpenSurvey(dir); !errors.Is(err, ErrNoLog) {
			t.Fatalf("%s: %v %v", dir, s, err)
		}
	}
	if tree(t, foreign) != before {
		t.Fatal("a foreign folder was changed")
	}
	if _, err := OpenSurvey(filepath.Join(empty, "nothing")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := OpenSurvey(filepath.Join(foreign, "passwd")); !errors.Is(err, ErrNotFolder) {
		t.Fatal(err)
	}
}

// TestSurveyLocks: a log in use is not looked at, one that is looked at is not opened or repaired.
func TestSurveyLocks(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{})
	appendSmall(t, l, 3)
	if _, err := OpenSurvey(dir); !errors.Is(err, ErrInUse) {
		t.Fatal(err)
	}
	check(t, l.Close())
	one, _ := surveyed(t, dir)
	two, _ := surveyed(t, dir)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) {
		t.Fatal(err)
	}
	if _, err := one.Repair(); !errors.Is(err, ErrInUse) {
		t.Fatal(err)
	}
	check(t, two.Close())
	if one.Damaged() || one.Torn != nil || one.Size() != l.gens[0].bytes {
		t.Fatalf("%+v", one)
	}
	if _, err := one.Repair(); err != nil {
		t.Fatal(err)
	}
}

// TestRepairAgain: what an interrupted repair has left does not hinder the next, and a second repair does not touch the
// log that the first one has set aside.
func TestRepairAgain(t *testing.T) {
	dir, gens := twoGenerations(t)
	damage := func() {
		t.Helper()
		file, err := os.ReadFile(segment(dir, 1))
		check(t, err)
		file[gens[0].ends[0]+3] ^= 1
		check(t, os.WriteFile(segment(dir, 1), file, filePerm))
	}
	for i, want := range []string{".damaged", ".damaged.2", ".damaged.3"} {
		damage()
		check(t, os.CopyFS(dir+repairingSuffix, os.DirFS(dir)))
		s, err := OpenSurvey(dir)
		check(t, err)
		if len(s.Lost) != 1 {
			t.Fatalf("repair %d: lost %v", i, s.Lost)
		}
		aside, err := s.Repair()
		check(t, err)
		check(t, s.Close())
		if aside != dir+want {
			t.Fatalf("set aside as %s, want %s", aside, want)
		}
		l := open(t, dir, Options{})
		gens = l.gens
		check(t, l.Close())
	}
	damage()
	check(t, os.MkdirAll(filepath.Join(dir+repairingSuffix, "mine"), dirPerm))
	s, _ := surveyed(t, dir)
	if _, err := s.Repair(); !errors.Is(err, ErrUnknownFile) {
		t.Fatalf("somebody's folder was taken for what a repair has left: %v", err)
	}
}

// TestVanished: where only what belongs beside a log is left, nobody begins an empty one.
func TestVanished(t *testing.T) {
	for _, suffix := range []string{".damaged", ".damaged.2", repairedSuffix, repairingSuffix, RestoringSuffix} {
		dir := folder(t)
		check(t, os.MkdirAll(dir+suffix, dirPerm))
		if _, err := Open(dir, Options{}); !errors.Is(err, ErrVanished) {
			t.Fatal(err)
		}
		if _, err := OpenSurvey(dir); !errors.Is(err, ErrVanished) {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Fatal("a log was begun")
		}
	}
}

// TestReplace: the way of a file system that cannot exchange two names, killed before each of its steps.
func TestReplace(t *testing.T) {
	base := t.TempDir()
	old, fresh := filepath.Join(base, "log"), filepath.Join(base, "log.damaged")
	check(t, errors.Join(os.Mkdir(old, dirPerm), os.Mkdir(fresh, dirPerm), os.WriteFile(filepath.Join(fresh, "new"), nil, filePerm)))
	check(t, replace(fresh, old))
	if _, err := os.Stat(filepath.Join(old, "new")); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(fresh); err != nil || len(files) != 0 {
		t.Fatalf("%v %v", files, err)
	}
	check(t, os.Rename(old, old+repairedSuffix)) // before the last step
	if _, err := Open(old, Options{}); !errors.Is(err, ErrVanished) {
		t.Fatal(err)
	}
	if err := replace(filepath.Join(base, "none"), old); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// FuzzSurvey reads arbitrary bytes as a generation that has a successor: the commits are in order, and each is told once,
// as whole or as lost.
func FuzzSurvey(f *testing.F) {
	var file []byte
	for n := uint64(1); n <= 5; n++ {
		data := fmt.Appendf(nil, "commit %d", n)
		file = append(file, byte(headerSize+len(data)))
		file = appendFrame(file, header{salt: salt{9, 8, 7}, commit: n, watermark: n - 1}, data)
	}
	f.Add(file)
	for at := 0; at < len(file); at += 7 {
		hurt := bytes.Clone(file)
		hurt[at] ^= 0x10
		f.Add(hurt)
		f.Add(slices.Delete(bytes.Clone(file), at, min(len(file), at+20)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		s := &Survey{Dir: "log"}
		g := &generation{first: 1, dir: t.TempDir()}
		check(t, os.WriteFile(g.segment(), file, filePerm))
		check(t, s.readGeneration(g, 6))
		s.gens = []*generation{g}
		s.join()
		next := s.First
		check(t, s.Commits(func(commit uint64, _ []byte) error {
			if commit != next {
				t.Fatalf("commit %d follows %d", commit, next-1)
			}
			next++
			return nil
		}, func(first, last uint64) error {
			if first != next {
				t.Fatalf("%d to %d lost behind %d", first, last, next-1)
			}
			next = last + 1
			return nil
		}))
		if len(s.Lost) > 0 && !s.Damaged() {
			t.Fatalf("lost %v, and nothing says where", s.Lost)
		}
	})
}
