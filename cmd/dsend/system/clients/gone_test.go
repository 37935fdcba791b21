package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// grace is worker_grace, and soon the promise beyond it: what a killed client held is
// with another worker within both of the kill.
const (
	grace = time.Second
	soon  = 200 * time.Millisecond
)

// holders are programs that take a message and hold it, by client.
func holders() map[string]func(testing.TB) *exec.Cmd {
	return map[string]func(testing.TB) *exec.Cmd{
		"nats.go":          func(t testing.TB) *exec.Cmd { return goProgram(t, "./hold", "new") },
		"nats.go, old API": func(t testing.TB) *exec.Cmd { return goProgram(t, "./hold", "old") },
		"nats.js":          func(t testing.TB) *exec.Cmd { return nodeProgram(t, "node/hold.mjs") },
		"nats.c":           func(t testing.TB) *exec.Cmd { return cProgram(t, "c/hold.c") },
	}
}

// goProgram builds a program of these sources.
func goProgram(t testing.TB, pkg string, args ...string) *exec.Cmd {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", binary, pkg).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return exec.CommandContext(t.Context(), binary, args...)
}

// holder is a running program that holds a message.
type holder struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	stdin io.WriteCloser
}

// hold starts a program and waits until it holds a message.
func hold(t testing.TB, cmd *exec.Cmd, url string) *holder {
	t.Helper()
	cmd.Env = environment([]string{"NATS_URL=" + url})
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{cmd: cmd, lines: bufio.NewScanner(out)}
	if h.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // most are over
	h.says(t, "held")
	return h
}

func (h *holder) says(t testing.TB, word string) {
	t.Helper()
	if !h.lines.Scan() || h.lines.Text() != word {
		t.Fatalf("the client says %q (%v), not %s", h.lines.Text(), h.lines.Err(), word)
	}
}

// worker is another worker of the consumer from which a holder takes its message.
type worker struct {
	s *server
	jetstream.Consumer
	js jetstream.JetStream
}

func newWorker(t testing.TB) *worker {
	t.Helper()
	// The retry is at once, so that what is measured is when the client was given up.
	s := serveWith(t, "defaults: {backoff: {list: [0s], jitter: 0}}\n")
	js, err := jetstream.New(s.connect(t))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders.>"}, Retention: jetstream.WorkQueuePolicy})
	if err != nil {
		t.Fatal(err)
	}
	c, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return &worker{s, c, js}
}

func (w *worker) put(t testing.TB) {
	t.Helper()
	if _, err := w.js.Publish(t.Context(), "orders.new", []byte("x")); err != nil {
		t.Fatal(err)
	}
}

// TestKilledClient: what a client held that is killed is with another worker within
// the grace and 200 ms.
func TestKilledClient(t *testing.T) {
	for client, program := range holders() {
		t.Run(client, func(t *testing.T) {
			r := &run{t, client}
			w := newWorker(t)
			r.op("killed: its messages are with another worker", func() error {
				return inTime(func() (wait, error) {
					w.put(t)
					h := hold(t, program(t), w.s.url())
					return w.after(func() error { return h.cmd.Process.Kill() })
				})
			})
		})
	}
	t.Run("nats CLI", func(t *testing.T) {
		r := &run{t, "nats CLI"}
		w := newWorker(t)
		cli := natsCLI(t)
		r.op("killed: its messages are with another worker", func() error {
			return inTime(func() (wait, error) {
				w.put(t)
				cmd := exec.CommandContext(t.Context(), cli, "consumer", "next", "orders", "w", "--no-ack", "--server", w.s.url())
				cmd.Env = environment(nil)
				return w.after(cmd.Run) // it ends without an answer
			})
		})
	})
}

// wait is how long something took: at least since it was over, at most since it began.
type wait struct{ least, most time.Duration }

