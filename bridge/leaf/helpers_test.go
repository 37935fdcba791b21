package leaf

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
)

// patience is how long a test waits for what must come. It is a limit for failing, never a pause.
const patience = time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runServer starts a real server on the loopback. Ports not set are chosen by it.
func runServer(t testing.TB, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true}
	o.LeafNode = server.LeafNodeOpts{Host: "127.0.0.1", Port: -1}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { stopServer(s) })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	return s
}

func stopServer(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func leafPort(t testing.TB, s *server.Server) int {
	t.Helper()
	v, err := s.Varz(nil)
	if err != nil {
		t.Fatal(err)
	}
	return v.LeafNode.Port
}

func leafAddr(t testing.TB, s *server.Server) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(leafPort(t, s)))
}

// client is an ordinary NATS client.
func client(t testing.TB, s *server.Server, o ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.ClientURL(), o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// got is a Msg, copied.
type got struct{ subject, reply, header, payload string }

// recorder is a Handler that keeps everything; tests wait on it for what must come.
type recorder struct {
	mu     sync.Mutex
	change chan struct{} // closed and made anew at every change
	msgs   []got
	events []Interest // since the last connection began
	story  []string   // everything in order, in a word each
	ups    int
	downs  []error
	onMsgs func([]Msg)
	table  Table
}

func newRecorder() *recorder { return &recorder{change: make(chan struct{})} }

func (r *recorder) note(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.change)
	r.change = make(chan struct{})
}

// answer sets what to do with messages before they are noted.
func (r *recorder) answer(f func([]Msg)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onMsgs = f
}

func (r *recorder) Messages(batch []Msg) {
	r.mu.Lock()
	do := r.onMsgs
	r.mu.Unlock()
	if do != nil {
		do(batch)
	}
	r.note(func() {
		for _, m := range batch {
			r.msgs = append(r.msgs, got{string(m.Subject), string(m.Reply), string(m.Header), string(m.Payload)})
			r.story = append(r.story, "msg "+string(m.Subject))
		}
	})
}

func (r *recorder) Interest(events []Interest) {
	r.note(func() {
		for _, e := range events {
			r.events = append(r.events, e)
			r.story = append(r.story, fmt.Sprintf("%s %s %d", e.Subject, e.Queue, e.Members))
			r.table.Apply(e)
		}
	})
}

func (r *recorder) Connected() {
	r.note(func() { r.ups++; r.story = append(r.story, "connected") })
}

func (r *recorder) Disconnected(err error) {
	r.note(func() {
		r.downs = append(r.downs, err)
		r.story = append(r.story, "disconnected")
		r.events = nil
		r.table.Reset()
	})
}

// wait until the condition holds; it is asked under the recorder's lock.
func (r *recorder) wait(t testing.TB, what string, cond func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		r.mu.Lock()
		ok, change := cond(), r.change
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-change:
		case <-limit.C:
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Fatalf("waited in vain for: %s\nstory: %q\ndowns: %v", what, r.story[max(0, len(r.story)-50):], r.downs)
		}
	}
}

func (r *recorder) waitEvent(t testing.TB, e Interest) {
	t.Helper()
	r.wait(t, fmt.Sprintf("%+v", e), func() bool { return slices.Contains(r.events, e) })
}

// start makes a Conn to addr with a recorder.
func start(t testing.TB, addr string, change func(*Options), subjects ...string) (*Conn, *recorder) {
	t.Helper()
	r := newRecorder()
	o := Options{Addr: addr, Handler: r, Logger: slog.New(slog.DiscardHandler), ReconnectMin: time.Millisecond, ReconnectMax: 20 * time.Millisecond}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range subjects {
		if err := c.Subscribe(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, r
}

// send publishes one message.
func send(t testing.TB, c *Conn, add func(b *Batch) error) {
	t.Helper()
	b := c.NewBatch()
	if err := add(b); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(b); err != nil {
		t.Fatal(err)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lockedBuffer is a log that tests can read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// fake is the server's side of one connection, played by the test.
type fake struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

const fakeInfo = `INFO {"server_id":"F","server_name":"fake","version":"2.15.3","headers":true,"max_payload":1048576,"info_on_connect":true,"client_id":1}`

func (f *fake) say(lines ...string) {
	for _, l := range lines {
		if _, err := io.WriteString(f.conn, l+"\r\n"); err != nil {
			return
		}
	}
}

// expect reads lines until one with the prefix comes and returns it; "" at the end of the connection.
func (f *fake) expect(prefix string) string {
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return ""
		}
		if strings.HasPrefix(line, prefix) {
			return strings.TrimRight(line, "\r\n")
		}
	}
}

// welcome plays the handshake to its end.
func (f *fake) welcome() (connect string) {
	f.say(fakeInfo)
	connect = f.expect("CONNECT ")
	f.expect("PING")
	f.say("PONG")
	f.expect("PING")
	f.say("PONG")
	return connect
}

// dialFake returns a Dial whose n-th connection is played by the n-th script (the last one repeats). Works in a synctest bubble.
func dialFake(t testing.TB, scripts ...func(f *fake)) func(context.Context) (net.Conn, error) {
	n := 0
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	return func(context.Context) (net.Conn, error) {
		script := scripts[min(n, len(scripts)-1)]
		n++
		if script == nil {
			return nil, fmt.Errorf("nobody there")
		}
		ours, theirs := net.Pipe()
		wg.Go(func() {
			defer theirs.Close()
			script(&fake{t: t, conn: theirs, in: bufio.NewReader(theirs)})
		})
		return ours, nil
	}
}
