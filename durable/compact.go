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
	if g, want := s.usage.oldest(doubt); want {
		s.usage.busy = true
		s.sweep <- g // has room: only one is at work
	}
}

// compact takes the oldest generation out of the log. A store that cannot is
// over: its log would grow until the disk is full.
func (j *janitor) compact(ctx context.Context, g Generation) {
	err := j.replace(ctx, g)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrStopped) {
		j.fail(fmt.Errorf("compact the log, commits %d to %d: %w", g.First, g.Last, err))
	}
}

// replace carries forward what is still needed of a generation, and drops it
// once that is durable. When the last Carry is answered, everything that was
// said before it has been read, so nobody needs the generation.
func (j *janitor) replace(ctx context.Context, g Generation) error {
	if err := j.carry(ctx, g); err != nil {
		return err
	}
	// What is not a message goes alone: see worker.step.
	if _, err := j.Do(ctx, &queue.Carry{Through: g.Last, Finish: true}); err != nil {
		return err
	}
	if err := j.log.Drop(g.First); err != nil {
		return err
	}
	return j.View(ctx, func(*queue.State) { j.clean(j.usage.drop()) })
}

// carry carries the messages of a generation forward, a bounded amount per
// commit.
func (j *janitor) carry(ctx context.Context, g Generation) error {
	c, size := &queue.Carry{Through: g.Last}, 0
	flush := func() error {
		full := c
		c, size = &queue.Carry{Through: g.Last}, 0
		_, err := j.Do(ctx, full)
		return err
	}
	err := j.log.Scan(g.First, func(commit uint64, data []byte) error {
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
