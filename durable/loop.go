package durable

import (
	"errors"
	"fmt"
	"math"
	"time"

	"dsend/durable/queue"
)

// maxCommit is about how many bytes of records one commit has: what more has
// come in goes into the next.
const maxCommit = 1 << 20

// batch is what one commit lets us say.
type batch struct {
	out     queue.Out
	calls   []call
	ops     int
	changed []queue.Info
}

// call is the reply of a Do.
type call struct {
	to    chan<- queue.Reply
	reply queue.Reply
}

// loop is the one owner of state and log. It ends the other goroutines.
func (s *Store) loop() {
	s.cause = s.work()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(s.ending)
	close(s.speech)
	s.stopJanitor()
	s.running.Wait()
	s.err = errors.Join(s.cause, s.log.Close())
	close(s.done)
}

func (s *Store) work() error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	w := worker{Store: s, b: s.fresh()}
	s.state.Begin(s.log.Last()+1, s.now(), &w.b.out)
	for {
		more, err := w.turn()
		if err != nil || w.stopped {
			return err
		}
		if more {
			continue
		}
		timer.Reset(w.patience())
		select {
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// worker is the loop's own state.
type worker struct {
	*Store
	items   []item
	next    int // of items
	b       *batch
	since   int64 // when the oldest record came that nobody waits for; 0 if none
	stopped bool
	views   []func(*queue.State)
}

// turn does what has come in and what is due, and commits if somebody waits
// for it. It tells whether there is more to do at once.
func (w *worker) turn() (more bool, err error) {
	if w.next == len(w.items) {
		w.take()
	}
	now := w.now()
	w.state.Tick(now, &w.b.out)
	for w.next < len(w.items) && len(w.b.out.Records) < maxCommit {
		if err := w.items[w.next].fail; err != nil {
			return false, err
		}
		w.step(w.items[w.next], now)
		w.next++
	}
	w.state.Match(now, &w.b.out)
	if !w.lazy(now) {
		if err := w.commit(); err != nil {
			return false, err
		}
	}
	for _, view := range w.views {
		view(w.state)
	}
	w.views = w.views[:0]
	return w.next < len(w.items), nil
}

// take swaps the inbox for the items that are done.
func (w *worker) take() {
	clear(w.items)
	w.mu.Lock()
	w.items, w.inbox = w.inbox, w.items[:0]
	w.waiting = 0
	w.mu.Unlock()
	w.next = 0
}

func (w *worker) step(i item, now int64) {
	if i.view != nil {
		w.views = append(w.views, i.view)
		return
	}
	w.b.ops++
	n := len(w.b.out.Replies)
	w.state.Step(i.op, now, &w.b.out)
	if i.reply != nil && len(w.b.out.Replies) > n {
		w.b.calls = append(w.b.calls, call{i.reply, w.b.out.Replies[n]})
		w.b.out.Replies = w.b.out.Replies[:n]
	}
	if _, stop := i.op.(*queue.Stop); stop {
		w.stopped = true
	}
}

// lazy tells whether the commit can wait: nobody waits for what is in it, and
// it is not old yet.
func (w *worker) lazy(now int64) bool {
	b := w.b
	switch {
	case !b.out.Quiet() || len(b.calls) > 0 || w.stopped:
		return false
	case b.out.Empty():
		return true
	case len(b.out.Records) >= maxCommit:
		return false
	case w.since == 0:
		w.since = now
	}
	return now-w.since < int64(w.cfg.AckInterval)
}

// patience is how long the loop may sleep.
func (w *worker) patience() time.Duration {
	until := w.state.Next()
	if w.since != 0 {
		until = min(until, w.since+int64(w.cfg.AckInterval))
	}
	if until == math.MaxInt64 {
		return time.Hour
	}
	return time.Duration(max(0, until-w.now()))
}

// commit makes the records durable and hands on what is to be said.
func (w *worker) commit() error {
	b := w.b
	if !b.out.Empty() {
		if err := w.write(b); err != nil {
			return fmt.Errorf("write failed, nothing of it was confirmed: %w", err)
		}
	}
	if b.out.Changed {
		b.changed = w.state.Infos()
	}
	w.usage.add(b.out.Held, b.out.Freed)
	w.since = 0
	w.speech <- b
	w.b = w.fresh()
	w.state.Begin(w.log.Last()+1, w.now(), &w.b.out)
	w.clean()
	return nil
}

func (w *worker) write(b *batch) error {
	if err := w.log.Append(b.out.Records); err != nil {
		return err
	}
	begin := time.Now()
	if err := w.log.Sync(); err != nil {
		return err
	}
	if w.cfg.Observer != nil {
		w.cfg.Observer.Commit(b.ops, len(b.out.Records), time.Since(begin))
	}
	w.cache.add(w.log.Last(), b.out.Records)
	w.usage.grow(w.log.Newest())
	return nil
}

// fresh is an empty batch.
func (s *Store) fresh() *batch {
	select {
	case b := <-s.spare:
		return b
	default:
		return &batch{}
	}
}
