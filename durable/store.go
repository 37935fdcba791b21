package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"dsend/durable/queue"
)

var (
	// ErrBusy is returned by Submit when too much waits for the disk.
	ErrBusy = errors.New("too many publishes wait for the disk")
	// ErrStopped is returned when the store is closing, closed, or has failed;
	// then it is wrapped with the cause.
	ErrStopped = errors.New("the store is stopped")
)

// Store is the queues of a data folder.
type Store struct {
	cfg   Config
	log   Log
	state *queue.State // the loop's
	key   [16]byte     // the State's
	cache *cache
	usage usage // the loop's

	base  time.Time // when the store was opened: monotonic
	epoch int64     // what the State's time was then

	mu      sync.Mutex // guards these
	inbox   []item
	urgent  []item
	waiting int64 // bytes of publishes that are not durable yet
	closed  bool  // nothing is taken any longer
	cause   error // the first failure: nothing is said any longer
	wake    chan struct{}

	speech chan *batch
	unsaid atomic.Int32 // batches that the speaking goroutine has or will have
	voice  voice        // the speaking goroutine's; the loop's while nothing is unsaid
	spare  chan *batch
	reads  chan read
	sweep  chan part // to the compactor: the generation to be compacted

	drops chan part // from it: generations that nobody needs

	held  atomic.Pointer[Hold] // who copies the log; nil if nobody does
	letGo chan struct{}        // to who drops generations: less of the log is held
	stuck atomic.Bool          // it waits for that

	free  atomic.Int64  // bytes the disk had when it was asked, less what was written since
	looks chan struct{} // to the janitor: ask the disk now

	stopHelpers context.CancelFunc // the janitor and the compactor
	running     sync.WaitGroup     // all goroutines but the loop
	ending      chan struct{}      // closed when the loop has ended
	silent      chan struct{}      // closed when the speaking goroutine has ended
	done        chan struct{}      // closed when everything has ended
	err         error              // why; set before that
}

// Open recovers the queues from a log and starts the store. It owns the log
// from then on, also if it fails.
func Open(log Log, cfg Config) (*Store, error) {
	cfg.complete()
	s := &Store{
		cfg: cfg, log: log, state: queue.New(cfg.Queue), cache: newCache(cfg.Cache),
		wake:   make(chan struct{}, 1),
		speech: make(chan *batch, 2), spare: make(chan *batch, 4),
		reads: make(chan read), sweep: make(chan part, 1), drops: make(chan part), letGo: make(chan struct{}, 1), looks: make(chan struct{}, 1),
		ending: make(chan struct{}), silent: make(chan struct{}), done: make(chan struct{}),
	}
	s.voice.Store = s
	if err := s.recover(); err != nil {
		s.cause = err
		return nil, s.closeLog()
	}
	s.start()
	return s, nil
}

// start starts the five goroutines; loop ends the others.
func (s *Store) start() {
	j := janitor{Store: s, ballast: ballast{Ballast: s.cfg.Ballast, logger: s.cfg.Logger}}
	j.watch() // before the first publish
	ctx, cancel := context.WithCancel(context.Background())
	s.stopHelpers = cancel
	s.running.Go(s.speak)
	s.running.Go(func() { j.work(ctx) })
	s.running.Go(func() { compactor{s}.work(ctx) })
	s.running.Go(s.drop)
	go s.loop()
}

// loop is the one owner of state and log. It ends the other goroutines.
func (s *Store) loop() {
	if err := s.work(); err != nil {
		s.fail(err)
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(s.ending)
	close(s.speech)
	s.stopHelpers()
	s.running.Wait()
	s.err = s.closeLog()
	close(s.done)
}

// closeLog closes the log and gives why the store has ended. A log that failed
// says so once more when it is closed: the first time is enough.
func (s *Store) closeLog() error {
	err := s.log.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cause != nil && err != nil && !errors.Is(s.cause, err):
		s.cfg.Logger.Warn("the log did not close well after the failure", "error", err)
	case s.cause == nil && err != nil:
		return fmt.Errorf("close the log: %w", err)
	}
	return s.cause
}

// fail ends the store. The first failure is its cause.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.cause = err
	}
	s.closed = true
	s.ring()
}

// ended is why nothing is taken any longer.
func (s *Store) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal()
}

// refusal is ended, for who has mu.
func (s *Store) refusal() error {
	if s.cause == nil {
		return ErrStopped
	}
	return fmt.Errorf("%w: %w", ErrStopped, s.cause)
}

// Close ends waiting pulls, commits what was taken, and stops. It gives what
// Err gives. A Speaker must not call it.
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

// Done is closed when the store has ended; Err says why.
func (s *Store) Done() <-chan struct{} { return s.done }

// Err is why the store ended: nil after Close, and before it has ended.
func (s *Store) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Key is the secret that tokens are made of.
func (s *Store) Key() [16]byte { return s.key }

// now is the State's time: wall time when the store was opened, and from then
// on what has passed. It does not jump with the wall clock.
func (s *Store) now() int64 { return s.epoch + int64(time.Since(s.base)) }

// Now is the store's time.
func (s *Store) Now() time.Time { return time.Unix(0, s.now()) }
