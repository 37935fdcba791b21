package durable

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dsend/durable/queue"
)

var (
	// ErrBusy is returned by Submit when too much waits for the disk.
	ErrBusy = errors.New("too many publishes wait for the disk")
	// ErrStopped is returned when the store is closing or closed.
	ErrStopped = errors.New("the store is stopped")
)

// Speaker says what has become durable. It is called from one goroutine, in
// the order of the commits, and must not wait for the network.
type Speaker interface {
	// Replies answers ops that were submitted.
	Replies([]queue.Reply)
	// Speak sends deliveries and statuses, in order.
	Speak([]Spoken)
	// Events tells what happened.
	Events([]Event)
	// Changed tells that queues or settings changed.
	Changed([]queue.Info)
}

// Spoken is a delivery with its message, or a status.
type Spoken struct {
	*queue.Speech
	Message queue.Message
}

// Event is an event; a death comes with its message.
type Event struct {
	*queue.Event
	Message queue.Message
}

// Observer is told of each commit.
type Observer interface {
	// Commit tells how many ops it holds, its bytes, and how long the sync
	// took.
	Commit(ops, bytes int, sync time.Duration)
}

// Config is what a Store needs.
type Config struct {
	Queue       queue.Config
	Speaker     Speaker
	Observer    Observer      // nil is none
	Logger      *slog.Logger  // nil is none
	AckInterval time.Duration // longest wait of a record nobody waits for
	Cache       int64         // bytes of recent commits kept in memory
	MaxWaiting  int64         // bytes that may wait for the disk; 0 is 64 MiB
	Reserve     uint64        // bytes of disk below which publishes are refused
}

// Store is the queues of a data folder.
type Store struct {
	cfg   Config
	log   Log
	state *queue.State
	cache *cache
	usage usage

	base  time.Time // when the store was opened: monotonic
	epoch int64     // what the State's time was then

	mu      sync.Mutex
	inbox   []item
	waiting int64 // bytes of publishes in it
	closed  bool
	wake    chan struct{}

	speech chan *batch
	spare  chan *batch
	reads  chan read
	sweep  chan Generation // to the janitor: the generation to be dropped

	stopJanitor context.CancelFunc
	running     sync.WaitGroup
	ending      chan struct{} // closed when the loop has ended
	cause       error         // why; set before that
	done        chan struct{} // closed when everything has ended
	err         error         // cause, or why the log did not close; set before that
}

// item is an op, or something to do between two commits.
type item struct {
	op    queue.Op
	reply chan queue.Reply // of Do
	view  func(*queue.State)
	fail  error // ends the store
}

// Open recovers the queues from a log and starts the store. It owns the log
// from then on, also if it fails.
func Open(log Log, cfg Config) (*Store, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = 64 << 20
	}
	s := &Store{
		cfg: cfg, log: log, state: queue.New(cfg.Queue), cache: newCache(cfg.Cache),
		wake: make(chan struct{}, 1), ending: make(chan struct{}), done: make(chan struct{}),
		speech: make(chan *batch, 2), spare: make(chan *batch, 4),
		reads: make(chan read), sweep: make(chan Generation, 1),
	}
	if err := s.recover(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stopJanitor = cancel
	s.running.Go(s.speak)
	s.running.Go(func() { s.janitor(ctx) })
	go s.loop()
	return s, nil
}

// recover builds the state from the log and gives a new store its secret.
func (s *Store) recover() error {
	var out queue.Out
	err := s.log.Recover(func(commit uint64, data []byte) error {
		if err := s.state.Recover(commit, data, &out); err != nil {
			return fmt.Errorf("commit %d: %w", commit, err)
		}
		out.Reset()
		return nil
	})
	if err == nil {
		err = s.state.Recovered()
	}
	if err != nil {
		return err
	}
	s.usage = newUsage(s.log.Generations(), s.state.Spans())
	s.base = time.Now()
	s.epoch = max(s.base.UnixNano(), s.state.Now())
	if s.state.Key() == [16]byte{} {
		return s.found()
	}
	return nil
}

// found makes the first commit of a new store.
func (s *Store) found() error {
	var key [16]byte
	if _, err := rand.Read(key[:]); err != nil {
		return err
	}
	var out queue.Out
	s.state.Begin(s.log.Last()+1, s.now(), &out)
	s.state.Found(key, &out)
	if err := s.log.Append(out.Records); err != nil {
		return err
	}
	return s.log.Sync()
}

// now is the State's time: wall time when the store was opened, and from then
// on what has passed. It does not jump with the wall clock.
func (s *Store) now() int64 { return s.epoch + int64(time.Since(s.base)) }

// Now is the store's time.
func (s *Store) Now() time.Time { return time.Unix(0, s.now()) }

// Key is the secret that tokens are made of.
func (s *Store) Key() [16]byte { return s.state.Key() }

// Done is closed when the store has ended; Err says why.
func (s *Store) Done() <-chan struct{} { return s.done }

// Err is why the store ended: nil after Close, ErrStopped before it ended.
func (s *Store) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return ErrStopped
	}
}

// Submit hands ops over, in order. bytes is what the publishes among them hold
// in memory: above the bound of what may wait, nothing is taken and the error
// is ErrBusy. The ops must not be touched until they are answered. Ops without
// publishes (0 bytes) are always taken.
func (s *Store) Submit(ops []queue.Op, bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrStopped
	case bytes > 0 && s.waiting+bytes > s.cfg.MaxWaiting && s.waiting > 0:
		return ErrBusy
	}
	s.waiting += bytes
	for _, op := range ops {
		s.inbox = append(s.inbox, item{op: op})
	}
	s.ring()
	return nil
}

// Do hands one op over and waits for its reply. A refusal is in the reply; the
// error is the store's or ctx's, and then it is not known whether the op was
// done.
func (s *Store) Do(ctx context.Context, op queue.Op) (queue.Reply, error) {
	reply := make(chan queue.Reply, 1)
	if err := s.put(item{op: op, reply: reply}); err != nil {
		return queue.Reply{}, err
	}
	select {
	case r := <-reply:
		return r, nil
	case <-ctx.Done():
		return queue.Reply{}, ctx.Err()
	case <-s.ending:
		return queue.Reply{}, s.ended()
	}
}

// View lets fn read the state between two commits. fn must be quick: all
// queues wait for it.
func (s *Store) View(ctx context.Context, fn func(*queue.State)) error {
	seen := make(chan struct{})
	err := s.put(item{view: func(state *queue.State) {
		defer close(seen)
		if ctx.Err() == nil {
			fn(state)
		}
	}})
	if err != nil {
		return err
	}
	select {
	case <-seen:
		return ctx.Err()
	case <-s.ending:
		return s.ended()
	}
}

func (s *Store) ended() error {
	if s.cause != nil {
		return s.cause
	}
	return ErrStopped
}

func (s *Store) put(i item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrStopped
	}
	s.inbox = append(s.inbox, i)
	s.ring()
	return nil
}

// ring wakes the loop.
func (s *Store) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close ends waiting pulls, commits what was taken, and stops.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.inbox = append(s.inbox, item{op: &queue.Stop{}})
		s.closed = true
		s.ring()
	}
	s.mu.Unlock()
	<-s.done
	return s.err
}
