package durable

import (
	"context"
	"errors"
	"fmt"

	"dsend/durable/queue"
)

const (
	// pieceSize is about how many bytes of messages one Carry looks at.
	pieceSize = 64 << 10
	// convoyLength is how many Carries may be under way.
	convoyLength = 8
)

// clean has the oldest generation compacted if the log has grown too large.
// Called by the loop.
func (s *Store) clean(doubt bool) {
	s.usage.room = s.free.Load()
	p, want := s.usage.start(doubt)
	switch {
	case s.kept(want):
		s.usage.busy, s.usage.doubted = false, false
	case want:
		s.sweep <- p // has room: only one is at work
	}
}

// compactor takes generations out of the log, one at a time.
type compactor struct{ *Store }

func (c compactor) work(ctx context.Context) {
	defer close(c.drops)
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-c.sweep:
			c.compact(ctx, p)
		}
	}
}

// compact takes the oldest generation out of the log. A store that cannot is
// over: its log would grow until the disk is full.
func (c compactor) compact(ctx context.Context, p part) {
	err := c.replace(ctx, p)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrStopped) {
		c.fail(p.failed(err))
	}
}

func (p part) failed(err error) error {
	return fmt.Errorf("compact the log, commits %d to %d: %w", p.first, p.last, err)
}

// replace carries forward what is still needed of a generation, and has it
// dropped once that is durable. When the last Carry is answered, everything that
// was said before it has been read, so nobody needs the generation.
func (c compactor) replace(ctx context.Context, p part) error {
	v := convoy{Store: c.Store, part: p}
	if err := v.carryMessages(ctx); err != nil {
		return err
	}
	if err := v.carryRest(ctx); err != nil {
		return err
	}
	var left int64
	err := c.view(ctx, item{urgent: true, view: func(*queue.State) {
		if left = c.usage.parts[0].live; left == 0 {
			c.clean(c.usage.drop())
		}
	}})
	switch {
	case err != nil:
		return err
	case left != 0:
		return fmt.Errorf("%d bytes of messages were not carried forward", left)
	}
	select {
	case c.drops <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drop removes generations from the disk, which takes some syncs, while the
// compactor is at work on the next one.
func (s *Store) drop() {
	for p := range s.drops {
		if !s.wait(p) {
			break
		}
		if err := s.log.Drop(p.first); err != nil {
			s.fail(p.failed(err))
			break
		}
		_ = s.put(item{urgent: true, view: func(*queue.State) { s.usage.dropped(p) }}) // it is ending, otherwise
	}
	for range s.drops { // the log has failed, or the store ends
	}
}

// convoy is the Carries of a generation. Some are under way at a time, so that
// each commit takes as many as are due.
type convoy struct {
	*Store
	part
	passed  int64              // bytes of the generation that have been gone through
	said    int64              // those of them that were sent along
	replies []chan queue.Reply // that were not waited for yet
}

// send hands a Carry over.
func (c *convoy) send(ctx context.Context, op *queue.Carry) error {
	if len(c.replies) == convoyLength {
		if _, err := c.arrive(ctx); err != nil {
			return err
		}
	}
	reply := make(chan queue.Reply, 1)
	c.replies = append(c.replies, reply)
	sent := item{urgent: true, op: op, reply: reply, passed: c.passed - c.said}
	c.said = c.passed
	return c.put(sent)
}

// arrive waits for the oldest Carry.
func (c *convoy) arrive(ctx context.Context) (queue.Reply, error) {
	r, err := c.await(ctx, c.replies[0])
	c.replies = c.replies[1:]
	return r, err
}

// carryMessages carries the messages of a generation forward, piece by piece.
func (c *convoy) carryMessages(ctx context.Context) error {
	op, size := &queue.Carry{Through: c.last}, 0
	flush := func() error {
		full := op
		op, size = &queue.Carry{Through: c.last}, 0
		return c.send(ctx, full)
	}
	err := c.log.Scan(c.first, func(commit uint64, data []byte) error {
		for offset, record := range queue.Messages(data) {
			op.Add(commit, offset, record)
			if size += len(record); size >= pieceSize {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		c.passed += int64(len(data))
		return nil
	})
	if err != nil || size == 0 {
		return err
	}
	return flush()
}

// carryRest carries forward what is not a message, piece by piece, until nothing
// is left.
func (c *convoy) carryRest(ctx context.Context) error {
	for c.passed = c.bytes; ; {
		if err := c.send(ctx, &queue.Carry{Through: c.last, Finish: true}); err != nil {
			return err
		}
		for len(c.replies) > 1 {
			if _, err := c.arrive(ctx); err != nil {
				return err
			}
		}
		if r, err := c.arrive(ctx); err != nil || !r.More {
			return err
		}
	}
}
