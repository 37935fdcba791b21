package retry

// Deadline is a time and a place in a Schedule. It lives inside its owner, so
// that finding an owner in a schedule of millions needs no map. The zero value
// is not scheduled.
type Deadline struct {
	at  int64
	pos int // place in the heap, from 1; 0 is nowhere
}

// At returns the time last set, in nanoseconds; also after the deadline was
// popped or removed. It is 0 before the first Set.
func (d *Deadline) At() int64 { return d.at }

// Scheduled reports whether the deadline is in a Schedule.
func (d *Deadline) Scheduled() bool { return d.pos != 0 }
