//go:build linux

package power

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dsend/cmd/dsend/system/crashfs"
	"dsend/testkit"
)

// build makes the binary, once for all tests. It is one without the race detector: what is raced is raced by package system.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(workshop, "dsend")
	if out, err := exec.Command("go", "build", "-o", path, "dsend/cmd/dsend").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build dsend: %w\n%s", err, out)
	}
	return path, nil
})

// serverConfig has nothing happen by itself: a delivery is owned for an hour, also if its worker is gone.
const serverConfig = `
auto_create: true
worker_grace: 1h
storage: {reserve: 0B, cache: 64KiB, slack: 16MiB}
defaults:
  visibility_timeout: 1h
  max_attempts: 2
`

// server is one run of dsend serve, with its data on a disk.
type server struct {
	cmd   *exec.Cmd
	url   string
	ready chan struct{} // closed when it says that it is
	ended chan struct{} // closed when it has ended and all it wrote is read

	mu    sync.Mutex
	lines []string // of stderr
}

// serve starts dsend on a disk. It does not wait until it is ready.
func serve(t testing.TB, dir, config string) *server {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: testkit.PickAddr(t), ready: make(chan struct{}), ended: make(chan struct{})}
	s.cmd = exec.Command(binary, "serve", "--file", config, "--data", filepath.Join(dir, "data"), "--listen", s.url, "--http", "")
	s.url = "nats://" + s.url
	s.cmd.Dir = workshop // not on the disk
	s.cmd.Env = []string{"HOME=" + workshop, "GOTRACEBACK=all"}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for in := bufio.NewScanner(stdout); in.Scan(); {
			if in.Text() == "dsend is ready" {
				close(s.ready)
			}
		}
	})
	reading.Go(func() {
		for in := bufio.NewScanner(stderr); in.Scan(); {
			s.mu.Lock()
			s.lines = append(s.lines, in.Text())
			s.mu.Unlock()
		}
	})
	go func() {
		reading.Wait()
		_ = s.cmd.Wait() // its state says it
		close(s.ended)
	}()
	return s
}

// stderr is what it wrote so far.
func (s *server) stderr() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// said are the lines that contain a text.
func (s *server) said(text string) (found []string) {
	for _, line := range s.stderr() {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// signal sends a signal; a process that is over does not mind.
func (s *server) signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) }

// end waits until it has ended by itself, for so long, or kills it. It gives the exit code; -1 if it was killed.
func (s *server) end(grace time.Duration) int {
	select {
	case <-s.ended:
	case <-time.After(grace):
		s.signal(syscall.SIGKILL)
		<-s.ended
	}
	return s.cmd.ProcessState.ExitCode()
}

// silence is how long a server may say nothing before it counts as standing still.
const silence = 12 * time.Second

// stacks ends a server that stands still, and gives the stacks of its goroutines.
func (s *server) stacks() string {
	s.signal(syscall.SIGQUIT)
	s.end(5 * time.Second)
	return strings.Join(s.stderr(), "\n")
}

// up waits until a server is ready, the power is cut, or the server has ended. The error says that it did not recover.
func (s *server) up(disk *crashfs.Disk) (ready bool, err error) {
	select {
	case <-s.ready:
		return true, nil
	case <-disk.Dark():
		return false, nil
	case <-s.ended:
		if isDark(disk) {
			return false, nil
		}
		return false, fmt.Errorf("the server does not start:\n%s", strings.Join(s.stderr(), "\n"))
	case <-time.After(patience):
		return false, fmt.Errorf("the server does not get ready:\n%s", s.stacks())
	}
}

// connect makes a client that does not come back.
func (s *server) connect() (*nats.Conn, error) {
	return nats.Connect(s.url, nats.NoReconnect(), nats.Timeout(silence), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
}

// alive is a context that ends when the server has ended.
func (s *server) alive() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(background)
	go func() {
		select {
		case <-s.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
