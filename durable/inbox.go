package durable

import (
	"context"
	"slices"
	"sync/atomic"

	"dsend/durable/queue"
)

// item is an op, or something to do between two commits.
type item struct {
	op     queue.Op
	bytes  int64              // of the publishes that were submitted with it
	passed int64              // bytes of the log that a Carry is the end of
	reply  chan<- queue.Reply // of Do
	view   func(*queue.State)
	urgent bool // goes before what has come in: compaction's, which that may be waiting for
}

// keepItems is up to how many items an inbox keeps its memory: more is given
// back after a burst.
const keepItems = 16 << 10

// Submit hands ops over, in order. bytes is what the publishes among them hold
// in memory: above the bound of what may wait, nothing is taken and the error
// is ErrBusy. The ops must not be touched until they are answered. Ops without
// publishes (0 bytes) are always taken.
//
// After Close or a failure the error is ErrStopped, wrapped with the cause.
// Ops that were taken before a failure may never be answered: see Done.
func (s *Store) Submit(ops []queue.Op, bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return s.refusal()
	case bytes > 0 && s.waiting+bytes > s.cfg.MaxWaiting && s.waiting > 0:
		return ErrBusy
	case len(ops) == 0:
		return nil
	}
	s.waiting += bytes
	s.inbox = slices.Grow(s.inbox, len(ops))
	for _, op := range ops {
		s.inbox = append(s.inbox, item{op: op})
	}
	s.inbox[len(s.inbox)-1].bytes = bytes
	s.ring()
	return nil
}

// Do hands one op over and waits until it is durable, for its reply; that of
// an op that has none says that it was done. A refusal is in the reply. The
// error is ctx's, or ErrStopped with its cause; then it is not known whether
// the op was done, and it must not be touched any more.
func (s *Store) Do(ctx context.Context, op queue.Op) (queue.Reply, error) {
	return s.do(ctx, item{op: op})
}

func (s *Store) do(ctx context.Context, i item) (queue.Reply, error) {
	if err := ctx.Err(); err != nil {
		return queue.Reply{}, err
	}
	reply := make(chan queue.Reply, 1)
	i.reply = reply
	if err := s.put(i); err != nil {
		return queue.Reply{}, err
	}
	return s.await(ctx, reply)
}

// await waits for the reply of an op that was handed over.
func (s *Store) await(ctx context.Context, reply <-chan queue.Reply) (queue.Reply, error) {
	select {
	case r := <-reply:
		return r, nil
	case <-ctx.Done():
		return queue.Reply{}, ctx.Err()
	case <-s.silent:
	}
	select { // it may have been the last thing that was said
	case r := <-reply:
		return r, nil
	default:
		return queue.Reply{}, s.ended()
	}
}

// View lets fn read the state between two commits. fn must be quick: all
// queues wait for it. What it sees is durable, but for plain acks, which
// become so within AckInterval. The error is ctx's, or ErrStopped with its
// cause; then fn was not called, and will not be.
func (s *Store) View(ctx context.Context, fn func(*queue.State)) error {
	return s.view(ctx, item{view: fn})
}

func (s *Store) view(ctx context.Context, i item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var taken atomic.Bool // by the loop, or by a caller who does not wait any longer
	fn, seen := i.view, make(chan struct{})
	i.view = func(state *queue.State) {
		if taken.CompareAndSwap(false, true) {
			fn(state)
			close(seen)
		}
	}
	if err := s.put(i); err != nil {
		return err
	}
	select {
	case <-seen:
		return nil
	case <-ctx.Done():
		if taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-seen
		return nil
	case <-s.ending:
	}
	select {
	case <-seen:
		return nil
	default:
		return s.ended()
	}
}

func (s *Store) put(i item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.refusal()
	}
	if i.urgent {
		s.urgent = append(s.urgent, i)
	} else {
		s.inbox = append(s.inbox, i)
	}
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
