package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"dsend/durable/queue"
)

const (
	// spaceInterval is how often the disk is asked for its room.
	spaceInterval = time.Second
	// doubtInterval is how often a log that is large for the sake of message
	// ids is proven to need them: see usage.start.
	doubtInterval = time.Minute
)

// janitor keeps the log small and watches the room on the disk.
type janitor struct {
	*Store
	low   bool // the State was told that the disk is nearly full
	blind bool // the disk could not be asked last time
}

func (j *janitor) work(ctx context.Context) {
	space, doubt := time.NewTicker(spaceInterval), time.NewTicker(doubtInterval)
	defer space.Stop()
	defer doubt.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-space.C:
			j.watch()
		case <-j.looks:
			j.watch()
		case <-doubt.C:
			_ = j.view(ctx, item{urgent: true, view: func(*queue.State) { j.clean(true) }}) // it is ending, otherwise
		case p := <-j.sweep:
			j.compact(ctx, p)
		}
	}
}

// watch tells the State when the disk gets nearly full, and when there is room
// again: a tenth more than the reserve, so that it does not flicker.
func (j *janitor) watch() {
	free, err := j.log.Free()
	if errors.Is(err, fs.ErrNotExist) {
		j.fail(fmt.Errorf("the log is gone: %w", err))
		return
	}
	if err != nil {
		if !j.blind {
			j.cfg.Logger.Warn("cannot ask the disk for its room", "error", err)
		}
		j.blind = true
		return
	}
	j.blind = false
	j.free.Store(int64(min(free, math.MaxInt64)))
	low := free < j.cfg.Reserve || j.low && free < j.cfg.Reserve+j.cfg.Reserve/10
	if low == j.low || j.put(item{op: &queue.Space{Low: low}, urgent: true}) != nil {
		return
	}
	j.low = low
	if low {
		j.cfg.Logger.Warn("the disk is nearly full: publishes are refused", "free_bytes", free, "reserve_bytes", j.cfg.Reserve)
	} else {
		j.cfg.Logger.Info("the disk has room again: publishes are taken", "free_bytes", free, "reserve_bytes", j.cfg.Reserve)
	}
}

// look has the janitor ask the disk now: what was written since it did so last
// may have used up the room.
func (s *Store) look() {
	select {
	case s.looks <- struct{}{}:
	default:
	}
}
