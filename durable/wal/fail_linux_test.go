package wal

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"dsend/testkit"
)

// wantDead checks that a log that failed with err says so for good, and that what it has can be read.
func wantDead(t *testing.T, l *Log, err error) {
	t.Helper()
	for range 2 {
		for name, got := range map[string]error{"Append": l.Append(small(99)), "Sync": l.Sync(), "Drop": l.Drop(1)} {
			if got != err {
				t.Fatalf("%s: %v, want the first error, %v", name, got, err)
			}
		}
	}
	check(t, l.Read(1, 0, make([]byte, len(small(1)))))
}

// rooms are how many bytes of a commit of 59 fit before a write fails; none ends with a zero.
var rooms = []int64{0, 1, 27, 58}

// TestWriteFails: a file may not grow beyond a limit, so that a write is short, or refused. This happens in a process of
// its own, because the limit is for the whole process.
func TestWriteFails(t *testing.T) {
	if inChild() {
		signal.Ignore(unix.SIGXFSZ)
		for _, room := range rooms {
			failWrite(t, filepath.Join(childDir(), fmt.Sprint(room)), room)
		}
		return
	}
	dir := folder(t)
	run(t, child(t, dir))
	for _, room := range rooms {
		var m memory
		_, all, err := content(t, filepath.Join(dir, fmt.Sprint(room)), Options{Logger: slog.New(&m)})
		check(t, err)
		if len(all) != 3 || room == 0 && len(m.lines) != 0 || room > 0 && !strings.Contains(strings.Join(m.lines, ""), fmt.Sprintf(" bytes=%d ", room)) {
			t.Fatalf("room for %d bytes: %d commits, %q", room, len(all), m.lines)
		}
	}
}

func failWrite(t *testing.T, dir string, room int64) {
	l := open(t, dir, Options{})
	appendSmall(t, l, 3)
	end := l.Generations()[0].Bytes
	limit := unix.Rlimit{Cur: uint64(end + room), Max: unix.RLIM_INFINITY}
	check(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	failed := l.Append(bytes.Repeat([]byte{1}, 59-headerSize-1))
	if !errors.Is(failed, unix.EFBIG) {
		t.Fatalf("Append: %v", failed)
	}
	file, err := os.ReadFile(segment(dir, 1))
	check(t, err)
	if n := int64(len(bytes.TrimRight(file, "\x00"))); n != end+room {
		t.Fatalf("%d bytes were written, want a short write to %d", n, end+room)
	}
	limit.Cur = unix.RLIM_INFINITY // there is room again; the log stays dead
	check(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	wantDead(t, l, failed)
	if err := l.Close(); !errors.Is(err, unix.EFBIG) {
		t.Fatalf("Close: %v", err)
	}
}

// TestSyncFails: the descriptor that syncs is not one any more.
func TestSyncFails(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{})
	appendSmall(t, l, 3)
	check(t, l.Append(small(4)))
	check(t, l.writer.file.Close())
	err := l.Sync()
	if err == nil {
		t.Fatal("Sync succeeded")
	}
	wantDead(t, l, err)
	if got := l.Close(); got != err {
		t.Fatalf("Close: %v, want the first error, %v", got, err)
	}
	wantSmall(t, dir, 1, 4) // an error means unknown: here it had been written
}

// TestSyncOfNamesFails: the file was synced, its directory could not be.
func TestSyncOfNamesFails(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{})
	check(t, l.Append(small(1)))
	check(t, os.Rename(l.writer.dir, dir+"x"))
	err := l.Sync()
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	check(t, os.Rename(dir+"x", l.writer.dir))
	wantDead(t, l, err)
	check(t, os.RemoveAll(dir+"x"))
}

// TestRollFails: the next generation cannot be made, because something is in its place.
func TestRollFails(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 1})
	appendSmall(t, l, 2)
	check(t, l.Append(small(3)))
	check(t, os.Mkdir(filepath.Join(dir, generationName(4)), dirPerm))
	err := l.Append(small(4))
	if !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	wantDead(t, l, err)
	kill(l)
	wantSmall(t, dir, 1, 3)
}

// TestDropFails: the folder of the oldest generation cannot be removed.
func TestDropFails(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 1})
	appendSmall(t, l, 3)
	stray := filepath.Join(dir, generationName(1), "x")
	check(t, os.WriteFile(stray, nil, filePerm))
	err := l.Drop(1)
	if !errors.Is(err, unix.ENOTEMPTY) {
		t.Fatal(err)
	}
	if err2 := l.Append(nil); err2 != err {
		t.Fatal(err2)
	}
	kill(l)
	check(t, os.Remove(stray))
	wantSmall(t, dir, 2, 3)
}

