package clients

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dsend/testkit"
)

// patience is a limit for failures, nothing ever waits for it to pass.
const patience = 60 * time.Second

// workshop is where programs are built.
var workshop string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dsend-clients-")
	if err != nil {
		panic(err)
	}
	workshop = dir
	code := m.Run()
	if err := matrix.write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// dsend makes the binary, once for all tests.
var dsend = sync.OnceValues(func() (string, error) {
	path := filepath.Join(workshop, "dsend")
	args := []string{"build", "-o", path}
	if raced {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "dsend/cmd/dsend")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build dsend: %w\n%s", err, out)
	}
	return path, nil
})

// server is a data folder and an address, and the process that serves them.
type server struct {
	t    testing.TB
	dir  string
	addr string
	cmd  *exec.Cmd
	log  *bytes.Buffer
}

// config makes retries quick, and lets clients make the queues.
const config = `
auto_create: true
defaults: {backoff: {list: [100ms], jitter: 0}, max_attempts: 3}
`

// serve starts a server, which is stopped when the test ends.
func serve(t testing.TB) *server {
	t.Helper()
	return serveWith(t, config)
}

func serveWith(t testing.TB, config string) *server {
	t.Helper()
	s := &server{t: t, dir: t.TempDir(), addr: testkit.PickAddr(t)}
	if err := os.WriteFile(s.file(), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the server says\n%s", s.log)
		}
	})
	return s
}

func (s *server) file() string { return filepath.Join(s.dir, "dsend.yaml") }

// start starts the process and waits until it is ready.
func (s *server) start() {
	s.t.Helper()
	path, err := dsend()
	if err != nil {
		s.t.Fatal(err)
	}
	s.log = &bytes.Buffer{}
	s.cmd = exec.Command(path, "serve", "--file", s.file(), "--data", filepath.Join(s.dir, "data"), "--listen", s.addr, "--http", "")
	s.cmd.Env = environment(nil)
	s.cmd.Stderr = s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == "try" { // the end of its banner
			go io.Copy(io.Discard, out) //nolint:errcheck // ends with the process
			return
		}
	}
	s.t.Fatalf("the server does not start:\n%s", s.log)
}

// kill ends the process with SIGKILL, if it runs.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("kill: %v", err)
	}
	_ = s.cmd.Wait() // its state says it
}

// restart kills the server and starts it again.
func (s *server) restart() {
	s.t.Helper()
	s.kill()
	if state := s.cmd.ProcessState.Sys().(syscall.WaitStatus); state.Signal() != syscall.SIGKILL {
		s.t.Errorf("the server was not killed: %v", s.cmd.ProcessState)
	}
	s.start()
}

func (s *server) url() string { return "nats://" + s.addr }

// connect makes a client as a program makes it: by default it comes back by itself.
func (s *server) connect(t testing.TB, more ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.url(), append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.Timeout(patience),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// environment is that of the test without what would reach into dsend and the nats
// command line.
func environment(more []string) (env []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "DSEND_") && !strings.HasPrefix(e, "NATS_") && !strings.HasPrefix(e, "XDG_") {
			env = append(env, e)
		}
	}
	return append(append(env, "XDG_CONFIG_HOME="+workshop), more...)
}

// need skips a test for want of a tool, or fails it where all is required.
func need(t testing.TB, have bool, install string) {
	t.Helper()
	testkit.Need(t, have, install)
}

// eventually polls until a condition holds: until it returns nil.
func eventually(what string, holds func() error) error {
	pause, begin := 2*time.Millisecond, time.Now()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("%s: not so after %s: %w", what, patience, err)
		}
		time.Sleep(pause)
		pause = min(2*pause, 100*time.Millisecond)
	}
}
