package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// call is a system call that compaction makes on a file of the log.
type call struct {
	name  string
	paths func(t *testing.T, dir string) []string // nil: on any file
	nth   int
}

// The files of a log, as they are.
func segmentsOf(t *testing.T, dir string) []string { return segments(t, dir) }
func newestOf(t *testing.T, dir string) []string   { return []string{newestSegment(t, dir)} }
func lockOf(_ *testing.T, dir string) []string     { return []string{filepath.Join(dir, "log", "lock")} }
func logOf(_ *testing.T, dir string) []string      { return []string{filepath.Join(dir, "log")} }

func foldersOf(t *testing.T, dir string) (all []string) {
	for _, file := range segments(t, dir) {
		all = append(all, filepath.Dir(file))
	}
	return all
}

// compacting is what compaction does, in order: it reads a generation, carries
// what is needed into the newest one or a new one, notes where the log begins,
// deletes the file and the folder, and syncs.
var compacting = []call{
	{"openat", segmentsOf, 1},
	{"pread64", segmentsOf, 1},
	{"close", segmentsOf, 1},
	{"write", newestOf, 1},
	{"fsync", newestOf, 1},
	{"mkdirat", nil, 1},
	{"pwrite64", lockOf, 1},
	{"pwrite64", lockOf, 2},
	{"fsync", lockOf, 1},
	{"unlinkat", segmentsOf, 1},
	{"unlinkat", foldersOf, 1},
	{"unlinkat", foldersOf, 2}, // a folder takes two: the first one says that it is none
	{"openat", logOf, 1},
	{"fsync", logOf, 1},
	{"fsync", nil, 3},
	{"fsync", nil, 5},
	{"fsync", nil, 7},
}

// arm has the server killed at a call.
func (s *server) arm(t *testing.T, at call) *tracer {
	args := []string{"-e", "trace=" + at.name, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", at.name, at.nth)}
	if at.paths != nil {
		for _, path := range at.paths(t, s.dir) {
			args = append(args, "-P", path)
		}
	}
	return s.trace(t, args...)
}

// churn makes garbage until the server is gone.
func (s *server) churn(t *testing.T, c *client) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := s.process
	go func() { <-run.ended; cancel() }()
	c = c.until(ctx)
	for body := make([]byte, 100<<10); ctx.Err() == nil; {
		for range 10 {
			_ = c.nc.PublishMsg(out{queue: "busy", body: body}.msg())
		}
		_ = c.api("queue.purge", args{"queue": "busy"}, nil)
	}
}

// The server is killed at each system call of compaction, with messages in every
// state in what it carries: nothing is lost, undone or doubled.
func TestK1_CompactionIsKilledAtEachCall(t *testing.T) {
	t.Parallel()
	rounds := 1
	if storm() {
		rounds = 20
	}
	s := start(t, setup{config: parking, args: []string{"--storage-slack", "16MiB", "--storage-reserve", "0"}})
	c := s.connect(t)
	l := newLedger(dice(t), 5*time.Second)
	p := l.park(t, c)
	p.leave() // it comes back by itself
	l.put(t, c, "delayed", 50)
	kills := 0
	defer func() { l.stormRow(t, "kill -9 at a system call of compaction", kills) }()
	for range rounds {
		for _, at := range compacting {
			c.put(t, plain("busy", "")) // the newest generation is being written
			first := oldest(t, s)
			x := s.arm(t, at)
			s.churn(t, c)
			if s.killed(); !s.killedBy(syscall.SIGKILL) || !x.fatal(at.name) {
				t.Fatalf("%s %d: it was not killed there: %v", at.name, at.nth, s.cmd.ProcessState)
			}
			kills++
			s.start()
			c.back(t)
			if err := c.api("queue.purge", args{"queue": "busy"}, nil); err != nil {
				t.Fatal(err)
			}
			l.balance(t, c)
			t.Logf("killed at %s (%d), the log began with commit %d and begins with %d", at.name, at.nth, first, oldest(t, s))
		}
	}
	c.take(t, "delayed", 50)
}

// killedBy tells whether the process has ended by a signal.
func (s *server) killedBy(sig syscall.Signal) bool {
	status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == sig
}

// fatal tells whether the call was the last thing that a thread did.
func (x *tracer) fatal(name string) bool {
	x.t.Helper()
	<-x.done
	text, err := os.ReadFile(x.log)
	if err != nil {
		x.t.Fatal(err)
	}
	return strings.Contains(string(text), name+"(") && strings.Contains(string(text), "killed by SIGKILL")
}
