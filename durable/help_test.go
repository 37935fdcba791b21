package durable

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"dsend/durable/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a Speaker that remembers what it was told.
type recorder struct {
	mu      sync.Mutex
	replies []queue.Reply
	spoken  []Spoken
	events  []Event
	changed []queue.Info
	calls   int    // of any method
	hear    func() // is called at the end of each
}

func (r *recorder) told(add func()) {
	r.mu.Lock()
	add()
	r.calls++
	hear := r.hear
	r.mu.Unlock()
	if hear != nil {
		hear()
	}
}

func (r *recorder) Replies(all []queue.Reply) {
	r.told(func() { r.replies = append(r.replies, all...) })
}

func (r *recorder) Speak(all []Spoken) {
	r.told(func() {
		for _, s := range all {
			copied := *s.Speech
			s.Speech = &copied
			s.Message = owned(s.Message)
			r.spoken = append(r.spoken, s)
		}
	})
}

// owned is a message of the Store's with bytes of its own.
func owned(m queue.Message) queue.Message {
	m.Subject, m.Header, m.Body = bytes.Clone(m.Subject), bytes.Clone(m.Header), bytes.Clone(m.Body)
	return m
}

func (r *recorder) Events(all []Event) {
	r.told(func() {
		for _, e := range all {
			copied := *e.Event
			e.Event = &copied
			e.Message = owned(e.Message)
			r.events = append(r.events, e)
		}
	})
}

func (r *recorder) Changed(all []queue.Info) {
	r.told(func() { r.changed = append(r.changed, all...) })
}

func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replies, r.spoken, r.events, r.changed = nil, nil, nil, nil
}

func (r *recorder) heard() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

func (r *recorder) answers() []queue.Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.replies)
}

// deliveries gives what was delivered, statuses what else was spoken.
func (r *recorder) deliveries() []Spoken {
	return r.which(func(s Spoken) bool { return s.Status == 0 })
}
func (r *recorder) statuses() []Spoken { return r.which(func(s Spoken) bool { return s.Status != 0 }) }

func (r *recorder) which(want func(Spoken) bool) (some []Spoken) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spoken {
		if want(s) {
			some = append(some, s)
		}
	}
	return some
}

func (r *recorder) kinds() (kinds []queue.Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// config is what most tests open a store with.
func config(r Speaker) Config {
	defaults := queue.Defaults()
	defaults.Backoff.Jitter = 0
	return Config{
		Queue:       queue.Config{AutoCreate: true, Defaults: defaults, Grace: time.Second},
		Speaker:     r,
		AckInterval: 10 * time.Millisecond,
		Cache:       1 << 20,
	}
}

// open opens a store that is closed at the end of the test.
func open(t testing.TB, l Log, edit ...func(*Config)) (*Store, *recorder) {
	t.Helper()
	r := &recorder{}
	cfg := config(r)
	for _, e := range edit {
		e(&cfg)
	}
	s, err := Open(l, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		if m, ok := l.(*memLog); ok {
			m.check(t)
		}
	})
	return s, r
}

// noCache has bodies read from the log; the newest commit alone is in memory.
func noCache(cfg *Config) { cfg.Cache = 0 }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// do does one op that must not be refused.
func do(t testing.TB, s *Store, op queue.Op) queue.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := s.Do(ctx, op)
	must(t, err)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r
}

// publish gives a publish of a body to queue q.
func publish(body string) *queue.Publish {
	return &queue.Publish{Queue: "q", Subject: []byte("dsend.publish.q"), Body: []byte(body), MaxAttempts: -1}
}

// pull gives a request of queue q for up to n messages.
func pull(n int) *queue.Pull {
	return &queue.Pull{Queue: "q", Consumer: queue.PullConsumer, Inbox: "_INBOX.a.1", Peer: "_INBOX.a", Batch: n}
}

// answer gives an answer to a delivery; if it asks for the result it has a
// Reply.
func answer(d Spoken, verb queue.Verb, asks bool) *queue.Answer {
	a := &queue.Answer{QueueID: d.QueueID, Seq: d.Seq, Delivery: d.Delivery, Verb: verb}
	if asks {
		a.Reply = fmt.Append(nil, "ack of ", d.Seq)
	}
	return a
}

func submit(t testing.TB, s *Store, ops ...queue.Op) {
	t.Helper()
	must(t, s.Submit(ops, 0))
}

// fill publishes n bodies and waits for them.
func fill(t testing.TB, s *Store, n int, body func(i int) string) {
	t.Helper()
	for i := range n {
		if i < n-1 {
			submit(t, s, publish(body(i)))
		} else {
			do(t, s, publish(body(i)))
		}
	}
}

// list gives all messages of a queue.
func list(t testing.TB, s *Store, name string) []queue.Entry {
	t.Helper()
	all, err := s.List(t.Context(), queue.List{Queue: name})
	must(t, err)
	return all
}

// sound fails the test if the State contradicts itself.
func sound(t testing.TB, s *Store) {
	t.Helper()
	must(t, s.View(t.Context(), func(state *queue.State) {
		if err := state.Check(); err != nil {
			t.Error(err)
		}
	}))
}

// play runs a test in fake time.
func play(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// soon fails the test if a call that must end does not.
func soon(t testing.TB, what string, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s hangs", what)
	}
}

func sameBody(t testing.TB, got queue.Message, body string) {
	t.Helper()
	if !bytes.Equal(got.Body, []byte(body)) {
		t.Fatalf("body is %.40q, want %.40q", got.Body, body)
	}
}

var background = context.Background()
