package durable

import (
	"fmt"
	"math"
	"slices"
	"time"

	"dsend/durable/queue"
)

// worker is the loop's own state.
type worker struct {
	*Store
	items   []item
	next    int // of items
	urgent  []item
	carries []item // that wait for their turn
	closing bool   // nothing comes after these
	b       *batch
	since   int64 // when the oldest record came that nobody waits for; 0 if none
	stopped bool
	views   []func(*queue.State)
}

// work is the loop. The error is why it ended, nil after Close.
func (s *Store) work() error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	w := worker{Store: s, b: s.fresh()}
	s.clean(false)
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

// turn does what has come in and what is due, and commits if somebody waits
// for it. It tells whether there is more to do at once.
func (w *worker) turn() (more bool, err error) {
	if err := w.take(); err != nil {
		return false, err
	}
	now := w.now()
	w.begin(now)
	w.state.Tick(now, &w.b.out)
	w.steps(now)
	w.state.Match(now, &w.b.out)
	if !w.lazy(now) {
		if err := w.commit(); err != nil {
			return false, err
		}
	}
	for i, view := range w.views {
		view(w.state)
		w.views[i] = nil
	}
	w.views = w.views[:0]
	return w.next < len(w.items) && w.room() > 0 || len(w.carries) > 0 && w.usage.hurried(), nil
}

// steps does what is urgent, and of what has come in as much as there is room
// for.
func (w *worker) steps(now int64) {
	w.stepUrgent(now)
	records, before := &w.b.out.Records, len(w.b.out.Records)
	for limit := before + w.room(); w.next < len(w.items) && len(*records) < limit; w.next++ {
		w.step(w.items[w.next], now)
		w.items[w.next] = item{} // what it holds is not held here any longer
	}
	if w.usage.crowded() {
		w.usage.credit -= int64(len(*records) - before)
	}
}

// stepUrgent does what is urgent. What is carried forward waits until it is its
// turn.
func (w *worker) stepUrgent(now int64) {
	for i, urgent := range w.urgent {
		if _, ok := urgent.op.(*queue.Carry); ok {
			w.carries = append(w.carries, urgent)
		} else {
			w.step(urgent, now)
		}
		w.urgent[i] = item{}
	}
	done := 0
	for done < len(w.carries) && w.mayCarry(w.carries[done]) {
		w.step(w.carries[done], now)
		done++
	}
	w.carries = slices.Delete(w.carries, 0, done)
}

// mayCarry tells whether a Carry may be done in this commit: it rides along with
// what has come in, as far as it is due; or goes by itself, when there is no time
// to wait.
func (w *worker) mayCarry(i item) bool {
	switch {
	case i.op.(*queue.Carry).Finish:
		return true
	case w.usage.hurried():
		return w.b.progress.passed < maxDue
	}
	return w.next < len(w.items) && w.b.progress.carried < w.usage.due
}

// room is about how many bytes of records what has come in may make in a
// commit.
func (w *worker) room() int {
	if w.usage.crowded() && !w.closing {
		return int(min(w.usage.credit, maxCommit))
	}
	return maxCommit
}

// take takes what is urgent, and swaps the inbox for the items when they are
// done. The error is a failure outside the loop.
func (w *worker) take() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.urgent, w.Store.urgent = w.Store.urgent, w.urgent[:0]
	w.closing = w.closed
	if w.cause != nil || w.next < len(w.items) {
		return w.cause
	}
	done := w.items[:0]
	if cap(done) > keepItems {
		done = nil
	}
	w.items, w.inbox, w.next = w.inbox, done, 0
	return nil
}

// begin gives a batch that has nothing yet the time: the one that recovery
// will go on from.
func (w *worker) begin(now int64) {
	if out := &w.b.out; out.Empty() {
		out.Records = out.Records[:0]
		w.state.Begin(w.log.Last()+1, now, out)
	}
}

func (w *worker) step(i item, now int64) {
	if i.view != nil {
		w.views = append(w.views, i.view)
		return
	}
	w.b.ops++
	w.b.bytes += i.bytes
	replies, records := len(w.b.out.Replies), len(w.b.out.Records)
	w.state.Step(i.op, now, &w.b.out)
	if i.reply != nil {
		w.b.call(i, replies)
	}
	switch op := i.op.(type) {
	case *queue.Carry:
		p := progress{passed: i.passed, carried: int64(len(w.b.out.Records) - records)}
		if op.Finish {
			p.rest = p.carried
		}
		w.b.progress.add(p)
	case *queue.Space:
		w.usage.tight = op.Low
		w.clean(false)
	case *queue.Stop:
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
	case w.next < len(w.items): // it is full
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
		n := w.log.Last() + 1
		if err := w.write(b); err != nil {
			return fmt.Errorf("commit %d failed, nothing of it was confirmed: %w", n, err)
		}
	}
	for _, name := range b.out.Changed {
		b.changed = append(b.changed, w.nowOf(name))
	}
	w.usage.add(b.out.Held, b.out.Freed)
	w.usage.wrote(int64(len(b.out.Records)) - b.progress.carried)
	if b.progress != (progress{}) {
		w.usage.progress(b.progress)
	}
	w.since = 0
	bytes := b.bytes
	if err := w.handOver(b); err != nil {
		return err
	}
	w.b = w.fresh()
	w.release(bytes)
	w.clean(false)
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
	if left := w.free.Add(-int64(len(b.out.Records))); left < int64(w.cfg.Reserve) {
		w.look()
	}
	w.cache.add(w.log.Last(), b.out.Records, len(b.out.Held) > 0)
	w.usage.grow(w.log.Newest())
	return nil
}

// release notes that publishes do not wait any longer.
func (w *worker) release(bytes int64) {
	if bytes > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting -= bytes
	}
}

// nowOf gives a queue that changed; one that was removed has no number.
func (w *worker) nowOf(name string) queue.Info {
	info, err := w.state.Info(name)
	if err != nil {
		return queue.Info{Name: name}
	}
	return info
}
