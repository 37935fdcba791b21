//go:build linux

package crashfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dsend/testkit"
)

// rig is a mounted disk.
type rig struct {
	*testing.T
	disk *Disk
	dir  string
}

func start(t *testing.T, m Model, seed uint64) *rig {
	t.Helper()
	missing := Missing()
	testkit.Need(t, missing == "", missing)
	r := &rig{t, New(m, seed), t.TempDir()}
	r.must(r.disk.Mount(r.dir))
	t.Cleanup(func() {
		if err := r.disk.Unmount(); err != nil {
			t.Error(err, r.disk.Discard())
		}
	})
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// at is a path on the disk.
func (r *rig) at(name string) string { return filepath.Join(r.dir, name) }

// write writes to a file at an offset, and syncs it or not.
func (r *rig) write(name string, offset int64, data string, sync bool) {
	r.Helper()
	f, err := os.OpenFile(r.at(name), os.O_RDWR|os.O_CREATE, 0o600)
	r.must(err)
	_, err = f.WriteAt([]byte(data), offset)
	r.must(err)
	if sync {
		r.must(f.Sync())
	}
	r.must(f.Close())
}

func (r *rig) syncFolder(name string) {
	r.Helper()
	r.must(syncPath(r.at(name)))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// tree is what is on the disk, as one text: names, and what is in the files.
func (r *rig) tree() string {
	r.Helper()
	var all []string
	r.must(filepath.WalkDir(r.dir, func(path string, f fs.DirEntry, err error) error {
		name, _ := filepath.Rel(r.dir, path)
		switch {
		case err != nil || name == ".":
			return err
		case f.IsDir():
			all = append(all, name+"/")
			return nil
		}
		data, err := os.ReadFile(path)
		all = append(all, fmt.Sprintf("%s=%s", name, data))
		return err
	}))
	return strings.Join(all, " ")
}

// What was synced survives every cut of every model: files, folders, renames, removals, new lengths.
func TestSyncedSurvives(t *testing.T) {
	for _, m := range Models() {
		t.Run(m.String(), func(t *testing.T) {
			r := start(t, m, 1)
			r.must(os.MkdirAll(r.at("a/b"), 0o700))
			r.write("a/b/kept", 0, "first", true)
			r.write("a/b/moved", 0, "second", true)
			r.write("a/b/gone", 0, "third", true)
			r.must(os.Rename(r.at("a/b/moved"), r.at("a/new")))
			r.must(os.Remove(r.at("a/b/gone")))
			f, err := os.OpenFile(r.at("a/b/kept"), os.O_RDWR, 0)
			r.must(err)
			r.must(f.Truncate(3))
			r.must(errors.Join(f.Sync(), f.Close()))
			for _, folder := range []string{"a/b", "a", ""} {
				r.syncFolder(folder)
			}
			for range 2 {
				r.must(r.disk.PowerOn(m))
				if got, want := r.tree(), "a/ a/b/ a/b/kept=fir a/new=second"; got != want {
					t.Fatalf("after the cut there is %q, want %q", got, want)
				}
			}
		})
	}
}

// What was not synced survives as the model says; over many seeds in every way that it allows.
func TestUnsyncedData(t *testing.T) {
	old := strings.Repeat("o", pieceSize)
	first, second := strings.Repeat("1", pieceSize), strings.Repeat("2", pieceSize)
	zeros := strings.Repeat("\x00", pieceSize)
	for _, play := range []struct {
		data Data
		want []string // among others, unless it is exact
		all  bool
	}{
		{Nothing, []string{old}, true},
		{Torn, []string{old + first + second}, false},
		{Pieces, []string{old, old + first, old + first + second, old + zeros + second, old + first + zeros, old + zeros + zeros}, true},
		{Garbage, []string{old, old + first, old + first + second}, false},
	} {
		t.Run(string(play.data), func(t *testing.T) {
			m := Model{play.data, Strict}
			r := start(t, m, 7)
			r.write("file", 0, old, true)
			r.syncFolder("")
			seen := map[string]bool{}
			for range 200 {
				r.write("file", pieceSize, first, false)
				r.write("file", 2*pieceSize, second, false)
				r.must(r.disk.PowerOn(m))
				got := read(t, r.at("file"))
				seen[got] = true
				r.torn(play.data, got, old+first+second)
				r.must(os.Truncate(r.at("file"), pieceSize))
				r.write("file", 0, old, true)
			}
			for _, want := range play.want {
				if !seen[want] {
					t.Errorf("%s was never left", shape(want))
				}
				delete(seen, want)
			}
			if play.all && len(seen) > 0 || !play.all && len(seen) < 10 {
				t.Errorf("%d other ends were left", len(seen))
			}
		})
	}
}

// torn checks that a torn file is a beginning of what was written.
func (r *rig) torn(m Data, got, written string) {
	r.Helper()
	if m == Torn && !strings.HasPrefix(written, got) {
		r.Fatalf("a torn file is no beginning of what was written: %s", shape(got))
	}
}

// shape shows a file by the first byte of each piece.
func shape(file string) string {
	text := ""
	for piece := range slices.Chunk([]byte(file), pieceSize) {
		text += fmt.Sprintf("%q", piece[0])
	}
	return text
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Names that were not synced are lost, all or some of them, as the model says.
func TestUnsyncedNames(t *testing.T) {
	for _, play := range []struct {
		names Names
		want  []string
	}{
		{Strict, []string{"old= synced="}},
		{Ordered, []string{"old= synced=", "new= old= synced=", "moved= new= synced=", "moved= new="}},
		{Subset, []string{
			"old= synced=", "new= old= synced=", "moved= new= synced=", "moved= new=",
			"moved= synced=", "moved=", "old=", "new= old=",
		}},
	} {
		t.Run(string(play.names), func(t *testing.T) {
			seen := map[string]bool{}
			m := Model{Nothing, play.names}
			r := start(t, m, 3)
			for range 100 {
				for _, name := range []string{"old", "synced"} {
					r.write(name, 0, "", false)
				}
				r.syncFolder("")
				r.write("new", 0, "", false)
				r.must(os.Rename(r.at("old"), r.at("moved")))
				r.must(os.Remove(r.at("synced")))
				r.must(r.disk.PowerOn(m))
				seen[r.tree()] = true
				for name := range strings.FieldsSeq(strings.ReplaceAll(r.tree(), "=", "")) {
					r.must(os.Remove(r.at(name)))
				}
				r.syncFolder("")
			}
			for _, want := range play.want {
				if !seen[want] {
					t.Errorf("%q was never left", want)
				}
				delete(seen, want)
			}
			for other := range seen {
				t.Errorf("%q was left", other)
			}
		})
	}
}

// Only where names are ordered, the sync of a file makes names durable; and a folder is not there because it was synced.
func TestNamesAndSyncs(t *testing.T) {
	for names, want := range map[Names]string{Strict: "", Ordered: "folder/ folder/file=x"} {
		m := Model{Nothing, names}
		r := start(t, m, 1)
		r.must(os.Mkdir(r.at("folder"), 0o700))
		r.write("folder/file", 0, "x", true)
		r.syncFolder("folder")
		r.must(r.disk.PowerOn(m))
		if got := r.tree(); got != want {
			t.Errorf("%s: there is %q, want %q", names, got, want)
		}
	}
}

// fdatasync is of the data alone: also where names are ordered, those before it may be lost.
func TestSyncOfData(t *testing.T) {
	m := Model{Nothing, Ordered}
	r := start(t, m, 1)
	seen := map[string]bool{}
	for range 50 {
		r.write("file", 0, "x", true)
		r.must(os.Mkdir(r.at("folder"), 0o700))
		file, err := os.OpenFile(r.at("file"), os.O_WRONLY, 0)
		r.must(err)
		_, err = file.WriteAt([]byte("y"), 0)
		r.must(err)
		r.must(syscall.Fdatasync(int(file.Fd())))
		r.must(file.Close())
		r.must(r.disk.PowerOn(m))
		seen[r.tree()] = true
		r.must(os.RemoveAll(r.at("folder")))
		r.syncFolder("")
	}
	if len(seen) != 2 || !seen["file=y"] || !seen["file=y folder/"] {
		t.Errorf("there was %v", seen)
	}
}

// The power is cut at exactly the call that was asked for; what it would have done is one of the things not synced.
func TestCutAt(t *testing.T) {
	m := Model{Nothing, Ordered}
	calls := []struct {
		do   func(r *rig) error
		left string // when the power is cut here
	}{
		{func(r *rig) error { return os.Mkdir(r.at("a"), 0o700) }, ""},
		{func(r *rig) error { return syncPath(r.dir) }, ""},
		{func(r *rig) error { return os.WriteFile(r.at("a/b"), nil, 0o600) }, "a/"},
		{func(r *rig) error { return syncPath(r.at("a")) }, "a/"},
		{func(r *rig) error { return os.Rename(r.at("a/b"), r.at("c")) }, "a/ a/b="},
		{func(r *rig) error { return syncPath(r.dir) }, "a/ a/b="},
		{func(r *rig) error { return os.Remove(r.at("c")) }, "a/ c="},
	}
	for cut := range calls {
		lost := map[string]bool{}
		for seed := range uint64(20) {
			r := start(t, m, seed)
			r.disk.CutAt(cut + 1)
			for i, call := range calls {
				if err := call.do(r); (err == nil) != (i < cut) {
					t.Fatalf("cut at call %d: call %d: %v", cut+1, i+1, err)
				}
			}
			<-r.disk.Dark()
			r.must(r.disk.PowerOn(m))
			lost[r.tree()] = true
		}
		if !lost[calls[cut].left] {
			t.Errorf("cut at call %d: %v is left, want %q", cut+1, lost, calls[cut].left)
		}
	}
}

// The same calls, model and seed leave the same disk.
func TestSeed(t *testing.T) {
	m := Model{Garbage, Subset}
	left := func(seed uint64) string {
		r := start(t, m, seed)
		for i := range 20 {
			name := fmt.Sprint("file", i)
			r.write(name, 0, strings.Repeat(fmt.Sprint(i%10), 3*pieceSize), i%3 == 0)
		}
		r.must(r.disk.PowerOn(m))
		return r.tree()
	}
	first, again, other := left(1), left(1), left(2)
	if first != again {
		t.Error("one seed leaves two disks")
	}
	if first == other {
		t.Error("two seeds leave one disk")
	}
}

// Every call can be made to fail: the N-th one, once or from then on.
func TestFaults(t *testing.T) {
	for _, play := range []struct {
		kind  Kind
		errno syscall.Errno
		do    func(r *rig, i int) error
	}{
		{Create, syscall.ENOSPC, func(r *rig, i int) error { return os.WriteFile(r.at(fmt.Sprint(i)), nil, 0o600) }},
		{Open, syscall.EMFILE, func(r *rig, _ int) error { return syncPath(r.at("file")) }},
		{OpenFolder, syscall.EMFILE, func(r *rig, _ int) error { return syncPath(r.dir) }},
		{Write, syscall.EIO, func(r *rig, i int) error { return rewrite(r.at("file"), i) }},
		{Truncate, syscall.EROFS, func(r *rig, _ int) error { return os.Truncate(r.at("file"), 1) }},
		{Sync, syscall.EIO, func(r *rig, _ int) error { return syncPath(r.at("file")) }},
		{SyncFolder, syscall.EIO, func(r *rig, _ int) error { return syncPath(r.dir) }},
		{Mkdir, syscall.ENOSPC, func(r *rig, i int) error { return os.Mkdir(r.at(fmt.Sprint(i)), 0o700) }},
		{Rename, syscall.EROFS, func(r *rig, _ int) error { return os.Rename(r.at("file"), r.at("file")+"") }},
		{Unlink, syscall.EIO, func(r *rig, i int) error {
			return errors.Join(os.WriteFile(r.at("gone"), nil, 0o600), os.Remove(r.at("gone")))
		}},
		{Read, syscall.EIO, func(r *rig, _ int) error { _, err := os.ReadFile(r.at("file")); return err }},
		{ReadFolder, syscall.EIO, func(r *rig, _ int) error { _, err := os.ReadDir(r.dir); return err }},
	} {
		t.Run(string(play.kind), func(t *testing.T) {
			for _, every := range []bool{false, true} {
				r := start(t, Model{Nothing, Strict}, 1)
				r.write("file", 0, "content", true)
				if play.kind == Rename {
					play.do = alternate()
				}
				nth := 2
				if play.kind == Read || play.kind == ReadFolder {
					nth = 3 // they are read until nothing more comes
				}
				r.disk.Inject(Fault{Kind: play.kind, Nth: nth, Every: every, Errno: play.errno})
				for i := range 4 {
					err := play.do(r, i)
					if fails := i == 1 || every && i > 1; fails != errors.Is(err, play.errno) || !fails && err != nil {
						t.Errorf("every=%v: call %d: %v", every, i+1, err)
					}
				}
				if hits := r.disk.Hits(); hits == 0 || hits > 1 && !every {
					t.Errorf("every=%v: %d faults struck", every, hits)
				}
				<-r.disk.Struck()
				r.disk.Heal()
				r.must(play.do(r, 4))
			}
		})
	}
}

// rewrite writes one byte.
func rewrite(path string, i int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{byte(i)}, 0)
	return errors.Join(err, f.Close())
}

// alternate renames a file to another name, and back the next time it succeeded.
func alternate() func(*rig, int) error {
	names := [2]string{"file", "other"}
	return func(r *rig, _ int) error {
		err := os.Rename(r.at(names[0]), r.at(names[1]))
		if err == nil {
			names[0], names[1] = names[1], names[0]
		}
		return err
	}
}

// A short write writes half and says so.
func TestShortWrite(t *testing.T) {
	r := start(t, Model{Nothing, Strict}, 1)
	r.disk.Inject(Fault{Kind: Write, Nth: 1})
	f, err := os.Create(r.at("file"))
	r.must(err)
	n, err := syscall.Write(int(f.Fd()), []byte("abcdef"))
	if n != 3 || err != nil {
		t.Errorf("%d bytes were written (%v), want 3", n, err)
	}
	r.must(f.Close())
	if got := read(t, r.at("file")); got != "abc" {
		t.Errorf("the file is %q", got)
	}
}

// After a failed sync programs see what the disk will never have, and the next sync succeeds.
func TestFailedSync(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		m := Model{Garbage, Subset}
		r := start(t, m, 1)
		r.write("file", 0, "old", true)
		r.syncFolder("")
		r.write("file", 0, "lost", false)
		r.disk.Inject(Fault{Kind: Sync, Path: "file", Nth: 1, Errno: syscall.EIO, Hidden: hidden})
		if err := syncPath(r.at("file")); errors.Is(err, syscall.EIO) == hidden {
			t.Fatalf("hidden=%v: the sync: %v", hidden, err)
		}
		r.must(syncPath(r.at("file")))
		if got := read(t, r.at("file")); got != "lost" {
			t.Errorf("programs see %q", got)
		}
		r.must(r.disk.PowerOn(m))
		if got := read(t, r.at("file")); got != "old" {
			t.Errorf("the disk has %q", got)
		}
	}
}

// Calls that are ignored look as if they were done.
func TestIgnore(t *testing.T) {
	m := Model{Nothing, Strict}
	r := start(t, m, 1)
	r.write("file", 0, "old", true)
	r.syncFolder("")
	same := 0
	r.disk.Ignore(func(c Call) bool {
		if c.Same {
			same++
		}
		return c.Kind == Sync && c.Path == "file"
	})
	r.write("file", 0, "old", true)
	r.write("file", 0, "new", true)
	r.must(r.disk.PowerOn(m))
	if got := read(t, r.at("file")); got != "old" || same != 1 {
		t.Errorf("the disk has %q; %d writes wrote what was there", got, same)
	}
}

// After a cut nothing works, for programs that are still there.
func TestDark(t *testing.T) {
	r := start(t, Model{Torn, Subset}, 1)
	r.write("file", 0, "x", true)
	f, err := os.OpenFile(r.at("file"), os.O_RDWR, 0)
	r.must(err)
	r.disk.Cut()
	<-r.disk.Dark()
	_, err = f.WriteAt([]byte("y"), 0)
	for i, err := range []error{err, f.Sync(), os.Mkdir(r.at("folder"), 0o700), os.Remove(r.at("file"))} {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("call %d after the cut: %v", i, err)
		}
	}
	r.must(f.Close())
}

