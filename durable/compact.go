package durable

import (
	"context"
	"errors"
	"fmt"

	"dsend/durable/queue"
)

// One Carry takes about so many bytes of messages forward: see usage.carrySize.
const (
	minCarry = 64 << 10
	maxCarry = 256 << 10
)

// task is a generation to be compacted.
type task struct {
	part
	carrySize int
}

// clean has the oldest generation compacted if the log has grown too large.
// Called by the loop.
func (s *Store) clean(doubt bool) {
	s.usage.room = s.free.Load()
	if p, want := s.usage.start(doubt); want {
		s.sweep <- task{p, s.usage.carrySize()} // has room: only one is at work
	}
}

// compact takes the oldest generation out of the log. A store that cannot is
// over: its log would grow until the disk is full.
func (j *janitor) compact(ctx context.Context, t task) {
	err := j.replace(ctx, t)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrStopped) {
		j.fail(fmt.Errorf("compact the log, commits %d to %d: %w", t.first, t.last, err))
	}
}

// replace carries forward what is still needed of a generation, and drops it
// once that is durable. When the last Carry is answered, everything that was
// said before it has been read, so nobody needs the generation.
func (j *janitor) replace(ctx context.Context, t task) error {
	passed, err := j.carryMessages(ctx, t)
	if err != nil {
		return err
	}
	if err := j.carryRest(ctx, t, t.bytes-passed); err != nil {
		return err
	}
	var left int64
	err = j.view(ctx, item{urgent: true, view: func(*queue.State) {
		if left = j.usage.parts[0].live; left == 0 {
			j.clean(j.usage.drop())
		}
	}})
	switch {
	case err != nil:
		return err
	case left != 0:
		return fmt.Errorf("%d bytes of messages were not carried forward", left)
	}
	return j.log.Drop(t.first)
}

// carryMessages carries the messages of a generation forward, a bounded amount
// per commit, and tells how many bytes of it that has passed.
func (j *janitor) carryMessages(ctx context.Context, t task) (passed int64, err error) {
	c, size, before := &queue.Carry{Through: t.last}, 0, int64(0)
	flush := func() error {
		full := item{urgent: true, op: c, passed: passed - before}
		c, size, before = &queue.Carry{Through: t.last}, 0, passed
		_, err := j.do(ctx, full)
		return err
	}
	err = j.log.Scan(t.first, func(commit uint64, data []byte) error {
		for offset, record := range queue.Messages(data) {
			c.Add(commit, offset, record)
			if size += len(record); size >= t.carrySize {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		passed += int64(len(data))
		return nil
	})
	if err != nil || size == 0 {
		return before, err
	}
	return passed, flush()
}

// carryRest carries forward what is not a message, a bounded amount per commit
// until nothing is left. passed is what the messages have left of the
// generation.
func (j *janitor) carryRest(ctx context.Context, t task, passed int64) error {
	for {
		r, err := j.do(ctx, item{urgent: true, op: &queue.Carry{Through: t.last, Finish: true}, passed: passed})
		if err != nil || !r.More {
			return err
		}
		passed = 0
	}
}
