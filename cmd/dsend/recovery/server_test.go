package recovery

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dsend/testkit"
)

const (
	// patience is how long anything may take that is not measured.
	patience = 10 * time.Minute
	// look is how often it is asked whether a server is there.
	look = 2 * time.Millisecond

	stream = "orders"
)

// contender is a server that keeps messages in a folder.
type contender struct {
	name string
	dir  string
	port int
	web  string // host:port of health; empty of JetStream
	cmd  *exec.Cmd
	said bytes.Buffer
}

func newDsend(t testing.TB) *contender {
	return &contender{name: "dsend", dir: filepath.Join(t.TempDir(), "data"), port: pickPort(t), web: testkit.PickAddr(t)}
}

func newJetStream(t testing.TB) *contender {
	return &contender{name: "jetstream", dir: t.TempDir(), port: pickPort(t)}
}

func pickPort(t testing.TB) int {
	t.Helper()
	addr, err := netip.ParseAddrPort(testkit.PickAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	return int(addr.Port())
}

func (c *contender) url() string { return fmt.Sprint("nats://127.0.0.1:", c.port) }

// start starts the process, and does not wait until it is ready.
func (c *contender) start(t testing.TB) {
	t.Helper()
	if c.web != "" {
		c.cmd = exec.Command(program, "serve", "--data", c.dir, "--listen", c.url()[len("nats://"):], "--http", c.web)
	} else {
		c.cmd = exec.Command(os.Args[0])
		c.cmd.Env = append(os.Environ(), jetStreamDir+"="+c.dir, fmt.Sprintf("%s=%d", jetStreamPort, c.port))
	}
	c.said.Reset()
	c.cmd.Stderr = &c.said
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
}

// kill is kill -9.
func (c *contender) kill() {
	if c.cmd != nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		c.cmd = nil
	}
}

// connect gives a connection as soon as there is one.
func (c *contender) connect(t testing.TB) *nats.Conn {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(look) {
		if nc, err := nats.Connect(c.url(), nats.NoReconnect()); err == nil {
			t.Cleanup(nc.Close)
			return nc
		}
	}
	t.Fatalf("%s does not take a connection:\n%s", c.name, c.said.String())
	return nil
}

// holds waits until the server tells that it has n messages.
func (c *contender) holds(t testing.TB, nc *nats.Conn, n uint64) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(look) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		s, err := js.Stream(ctx, stream)
		cancel()
		switch {
		case err != nil:
			last = err.Error()
		case s.CachedInfo().State.Msgs == n:
			return
		default:
			last = fmt.Sprint(s.CachedInfo().State.Msgs, " messages")
		}
	}
	t.Fatalf("%s has not %d messages (%s):\n%s", c.name, n, last, c.said.String())
}

// makeStream makes the work queue.
func (c *contender) makeStream(t testing.TB, nc *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(look) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, last = js.CreateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{"orders.new"}, Retention: jetstream.WorkQueuePolicy})
		cancel()
		if last == nil {
			return
		}
	}
	t.Fatal(last)
}

// resident is the memory of the process in bytes.
func (c *contender) resident(t testing.TB) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		testkit.Need(t, false, "/proc, as Linux has it: "+err.Error())
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib * 1024
}
