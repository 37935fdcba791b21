package wal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenMakesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "log")
	check(t, open(t, dir, Options{}).Close())
	for d := dir; filepath.Base(d) != "a"; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		check(t, err)
		if info.Mode() != os.ModeDir|dirPerm {
			t.Fatalf("%s has mode %v", d, info.Mode())
		}
	}
	l := open(t, dir, Options{})
	appendSmall(t, l, 1)
	for path, mode := range map[string]os.FileMode{
		filepath.Join(dir, generationName(1)): os.ModeDir | dirPerm,
		segment(dir, 1):                       filePerm,
		filepath.Join(dir, lockName):          filePerm,
	} {
		info, err := os.Stat(path)
		check(t, err)
		if info.Mode() != mode {
			t.Fatalf("%s has mode %v", path, info.Mode())
		}
	}
}

func TestOpenRelativeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	l := open(t, "log", Options{})
	appendSmall(t, l, 1)
	check(t, l.Close())
	wantSmall(t, "log", 1, 1)
}

func TestOpenRefusesAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, filePerm))
	for _, dir := range []string{file, filepath.Join(file, "log")} {
		if _, err := Open(dir, Options{}); !errors.Is(err, ErrNotFolder) || !strings.Contains(err.Error(), dir) {
			t.Fatalf("%s: %v", dir, err)
		}
	}
}

func TestOpenRefusesASecond(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Fatal(err)
	}
	check(t, l.Append(nil))
	check(t, l.Close())
	check(t, open(t, dir, Options{}).Close())
}

// TestOpenAfterKill: another process has the log; then it is killed, and its lock does not stay.
func TestOpenAfterKill(t *testing.T) {
	if inChild() {
		l := open(t, childDir(), Options{})
		appendSmall(t, l, 3)
		fmt.Println("\nopen")
		_, _ = io.Copy(io.Discard, os.Stdin) // until we are killed
		return
	}
	dir := t.TempDir()
	cmd := child(t, dir)
	_, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Text() != "open"; {
		if !lines.Scan() {
			t.Fatal("the child ended")
		}
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	wantSmall(t, dir, 1, 3)
}

func TestMark(t *testing.T) {
	dir := t.TempDir()
	l, err := acquire(dir)
	check(t, err)
	check(t, l.raise(mark{first: 5, durable: 10}))
	check(t, l.raise(mark{first: 3, durable: 12})) // from a goroutine that was slow: the mark never goes back
	check(t, l.release())
	l, err = acquire(dir)
	check(t, err)
	defer l.release()
	if l.mark != (mark{first: 5, durable: 12}) {
		t.Fatalf("%+v", l.mark)
	}
	text, err := os.ReadFile(filepath.Join(dir, lockName))
	check(t, err)
	want := "dsend log: begins with commit 00000000000000000005, durable up to commit 00000000000000000012, check "
	if !strings.HasPrefix(string(text), want) {
		t.Fatalf("%q", text)
	}
}
