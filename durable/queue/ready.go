package queue

import "dsend/retry"

// ready is what waits to be delivered: higher priority first, then the lower
// number. Plain messages are runs, the others objects in a heap.
type ready struct {
	lines   [maxPriority + 1]*runs
	objects *retry.Schedule[*message]
	runs    int64 // messages in lines
	blocked int64 // objects that wait behind their key
}

func newReady() ready {
	return ready{objects: retry.NewSchedule(func(m *message) *retry.Deadline { return &m.turn })}
}

func (r *ready) len() int64 { return r.runs + int64(r.objects.Len()) + r.blocked }

// order is the place of a message among the ready ones, as a heap compares it.
func order(priority uint8, seq uint64) int64 {
	return int64(maxPriority-priority)<<56 | int64(seq)
}

func (r *ready) line(priority uint8) *runs {
	if r.lines[priority] == nil {
		r.lines[priority] = &runs{}
	}
	return r.lines[priority]
}

// first finds the plain message or the object that goes first.
func (r *ready) first() (head, bool) {
	h, ok := head{}, false
	if r.runs > 0 {
		for p := maxPriority; p >= 0; p-- {
			line := r.lines[p]
			if line == nil || line.n == 0 {
				continue
			}
			h.priority, ok = uint8(p), true
			h.seq, h.place, h.size, h.at, _ = line.first()
			break
		}
	}
	if m, found := r.objects.Peek(); found && (!ok || m.turn.At() < order(h.priority, h.seq)) {
		return head{seq: m.seq, place: m.place, size: m.size, at: m.at, priority: m.priority, object: m}, true
	}
	return h, ok
}

// head is the next message to deliver; object is nil for a plain one.
type head struct {
	seq      uint64
	place    Place
	size     uint32
	at       int64
	priority uint8
	object   *message
}

// find gives the run that holds a plain message, and its priority.
func (r *ready) find(seq uint64) (*run, uint8, bool) {
	for p, line := range r.lines {
		if line == nil {
			continue
		}
		if b, ok := line.find(seq); ok {
			return b, uint8(p), true
		}
	}
	return nil, 0, false
}

// oldest is the publish time of the oldest ready message, 0 if there is none.
func (q *queue) oldest() int64 {
	at := int64(0)
	consider := func(t int64) {
		if at == 0 || t < at {
			at = t
		}
	}
	for _, line := range q.ready.lines {
		if line == nil {
			continue
		}
		if _, _, _, t, ok := line.first(); ok {
			consider(t)
		}
	}
	for m := range q.ready.objects.All() { // the blocked ones are younger than their head
		consider(m.at)
	}
	return at
}
