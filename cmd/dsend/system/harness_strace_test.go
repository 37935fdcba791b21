package system

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tracer is an strace that is attached to a server.
type tracer struct {
	t    testing.TB
	cmd  *exec.Cmd
	log  string // what was traced
	said journal
	done chan struct{}
}

// trace attaches strace to the server and waits until it watches all threads.
func (s *server) trace(t testing.TB, args ...string) *tracer {
	t.Helper()
	path, err := exec.LookPath("strace")
	need(t, err == nil, "strace (apt-get install strace)")
	x := &tracer{t: t, log: filepath.Join(t.TempDir(), "trace"), done: make(chan struct{})}
	x.cmd = exec.Command(path, append([]string{"-f", "-o", x.log, "-p", fmt.Sprint(s.pid())}, args...)...)
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := x.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		x.said.read(stderr)
		_ = x.cmd.Wait() // it ends with what it watches, or as it is told
		close(x.done)
	}()
	t.Cleanup(x.detach)
	eventually(t, "strace watches", func() error {
		if len(x.said.with("attached")) == 0 {
			return fmt.Errorf("strace says: %s", x.said.last(5))
		}
		return nil
	})
	return x
}

// detach leaves the server alone again.
func (x *tracer) detach() {
	_ = x.cmd.Process.Signal(syscall.SIGINT) // it may be over
	<-x.done
}

// calls is how often system calls were traced so far.
func (x *tracer) calls(names ...string) (n int) {
	x.t.Helper()
	text, err := os.ReadFile(x.log)
	if err != nil {
		x.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ") // behind the thread
		for _, name := range names {
			if strings.HasPrefix(strings.TrimSpace(call), name+"(") {
				n++
			}
		}
	}
	return n
}

// slow makes every sync take longer, in µs.
func slow(µs int) []string {
	return []string{"-e", "trace=fsync,fdatasync", "-e", fmt.Sprintf("inject=fsync,fdatasync:delay_enter=%d", µs)}
}

// deadly kills the server at its next sync.
func deadly() []string {
	return []string{"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:signal=SIGKILL"}
}

// syncs only watches them.
func syncs() []string { return []string{"-e", "trace=fsync,fdatasync"} }
