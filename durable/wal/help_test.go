package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noise is n bytes that depend on seed.
func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// small is the data that the tests write as commit n: some bytes, sometimes none.
func small(n uint64) []byte { return noise(n, int(n*7%20)) }

// folder is a place for a log, in memory where the system has that: most tests here sync much and cut no power.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "dsend-wal")
	if err != nil {
		return filepath.Join(t.TempDir(), "log")
	}
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "log")
}

// open opens a log, recovers it and closes it at the end of the test.
func open(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	check(t, l.Recover(func(uint64, []byte) error { return nil }))
	return l
}

// appendSmall appends commits up to number last, each synced.
func appendSmall(t testing.TB, l *Log, last uint64) {
	t.Helper()
	for n := l.Last() + 1; n <= last; n++ {
		check(t, l.Append(small(n)))
		check(t, l.Sync())
	}
}

// kill leaves l as kill -9 does: nothing is synced, no mark is written, the lock is free.
func kill(l *Log) {
	_ = l.lock.release()
	l.readers.close()
}

// killFull is kill at the moment when the last commit had filled the room.
func killFull(t testing.TB, l *Log) {
	t.Helper()
	kill(l)
	g := l.gens[len(l.gens)-1]
	check(t, os.Truncate(g.segment(), g.bytes))
}

// content recovers the log in dir and returns its commits. It checks the numbers, and closes the log as kill does.
func content(t testing.TB, dir string, o Options) (first uint64, all [][]byte, err error) {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		return 0, nil, err
	}
	defer kill(l)
	err = l.Recover(func(commit uint64, data []byte) error {
		if first == 0 {
			first = commit
		}
		if commit != first+uint64(len(all)) {
			t.Fatalf("commit %d delivered after %d commits from %d", commit, len(all), first)
		}
		all = append(all, bytes.Clone(data))
		return nil
	})
	if err == nil && len(all) > 0 && l.Last() != first+uint64(len(all))-1 {
		t.Fatalf("Last() is %d after %d commits from %d", l.Last(), len(all), first)
	}
	return first, all, err
}

// wantSmall checks that the log in dir holds exactly the small commits from first to last.
func wantSmall(t testing.TB, dir string, first, last uint64) {
	t.Helper()
	got, all, err := content(t, dir, Options{})
	check(t, err)
	checkSmall(t, got, all)
	if got != first || got+uint64(len(all))-1 != last {
		t.Fatalf("commits %d to %d, want %d to %d", got, got+uint64(len(all))-1, first, last)
	}
}

func checkSmall(t testing.TB, first uint64, all [][]byte) {
	t.Helper()
	for i, data := range all {
		if n := first + uint64(i); !bytes.Equal(data, small(n)) {
			t.Fatalf("commit %d delivered wrong", n)
		}
	}
}

// wantDamage checks that err is *Damage in file, at the commit and the byte if they are not 0.
func wantDamage(t testing.TB, err error, file string, commit uint64, offset int64) *Damage {
	t.Helper()
	var d *Damage
	if !errors.As(err, &d) {
		t.Fatalf("%v, want *Damage", err)
	}
	if d.File != file || commit != 0 && d.Commit != commit || offset != 0 && d.Offset != offset || d.Reason == "" {
		t.Fatalf("%v\nwant it at byte %d of %s, commit %d", err, offset, file, commit)
	}
	return d
}

// copyDir copies a log to a new place.
func copyDir(t testing.TB, dir string) string {
	t.Helper()
	to := folder(t)
	check(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// tree lists the files below dir with their content, for comparison.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			fmt.Fprintln(&b, path)
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", path, data)
		return err
	}))
	return b.String()
}

// segment is the path of a generation's file.
func segment(dir string, first uint64) string {
	return filepath.Join(dir, generationName(first), segmentName)
}

// memory is a slog.Handler that keeps what it is told, one line each.
type memory struct {
	mu    sync.Mutex
	lines []string
}

func (m *memory) Enabled(context.Context, slog.Level) bool { return true }
func (m *memory) WithAttrs([]slog.Attr) slog.Handler       { return m }
func (m *memory) WithGroup(string) slog.Handler            { return m }
func (m *memory) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, line)
	return nil
}

// inChild says whether this process is the one that child started.
func inChild() bool { return os.Getenv("DSEND_WAL_CHILD") != "" }

// child prepares to run the test it is called from in a process of its own, where inChild holds and childDir is dir.
func child(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "DSEND_WAL_CHILD="+dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{}
	return cmd
}

func childDir() string { return os.Getenv("DSEND_WAL_CHILD") }

// run runs a child to its end.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stderr = nil
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
