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
// A message that was given up is delivered again, perhaps many times before the
// first worker answers. Only the first of these deliveries counts, or else a few
// slow messages would look like many.
//
// The zero value has learned nothing. It takes 40 KB at the very most.
type Estimator struct {
	recent, before window
	open           []Open // given up, and not answered yet
	stride         uint64 // of the deliveries given up, each so many is followed
	givenUp        uint64 // since the last that was followed
}

// Open is a delivery that was given up, while its worker may not know.
type Open struct {
	Delivery uint64        // its number
	Spoke    int64         // when the worker last said something, or took it
	Silence  time.Duration // the longest before that
	Deadline int64         // when it was given up
	Again    bool          // the one before of the same message was given up too

	lost   bool   // it will hardly be answered any more
	stands uint64 // for so many
}

const (
	// maxOpen bounds the deliveries that are followed at a time.
	maxOpen = 256
	// lostAfter is how many times its timeout, after the deadline, a worker says
	// nothing until it is taken for dead: one that is slow answers in the end.
	lostAfter = 3
	// lostLeast is how long that takes at the least.
	lostLeast = time.Minute
)

// Answered is told of a delivery that was answered before it was given up.
func (e *Estimator) Answered(hold time.Duration, now int64) {
	e.turn(now)
	e.recent.answered.add(hold, 1)
}

// Cut is told of a delivery whose worker went away: had it stayed, the hold
// would have been longer.
func (e *Estimator) Cut(hold time.Duration, now int64) {
	e.turn(now)
	e.recent.cut.add(hold, 1)
}

// Expired is told of a delivery whose timeout was over, and whether its worker
// was there. If it is answered after all, Late tells the truth.
func (e *Estimator) Expired(o Open, connected bool, now int64) {
	e.turn(now)
	e.recent.expired++
	if connected {
		e.recent.connected++
	}
	if !o.Again {
		e.follow(o, now)
	}
}

// follow waits for the answer to a delivery that was given up.
func (e *Estimator) follow(o Open, now int64) {
	e.bury(now)
	e.stride = max(1, e.stride)
	if len(e.open) < maxOpen/8 {
		e.stride = max(1, e.stride/2)
	}
	if e.givenUp++; e.givenUp < e.stride {
		return
	}
	o.stands, e.givenUp = e.stride, 0
	e.open = append(e.open, o)
	if len(e.open) == maxOpen {
		e.thin()
	}
}

// thin makes room: old ones that are lost anyway, or else half of all, of which
// the other half then stands for two each.
func (e *Estimator) thin() {
	n := 0
	e.open = slices.DeleteFunc(e.open, func(o Open) bool {
		n++
		return o.lost && n <= maxOpen/2
	})
	if len(e.open) < maxOpen {
		return
	}
	half := e.open[:0]
	for i := 0; i < len(e.open); i += 2 {
		o := e.open[i]
		o.stands *= 2
		half = append(half, o)
	}
	e.open = half
	e.stride *= 2
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
	if o.lost {
		w := &e.recent
		w.lost -= min(w.lost, o.stands)
	}
	e.recent.answered.add(o.hold(now), o.stands)
	e.recent.late.add(time.Duration(now-o.Deadline), o.stands)
	return true
}

// bury takes workers for dead that have said nothing for long. What they would
// have needed is not known, and that they never answered is no reason to wait
// longer for others: they do not count, unless they answer after all.
func (e *Estimator) bury(now int64) {
	for i := range e.open {
		o := &e.open[i]
		patience := max(lostLeast, lostAfter*time.Duration(o.Deadline-o.Spoke))
		if !o.lost && now-o.Deadline > int64(patience) {
			o.lost = true
			e.recent.lost += o.stands
		}
	}
}

// credit is how much a delivery that was given up, and not answered yet, counts
// as one that is being worked on: the share of those before that were answered
// in the end.
func (e *Estimator) credit() float64 {
	late := float64(e.recent.late.total() + e.before.late.total())
	lost := float64(e.recent.lost + e.before.lost)
	return (late + 1) / (late + lost + 2)
}

// A window is closed when it is both long and full, or very long. What counts
// is the one that fills and the one before.
const (
	windowLeast = time.Hour
	windowFull  = 5_000
	windowMost  = 24 * time.Hour
)

// window is what was learned in a time.
type window struct {
	began              int64
	answered           histogram // holds
	cut                histogram // what holds were longer than
	late               histogram // by how much answers were late
	expired, connected uint64
	lost               uint64 // never answered
}

// turn begins a new window when it is time.
func (e *Estimator) turn(now int64) {
	w := &e.recent
	if w.began == 0 {
		w.began = now
	}
	age := time.Duration(now - w.began)
	if age < windowLeast || age < windowMost && w.answered.total() < windowFull {
		return
	}
	e.before, e.recent = e.recent, window{began: now}
}
