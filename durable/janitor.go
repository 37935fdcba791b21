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
	// spaceInterval is how often the disk is asked for its room, and
	// lowInterval how often while it is nearly full: others may go on to fill
	// it.
	spaceInterval = time.Second
	lowInterval   = 100 * time.Millisecond
	// doubtInterval is how often a log that is large for the sake of message
	// ids is proven to need them: see usage.start.
	doubtInterval = time.Minute
)

// janitor watches the room on the disk, and the time.
type janitor struct {
	*Store
	ballast ballast
	low     bool // the State was told that the disk is nearly full
	blind   bool // the disk could not be asked last time
}

func (j *janitor) work(ctx context.Context) {
	space, doubt := time.NewTimer(spaceInterval), time.NewTicker(doubtInterval)
	defer space.Stop()
	defer doubt.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-space.C:
			j.watch()
			space.Reset(j.interval())
		case <-j.looks:
			j.watch()
		case <-doubt.C:
			_ = j.view(ctx, item{urgent: true, view: func(*queue.State) { j.clean(true) }}) // it is ending, otherwise
		}
	}
}

func (j *janitor) interval() time.Duration {
	if j.low {
		return lowInterval
	}
	return spaceInterval
}

// watch tells the State when the disk gets nearly full, and when there is room
// again: a tenth more than the reserve, so that it does not flicker. The ballast
// counts as free.
func (j *janitor) watch() {
	free, ok := j.ask()
	if !ok {
		return
	}
	room := free + j.ballast.held()
	j.free.Store(int64(min(room, math.MaxInt64)))
	low := room < j.cfg.Reserve || j.low && room < j.cfg.Reserve+j.cfg.Reserve/10
	j.ballast.trim(free, low)
	if j.low { // there may be room to compact what was too much for it
		_ = j.put(item{urgent: true, view: func(*queue.State) { j.clean(false) }})
	}
	if low == j.low || j.put(item{op: &queue.Space{Low: low}, urgent: true}) != nil {
		return
	}
	j.low = low
	if low {
		j.cfg.Logger.Warn("the disk is nearly full: publishes are refused", "free_bytes", room, "reserve_bytes", j.cfg.Reserve)
	} else {
		j.cfg.Logger.Info("the disk has room again: publishes are taken", "free_bytes", room, "reserve_bytes", j.cfg.Reserve)
	}
}

// ask asks the disk for its room. That it cannot be asked is said once, and
// changes nothing; that the log is gone is the end.
func (j *janitor) ask() (free uint64, ok bool) {
	free, err := j.log.Free()
	if errors.Is(err, fs.ErrNotExist) {
		j.fail(fmt.Errorf("the log is gone: %w", err))
		return 0, false
	}
	if err != nil && !j.blind {
		j.cfg.Logger.Warn("cannot ask the disk for its room", "error", err)
	}
	j.blind = err != nil
	return free, err == nil
}

// look has the janitor ask the disk now: what was written since it did so last
// may have used up the room.
func (s *Store) look() {
	select {
	case s.looks <- struct{}{}:
	default:
	}
}
