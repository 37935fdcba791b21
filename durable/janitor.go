package durable

import (
	"context"
	"log/slog"
	"time"

	"dsend/durable/queue"
)

const (
	// spaceInterval is how often the disk is asked for its room.
	spaceInterval = time.Second
	// carrySize is about how many bytes of messages one Carry takes forward.
	carrySize = 256 << 10
)

// janitor keeps the log small and watches the room on the disk.
func (s *Store) janitor(ctx context.Context) {
	tick := time.NewTicker(spaceInterval)
	defer tick.Stop()
	low := false
	low = s.watchSpace(low)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			low = s.watchSpace(low)
		case g := <-s.sweep:
			if err := s.compact(ctx, g); err != nil && ctx.Err() == nil {
				s.fail(err)
			}
		}
	}
}

// watchSpace tells the State when the disk gets nearly full, and when there is
// room again: a tenth more than the reserve, so that it does not flicker.
func (s *Store) watchSpace(low bool) bool {
	free, err := s.log.Free()
	if err != nil {
		s.cfg.Logger.Warn("cannot ask the disk for its room", "error", err)
		return low
	}
	now := free < s.cfg.Reserve || low && free < s.cfg.Reserve+s.cfg.Reserve/10
	if now != low {
		s.cfg.Logger.Log(context.Background(), slog.LevelWarn, "disk space",
			"refusing_publishes", now, "free_bytes", free, "reserve_bytes", s.cfg.Reserve)
		if s.Submit([]queue.Op{&queue.Space{Low: now}}, 0) != nil {
			return low // closing
		}
	}
	return now
}

// clean has the oldest generation compacted if the log has grown too large.
// Called by the loop.
func (s *Store) clean() {
	if g, want := s.usage.oldest(); want {
		s.usage.busy = true
		s.sweep <- g
	}
}

// compact carries forward what is still needed of the oldest generation, and
// drops it once that is durable. When the last Carry is answered, everything
// that was said before it has been read, so nobody needs the generation.
func (s *Store) compact(ctx context.Context, g Generation) error {
	carry := &queue.Carry{Through: g.Last}
	size := 0
	flush := func() error {
		_, err := s.Do(ctx, carry)
		carry, size = &queue.Carry{Through: g.Last}, 0
		return err
	}
	err := s.log.Scan(g.First, func(commit uint64, data []byte) error {
		for offset, record := range queue.Messages(data) {
			carry.Add(commit, offset, record)
			if size += len(record); size >= carrySize {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	carry.Finish = true
	if err := flush(); err != nil {
		return err
	}
	if err := s.log.Drop(g.First); err != nil {
		return err
	}
	return s.View(ctx, func(*queue.State) { s.usage.drop(); s.clean() })
}
