package system

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dsend/testkit"
)

// setup says how to run a server. The zero value is one without a configuration
// file, which creates queues on their first publish.
type setup struct {
	dir    string   // the data folder; empty is a new one
	config string   // YAML; empty is no file
	args   []string // more flags
	env    []string
	listen string // host:port; empty is a port the harness picks
	binary string // path; empty is the usual build
	hubs   []*hub // servers to join by their leafnode ports; none is the one inside
}

// server is a data folder and an address, and the process that serves them now.
type server struct {
	t    testing.TB
	dir  string
	file string // configuration
	args []string
	env  []string
	path string // of the binary
	hubs []*hub
	addr string // empty with hubs
	web  string // host:port of health and metrics
	*process
	runs     []*process
	starting time.Duration // how long the last start took
}

// newServer prepares a server without starting it.
func newServer(t testing.TB, s setup) *server {
	t.Helper()
	v := &server{t: t, dir: s.dir, args: s.args, env: s.env, path: s.binary, addr: s.listen, hubs: s.hubs}
	if v.path == "" {
		v.path = binary(t)
	}
	if v.dir == "" {
		v.dir = filepath.Join(t.TempDir(), "data")
	}
	switch {
	case len(v.hubs) > 0:
		v.env = append(v.env, "DSEND_SERVER_LEAF="+leafURLs(v.hubs))
	case v.addr == "":
		v.addr = testkit.PickAddr(t)
	}
	v.web = testkit.PickAddr(t)
	if s.config != "" {
		v.file = filepath.Join(t.TempDir(), "dsend.yaml")
		v.configure(s.config)
	}
	return v
}

// start starts a server and waits until it is ready. When the test ends it is
// stopped in order, which is part of the test.
func start(t testing.TB, s setup) *server {
	t.Helper()
	v := newServer(t, s)
	t.Cleanup(func() {
		if v.process != nil && v.running() {
			v.stop()
		}
	})
	v.start()
	return v
}

// configure writes the configuration file.
func (s *server) configure(yaml string) {
	s.t.Helper()
	if err := os.WriteFile(s.file, []byte(yaml), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// flags are the arguments of dsend serve.
func (s *server) flags() []string {
	args := []string{"serve", "--data", s.dir, "--http", s.web}
	if len(s.hubs) == 0 {
		args = append(args, "--listen", s.addr)
	}
	if s.file != "" {
		args = append(args, "--file", s.file)
	}
	return append(args, s.args...)
}

// start starts the server, again on the same folder and address if it ran before.
func (s *server) start() {
	s.t.Helper()
	again, begin := s.process != nil, time.Now()
	for {
		s.process = launchBinary(s.t, s.path, s.env, s.flags()...)
		if s.runs = append(s.runs, s.process); len(s.runs) > 3 {
			s.runs[len(s.runs)-4].stale = true
		}
		select {
		case <-s.ready:
			s.starting = time.Since(begin)
			s.addr, s.web = strings.TrimPrefix(s.listen, "nats://"), strings.TrimPrefix(s.http, "http://")
			return
		case <-s.ended:
			if len(s.err.with("address already in use")) == 0 || time.Since(begin) > patience {
				s.t.Fatalf("the server does not start (exit code %d):\n%s", s.cmd.ProcessState.ExitCode(), s.err.last(60))
			}
			if !again { // somebody else was quicker
				s.web = testkit.PickAddr(s.t)
				if s.addr != "" {
					s.addr = testkit.PickAddr(s.t)
				}
			}
		case <-time.After(patience):
			s.t.Fatalf("the server is not ready after %s:\n%s", patience, s.err.last(60))
		}
	}
}

func (s *server) running() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// stopBound is how long an orderly stop may take. An issue says "a few seconds";
// the rest is for machines that are busy, and for the race detector.
const stopBound = 15 * time.Second

// stop ends the server with SIGTERM, which must be in order and soon, and tells
// how long it took.
func (s *server) stop() time.Duration {
	s.t.Helper()
	begin := time.Now()
	s.signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(stopBound):
		s.t.Errorf("the server has not stopped %s after SIGTERM", stopBound)
		s.signal(syscall.SIGQUIT)
		<-s.ended
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("exit code %d (%v) after SIGTERM, want 0:\n%s", code, s.cmd.ProcessState, s.err.last(60))
	}
	return time.Since(begin)
}

// kill ends the server with SIGKILL, if it has not ended by itself.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("kill: %v", err)
	}
	<-s.ended
}

// stumble starts the server and kills it a moment later, most likely before it is
// ready.
func (s *server) stumble(moment time.Duration) {
	s.t.Helper()
	s.process = launch(s.t, s.env, s.flags()...)
	time.Sleep(moment)
	s.kill()
}

// killed waits until something else has killed the server.
func (s *server) killed() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatal("the server was not killed")
	}
}

// restart kills the server and starts it again.
func (s *server) restart() {
	s.t.Helper()
	s.kill()
	s.start()
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Errorf("signal %v: %v", sig, err)
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) url() string {
	if len(s.hubs) > 0 {
		return clientURLs(s.hubs)
	}
	return "nats://" + s.addr
}
