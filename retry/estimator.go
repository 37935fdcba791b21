package retry

import (
	"slices"
	"time"
)

// Estimator learns from the deliveries of a queue how long its visibility
// timeout should be. It looks at holds: the hold of a delivery is the longest
// time it stays unanswered, from the hand-over to the answer; where the worker
// says "in progress" it is the longest of the silences in between. That is what
// the timeout has to be above for the delivery not to be repeated.
//
// The zero value has learned nothing.
type Estimator struct {
	recent, before window
	open           []Open // given up, and not answered yet
}

// Open is a delivery that was given up, while its worker may not know.
type Open struct {
	Delivery uint64        // its number
	Spoke    int64         // when the worker last said something, or took it
	Silence  time.Duration // the longest before that
	Deadline int64

	expired bool
	given   time.Duration // the hold that is known of so far
	counted uint32        // the window that counts it
}

const (
	// maxOpen bounds the deliveries that are waited for one by one. Others stay
	// what they are when they are given up: holds that were longer than that.
	maxOpen = 256
	// openFor is how many times its timeout, after the deadline, a delivery is
	// waited for: a worker that is slow answers in the end, one that says nothing
	// for so long is dead.
	openFor = 10
	// openLeast is how long it is waited for at the least.
	openLeast = time.Minute
)

// Answered is told of a delivery that was answered before it was given up.
func (e *Estimator) Answered(hold time.Duration, now int64) {
	e.turn(now)
	e.recent.answered.add(hold)
}

// Cut is told of a delivery whose worker went away: had it stayed, the hold
// would have been longer.
func (e *Estimator) Cut(hold time.Duration, now int64) {
	e.turn(now)
	e.recent.cut.add(hold)
}

// Expired is told of a delivery whose timeout was over, and whether its worker
// was there. If it is answered after all, Late tells the truth.
func (e *Estimator) Expired(o Open, connected bool, now int64) {
	e.turn(now)
	e.recent.expired++
	if connected {
		e.recent.connected++
	}
	o.expired = true
	e.follow(o, o.Deadline, now)
}

// Superseded is told of a delivery that was in time when an earlier one of the
// same message was acked: its worker is still at it.
func (e *Estimator) Superseded(o Open, now int64) {
	e.turn(now)
	e.follow(o, now, now)
}

// follow counts a delivery as one that is held for longer than until at, until
// more is known.
func (e *Estimator) follow(o Open, at, now int64) {
	e.forget(now)
	o.given, o.counted = o.hold(at), e.recent.number
	e.recent.cut.add(o.given)
	if len(e.open) < maxOpen {
		e.open = append(e.open, o)
	}
}

// hold is the hold of a delivery that is answered at a time.
func (o *Open) hold(at int64) time.Duration {
	return max(o.Silence, time.Duration(at-o.Spoke))
}

// Late is told of an answer to a delivery that was given up before, and reports
// whether it was still waited for.
func (e *Estimator) Late(delivery uint64, now int64) bool {
	i := slices.IndexFunc(e.open, func(o Open) bool { return o.Delivery == delivery })
	if i < 0 {
		return false
	}
	e.turn(now)
	o := e.open[i]
	e.open = slices.Delete(e.open, i, i+1)
	e.uncut(o)
	e.recent.answered.add(o.hold(now))
	if now > o.Deadline {
		e.recent.late.add(time.Duration(now - o.Deadline))
	}
	return true
}

// forget gives up on answers that will not come. What those workers would have
// needed is not known, and that they never answered is no reason to wait longer
// for others: they do not count.
func (e *Estimator) forget(now int64) {
	e.open = slices.DeleteFunc(e.open, func(o Open) bool {
		patience := max(openLeast, openFor*time.Duration(o.Deadline-o.Spoke))
		if now-o.Deadline <= int64(patience) {
			return false
		}
		e.uncut(o)
		if o.expired {
			e.recent.lost++
		}
		return true
	})
}

// uncut takes back that a delivery is held for longer.
func (e *Estimator) uncut(o Open) {
	for _, w := range []*window{&e.recent, &e.before} {
		if w.number == o.counted {
			w.cut.remove(o.given)
		}
	}
}

// A window is closed when it is both long and full, or very long. What counts
// is the one that fills and the one before.
const (
	windowLeast = time.Hour
	windowFull  = 10_000
	windowMost  = 24 * time.Hour
)

// window is what was learned in a time.
type window struct {
	number             uint32
	began              int64
	answered           histogram // holds
	cut                histogram // what holds were longer than
	late               histogram // by how much answers were late
	expired, connected uint64
	lost               uint64
}

// turn begins a new window when it is time.
func (e *Estimator) turn(now int64) {
	w := &e.recent
	if w.began == 0 {
		w.began = now
		w.number = 1
	}
	age := time.Duration(now - w.began)
	if age < windowLeast || age < windowMost && w.answered.total() < windowFull {
		return
	}
	e.before, e.recent = e.recent, window{number: w.number + 1, began: now}
}