// The process that serves a disk uses it, starts programs and collects garbage, all at once, and nothing stands still.
func TestServedByItsUser(t *testing.T) {
	r := start(t, Model{Nothing, Strict}, 1)
	var working sync.WaitGroup
	for i := range 4 {
		working.Go(func() {
			for k := range 50 {
				name := r.at(fmt.Sprintf("%d-%d", i, k))
				if err := os.WriteFile(name, bytes.Repeat([]byte("x"), 10_000), 0o600); err != nil {
					t.Error(err)
				}
				if err := syncPath(name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	working.Go(func() {
		for range 25 {
			if err := exec.Command("true").Run(); err != nil {
				t.Error(err)
			}
			runtime.GC()
		}
	})
	working.Wait()
}

// What the disk cannot do it refuses.
func TestRefused(t *testing.T) {
	r := start(t, Model{Nothing, Strict}, 1)
	r.write("file", 0, "x", true)
	_, direct := os.OpenFile(r.at("file"), os.O_RDWR|syscall.O_DSYNC, 0)
	for what, err := range map[string]error{
		"O_DSYNC": direct, "a link": os.Link(r.at("file"), r.at("link")), "a symbolic link": os.Symlink("file", r.at("symlink")),
	} {
		if err == nil {
			t.Errorf("%s was not refused", what)
		}
	}
}