// TestDiskFull fills a real file system of 256 KiB, in a process and a mount namespace of its own. The log dies; after a
// restart it can be recovered although there is no room at all, and goes on when there is.
func TestDiskFull(t *testing.T) {
	if inChild() {
		check(t, unix.Mount("tmpfs", childDir(), "tmpfs", 0, "size=256k"))
		diskFull(t, filepath.Join(childDir(), "log"))
		return
	}
	inMountNamespace(t)
}

// inMountNamespace runs the test again, in a child that may mount what it likes.
func inMountNamespace(t *testing.T) {
	t.Helper()
	cmd := child(t, t.TempDir())
	cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	if out, err := cmd.Output(); err != nil {
		testkit.Need(t, !errors.Is(err, unix.EPERM), "to be allowed to make a mount namespace (root)")
		t.Fatalf("%v\n%s", err, out)
	}
}

func diskFull(t *testing.T, dir string) {
	l := open(t, dir, Options{GenerationSize: 64 << 10})
	ballast := filepath.Join(filepath.Dir(dir), "ballast")
	check(t, os.WriteFile(ballast, make([]byte, 50<<10), filePerm))
	var err error
	for err == nil {
		if err = l.Append(noise(1, 5000)); err == nil {
			err = l.Sync()
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	free, err2 := l.Free()
	check(t, err2)
	if free != 0 {
		t.Fatalf("%d bytes are free", free)
	}
	last := l.Last()
	torn := l.writer.bytes
	if info, err := os.Stat(l.writer.segment()); err != nil || info.Size() == torn {
		t.Fatalf("%v, %d bytes: no short write", err, torn)
	}
	kill(l)
	var m memory
	_, all, err := content(t, dir, Options{Logger: slog.New(&m)})
	check(t, err)
	if len(all) != int(last) || len(m.lines) != 1 || !strings.Contains(m.lines[0], "kept=nothing, the disk is full") {
		t.Fatalf("%d commits, %q", len(all), m.lines)
	}
	check(t, os.Remove(ballast))
	l = open(t, dir, Options{})
	for range 5 {
		check(t, l.Append(noise(1, 5000)))
	}
	check(t, l.Close())
	_, all, err = content(t, dir, Options{})
	check(t, err)
	if len(all) != int(last)+5 {
		t.Fatalf("%d commits, want %d", len(all), last+5)
	}
}

// TestNoRoomForAName: a torn end cannot be kept, because the disk has no room for another name. The log can be recovered
// all the same.
func TestNoRoomForAName(t *testing.T) {
	if inChild() {
		check(t, unix.Mount("tmpfs", childDir(), "tmpfs", 0, "nr_inodes=20"))
		noRoomForAName(t, filepath.Join(childDir(), "log"))
		return
	}
	inMountNamespace(t)
}

func noRoomForAName(t *testing.T, dir string) {
	l := open(t, dir, Options{})
	appendSmall(t, l, 3)
	kill(l)
	file, err := os.OpenFile(segment(dir, 1), os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	_, err = file.WriteString("torn")
	check(t, errors.Join(err, file.Close()))
	for n := 0; err == nil; n++ {
		err = os.WriteFile(filepath.Join(filepath.Dir(dir), fmt.Sprint(n)), nil, filePerm)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	var m memory
	_, all, err := content(t, dir, Options{Logger: slog.New(&m)})
	check(t, err)
	checkSmall(t, 1, all)
	if len(all) != 3 || len(m.lines) != 1 || !strings.Contains(m.lines[0], "kept=nothing, the disk is full") {
		t.Fatalf("%d commits, %q", len(all), m.lines)
	}
}

// TestDiskWithoutRoom: there is room for commits, but not for zeros in front of them.
func TestDiskWithoutRoom(t *testing.T) {
	if inChild() {
		check(t, unix.Mount("tmpfs", childDir(), "tmpfs", 0, "size=128k"))
		dir := childDir() + "/log"
		l := open(t, dir, Options{})
		for range 20 {
			check(t, l.Append(noise(1, 4000)))
			check(t, l.Sync())
		}
		if size := fileSize(t, dir, 1); size >= roomStep || size <= l.Newest().Bytes {
			t.Fatalf("a file of %d bytes: there was room for more, or none", size)
		}
		kill(l)
		var m memory
		_, all, err := content(t, dir, Options{Logger: slog.New(&m)})
		check(t, err)
		if len(all) != 20 || len(m.lines) != 0 {
			t.Fatalf("%d commits, %q", len(all), m.lines)
		}
		return
	}
	inMountNamespace(t)
}
