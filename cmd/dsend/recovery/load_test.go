package recovery

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dsend/durable"
	"dsend/durable/queue"
	"dsend/durable/wal"

	"github.com/nats-io/nats.go"
)

const messageSize = 256

// window is how many publishes are unanswered at a time.
const window = 4096

// publish publishes n messages, each answered.
func publish(t testing.TB, nc *nats.Conn, n int) {
	t.Helper()
	inbox := nats.NewInbox()
	room, failed := make(chan struct{}, window), make(chan string, 1)
	sub, err := nc.Subscribe(inbox, func(m *nats.Msg) {
		if !strings.Contains(string(m.Data), `"seq"`) || strings.Contains(string(m.Data), `"error"`) {
			select {
			case failed <- string(m.Data):
			default:
			}
		}
		<-room
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	body := make([]byte, messageSize)
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	for i := range n + window { // the last ones wait until all are answered
		select {
		case room <- struct{}{}:
		case why := <-failed:
			t.Fatalf("publish refused: %s", why)
		case <-stuck.C:
			t.Fatalf("%d of %d publishes in %v", i, n, patience)
		}
		if i >= n {
			continue
		}
		if err := nc.PublishRequest("orders.new", inbox, body); err != nil {
			t.Fatal(err)
		}
	}
}

// answered counts the publishes that are answered.
type answered struct{ left chan struct{} }

func (a answered) Replies(all []queue.Reply) {
	for range all {
		<-a.left
	}
}
func (a answered) Changed([]queue.Info)   {}
func (a answered) Speak([]durable.Spoken) {}
func (a answered) Events([]durable.Event) {}

// fill makes the log of a server with n messages, without one. Each waits for
// its time, or for a worker if there is none.
func fill(t testing.TB, dir string, n int, delay time.Duration) {
	t.Helper()
	log, err := wal.Open(filepath.Join(dir, "log"), wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := answered{left: make(chan struct{}, 8*window)}
	s, err := durable.Open(log, durable.Config{Queue: queue.Config{AutoCreate: true, Defaults: queue.Defaults()}, Speaker: a})
	if err != nil {
		t.Fatal(err)
	}
	body, subject := make([]byte, messageSize), []byte("orders.new")
	for done := 0; done < n; {
		ops := make([]queue.Op, min(window, n-done))
		for i := range ops {
			ops[i] = &queue.Publish{Queue: stream, Subject: subject, Body: body, MaxAttempts: -1, Delay: delay}
			a.left <- struct{}{}
		}
		if err := s.Submit(ops, int64(len(ops)*messageSize)); err != nil {
			t.Fatal(err)
		}
		done += len(ops)
	}
	for range cap(a.left) { // all are answered
		a.left <- struct{}{}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