// after is how long after something was done a message came to another worker, at its
// second attempt.
func (w *worker) after(do func() error) (wait, error) {
	begin := time.Now()
	if err := do(); err != nil {
		return wait{}, err
	}
	end := time.Now()
	m, err := w.Next(jetstream.FetchMaxWait(patience))
	if err != nil {
		return wait{}, err
	}
	took := wait{time.Since(end), time.Since(begin)}
	d, err := m.Metadata()
	if err != nil {
		return wait{}, err
	}
	return took, errors.Join(equal(d.NumDelivered, 2), m.DoubleAck(context.Background()))
}

// inTime measures until it was in time. A measurement that was late does not count if
// the machine was busy meanwhile and did not let this process run; after many of
// those it is told how it was.
func inTime(measure func() (wait, error)) error {
	for try := 1; ; try++ {
		stop := watchStalls()
		took, err := measure()
		stall := stop()
		switch {
		case err != nil:
			return err
		case took.most < grace:
			return fmt.Errorf("it came after %s, within the grace of %s", took.most, grace)
		case took.least <= grace+soon+stall:
			return nil
		case stall < 20*time.Millisecond || try == 5:
			return fmt.Errorf("it came after %s, later than %s (a process stood still for %s)", took.least, grace+soon, stall)
		}
	}
}

// watchStalls watches for how long at most this machine lets a goroutine wait.
func watchStalls() (stop func() time.Duration) {
	const beat = 5 * time.Millisecond
	var worst atomic.Int64
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-tick.C:
				now := time.Now()
				worst.Store(max(worst.Load(), int64(now.Sub(last)-beat)))
				last = now
			case <-done:
				return
			}
		}
	}()
	return func() time.Duration { close(done); <-over; return time.Duration(worst.Load()) }
}

// TestReconnectingClient: a client that was cut off and comes back within the grace
// keeps what it holds, and its ack counts.
func TestReconnectingClient(t *testing.T) {
	for client, program := range holders() {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			r := &run{t, client}
			w := newWorker(t)
			line := newCable(t, w.s.addr)
			r.op("reconnected: it keeps its messages", func() error {
				w.put(t)
				h := hold(t, program(t), "nats://"+line.addr)
				line.cut()
				if err := eventually("the client comes back", func() error { return equal(line.open(), 1) }); err != nil {
					return err
				}
				// Longer than the grace nobody else gets it.
				if m, err := w.Next(jetstream.FetchMaxWait(2 * grace)); err == nil {
					return fmt.Errorf("another worker got %q", m.Data())
				}
				if _, err := io.WriteString(h.stdin, "ack\n"); err != nil {
					return err
				}
				h.says(t, "acked")
				i, err := w.Info(t.Context())
				if err != nil {
					return err
				}
				return errors.Join(equal(i.NumRedelivered, 0), equal(i.NumAckPending, 0), equal(i.NumPending, 0))
			})
		})
	}
}

// cable is a TCP connection to a server that can be cut.
type cable struct {
	addr string
	mu   sync.Mutex
	ends map[net.Conn]net.Conn // the client's and the server's end
}

func newCable(t testing.TB, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{addr: l.Addr().String(), ends: map[net.Conn]net.Conn{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return // the test is over
			}
			running.Go(func() { c.carry(from, to) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); c.cut(); running.Wait() })
	return c
}

// carry moves bytes until one end is closed.
func (c *cable) carry(from net.Conn, addr string) {
	defer from.Close()
	to, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer to.Close()
	c.mu.Lock()
	c.ends[from] = to
	c.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(to, from); _ = to.Close() })
	both.Go(func() { _, _ = io.Copy(from, to); _ = from.Close() })
	both.Wait()
	c.mu.Lock()
	delete(c.ends, from)
	c.mu.Unlock()
}

// cut closes all connections; new ones are carried again.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for from, to := range c.ends {
		_, _ = from.Close(), to.Close()
		delete(c.ends, from)
	}
}

// open is how many connections there are.
func (c *cable) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ends)
}
