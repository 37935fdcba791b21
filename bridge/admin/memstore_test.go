package admin_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"dsend/bridge/admin"
	"dsend/durable/queue"
)

// memStore is a store without a disk: a queue.State, its records in memory, and
// a clock that stands still until it is moved.
type memStore struct {
	mu      sync.Mutex
	state   *queue.State
	now     int64
	commits [][]byte // by number, from 1
	speech  []queue.Speech
	failed  error                                 // what Do and Infos answer
	before  func(ctx context.Context, o queue.Op) // called by Do, without the lock
	reading func(queue.Entry)                     // called by Message, without the lock
	moved   bool                                  // the next Message finds that it moved
}

var _ admin.Store = (*memStore)(nil)

func newMemStore() *memStore {
	defaults := queue.Defaults()
	defaults.MaxAttempts = 1
	return &memStore{
		state:   queue.New(queue.Config{AutoCreate: true, Defaults: defaults, Grace: time.Second}),
		now:     time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC).UnixNano(),
		commits: [][]byte{nil},
	}
}

func (s *memStore) Do(ctx context.Context, op queue.Op) (queue.Reply, error) {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before != nil {
		before(ctx, op)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return queue.Reply{}, err
	}
	if s.failed != nil {
		return queue.Reply{}, s.failed
	}
	return s.step(op), nil
}

// step does one op as a commit of its own.
func (s *memStore) step(op queue.Op) (reply queue.Reply) {
	var out queue.Out
	s.state.Begin(uint64(len(s.commits)), s.now, &out)
	s.state.Tick(s.now, &out)
	s.state.Step(op, s.now, &out)
	s.state.Match(s.now, &out)
	s.commits = append(s.commits, append([]byte(nil), out.Records...))
	s.speech = append(s.speech, out.Speech...)
	if len(out.Replies) > 0 {
		reply = out.Replies[len(out.Replies)-1]
	}
	return reply
}

func (s *memStore) Infos(context.Context) ([]queue.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Infos(), s.failed
}

func (s *memStore) Info(_ context.Context, name string) (queue.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.state.Info(name)
	if err != nil {
		return i, err
	}
	return i, s.failed
}

func (s *memStore) Advice(_ context.Context, name string) (queue.Advice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.state.Advice(name)
	if err != nil {
		return a, err
	}
	return a, s.failed
}

func (s *memStore) List(_ context.Context, l queue.List) ([]queue.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := s.state.List(l)
	if err != nil {
		return nil, err
	}
	return entries, s.failed
}

func (s *memStore) Message(_ context.Context, e queue.Entry) (queue.Message, error) {
	s.mu.Lock()
	reading := s.reading
	s.mu.Unlock()
	if reading != nil {
		reading(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.state.Entry(e.Queue, e.Seq); err != nil {
		return queue.Message{}, err
	}
	if s.moved {
		s.moved = false
		return queue.Message{}, &queue.Error{Code: queue.NoMessage, Text: "moved"}
	}
	record := s.commits[e.Place.Commit][e.Place.Offset:]
	return queue.DecodeMessage(record[:e.Size])
}

func (s *memStore) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Unix(0, s.now)
}

// set changes what the store does, between two requests or in the middle of one.
func (s *memStore) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// pass moves the clock on.
func (s *memStore) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now += int64(d)
	var out queue.Out
	s.state.Begin(uint64(len(s.commits)), s.now, &out)
	s.state.Tick(s.now, &out)
	s.state.Match(s.now, &out)
	s.commits = append(s.commits, append([]byte(nil), out.Records...))
}

// must does an op that is not refused.
func (s *memStore) must(t *testing.T, op queue.Op) queue.Reply {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := s.step(op)
	if reply.Err != nil {
		t.Fatalf("%T: %v", op, reply.Err)
	}
	return reply
}

func (s *memStore) declare(t *testing.T, name string, set func(*queue.Settings)) {
	t.Helper()
	settings := queue.Defaults()
	settings.MaxAttempts = 1
	set(&settings)
	s.must(t, &queue.Declare{Name: name, Settings: settings, Source: queue.FromFile})
}

func (s *memStore) publish(t *testing.T, name, body string, headers ...admin.Header) uint64 {
	t.Helper()
	p := &queue.Publish{
		Queue: name, Subject: []byte("dsend.publish." + name), Body: []byte(body),
		MaxAttempts: -1, Priority: queue.DefaultPriority,
	}
	if len(headers) > 0 {
		p.Header = []byte("NATS/1.0\r\n")
		for _, h := range headers {
			p.Header = append(p.Header, h.Name+": "+h.Value+"\r\n"...)
		}
		p.Header = append(p.Header, "\r\n"...)
	}
	return s.must(t, p).Seq
}

// take pulls n messages of a queue.
func (s *memStore) take(t *testing.T, name string, n int) []queue.Speech {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step(&queue.Interest{Inbox: "in.box", Present: true})
	s.speech = nil
	s.step(&queue.Pull{Queue: name, Consumer: queue.PullConsumer, Inbox: "in.box", Peer: "peer", Batch: n, Expires: time.Hour})
	if len(s.speech) != n {
		t.Fatalf("%d deliveries of %s, want %d", len(s.speech), name, n)
	}
	return s.speech
}

func (s *memStore) answer(t *testing.T, d queue.Speech, verb queue.Verb, text string) {
	t.Helper()
	s.must(t, &queue.Answer{QueueID: d.QueueID, Seq: d.Seq, Delivery: d.Delivery, Verb: verb, Error: text})
}

// die publishes a message that is then terminated with an error.
func (s *memStore) die(t *testing.T, name, body, text string) {
	t.Helper()
	s.publish(t, name, body)
	s.answer(t, s.take(t, name, 1)[0], queue.Term, text)
}
