package durable

import (
	"context"
	"errors"
	"fmt"

	"dsend/durable/queue"
)

// carrySize is about how many bytes of messages one Carry takes forward.
const carrySize = 256 << 10

// clean has the oldest generation compacted if the log has grown too large.
// Called by the loop.
func (s *Store) clean(doubt bool) {
	if p, want := s.usage.start(doubt); want {
		s.sweep <- p // has room: only one is at work
	}
}

// compact takes the oldest generation out of the log. A store that cannot is
// over: its log would grow until the disk is full.
func (j *janitor) compact(ctx context.Context, p part) {
	err := j.replace(ctx, p)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrStopped) {
		j.fail(fmt.Errorf("compact the log, commits %d to %d: %w", p.first, p.last, err))
	}
}

// replace carries forward what is still needed of a generation, and drops it
// once that is durable. When the last Carry is answered, everything that was
// said before it has been read, so nobody needs the generation.
func (j *janitor) replace(ctx context.Context, p part) error {
	if err := j.carry(ctx, p); err != nil {
		return err
	}
	// What is not a message goes alone: see worker.step.
	if _, err := j.do(ctx, item{urgent: true, op: &queue.Carry{Through: p.last, Finish: true}}); err != nil {
		return err
	}
	var left int64
	err := j.view(ctx, item{urgent: true, view: func(*queue.State) {
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
	return j.log.Drop(p.first)
}

// carry carries the messages of a generation forward, a bounded amount per
// commit.
func (j *janitor) carry(ctx context.Context, p part) error {
	c, size := &queue.Carry{Through: p.last}, 0
	flush := func() error {
		full := c
		c, size = &queue.Carry{Through: p.last}, 0
		_, err := j.do(ctx, item{urgent: true, op: full})
		return err
	}
	err := j.log.Scan(p.first, func(commit uint64, data []byte) error {
		for offset, record := range queue.Messages(data) {
			c.Add(commit, offset, record)
			if size += len(record); size >= carrySize {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil || size == 0 {
		return err
	}
	return flush()
}
