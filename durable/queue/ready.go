package queue

import "dsend/retry"

// ready is what waits to be delivered: higher priority first, then the lower
// number.
type ready struct {
	lanes   [maxPriority + 1]*lane // nil until it is used
	runs    int64                  // plain messages
	objects int64                  // objects that are ready
	blocked int64                  // objects that wait behind their key
}

// lane is what waits in one priority: plain messages as runs, the others as
// objects in a heap.
type lane struct {
	plain   runs
	objects *retry.Schedule[*message]
}

func (r *ready) len() int64 { return r.runs + r.objects + r.blocked }

func (r *ready) lane(priority uint8) *lane {
	l := r.lanes[priority]
	if l == nil {
		l = &lane{objects: bySeq()}
		r.lanes[priority] = l
	}
	return l
}

// bySeq is a heap of messages that wait, the lowest number first.
func bySeq() *retry.Schedule[*message] {
	return retry.NewSchedule(func(m *message) *retry.Deadline { return &m.turn })
}

// push lets a plain message wait.
func (r *ready) push(priority uint8, b run) {
	r.lane(priority).plain.push(b)
	r.runs++
}

// move gives a plain message, as a run of one, another place; the caller has
// found it there.
func (r *ready) move(priority uint8, b run) { r.lanes[priority].plain.move(b) }

// pull takes a plain message out; the caller has found it there.
func (r *ready) pull(priority uint8, seq uint64) {
	r.lanes[priority].plain.remove(seq)
	r.runs--
}

// pop takes the first n plain messages of a priority out, which are in one run.
func (r *ready) pop(priority uint8, n uint32) {
	r.lanes[priority].plain.pop(n)
	r.runs -= int64(n)
}

// add lets an object wait.
func (r *ready) add(m *message) {
	r.lane(m.priority).objects.Set(m, int64(m.seq))
	r.objects++
}

// remove takes an object out that waits.
func (r *ready) remove(m *message) {
	r.lanes[m.priority].objects.Remove(m)
	r.objects--
}

// head is the next message to deliver; object is nil for a plain one.
type head struct {
	seq    uint64
	size   uint32
	at     int64
	object *message
}

// first finds the message that goes first.
func (r *ready) first() (head, bool) {
	if r.runs+r.objects == 0 {
		return head{}, false
	}
	for p := maxPriority; p >= 0; p-- {
		if l := r.lanes[p]; l != nil {
			if h, ok := l.first(); ok {
				return h, true
			}
		}
	}
	return head{}, false
}

func (l *lane) first() (head, bool) {
	m, found := l.objects.Peek()
	b, ok := l.plain.head()
	if found && (!ok || m.seq < b.seq) {
		return head{seq: m.seq, size: m.size, at: m.since, object: m}, true
	}
	return head{seq: b.seq, size: b.size, at: b.at}, ok
}

// find gives the run that holds a plain message, and its priority.
func (r *ready) find(seq uint64) (run, uint8, bool) {
	if r.runs == 0 {
		return run{}, 0, false
	}
	for p, l := range r.lanes {
		if l == nil {
			continue
		}
		if b, ok := l.plain.find(seq); ok {
			return b, uint8(p), true
		}
	}
	return run{}, 0, false
}

// oldestPlain is the plain message that expires first, and its publish time.
func (r *ready) oldestPlain() (seq uint64, at int64, ok bool) {
	if r.runs == 0 {
		return 0, 0, false
	}
	for _, l := range r.lanes {
		if l == nil {
			continue
		}
		if b, found := l.plain.head(); found && (!ok || b.seq < seq) {
			seq, at, ok = b.seq, b.at, true
		}
	}
	return seq, at, ok
}

// oldest is when the life of the oldest ready message began, 0 if there is
// none. In a lane that is the one with the lowest number. Those that wait
// behind their key are not looked at.
func (r *ready) oldest() int64 {
	at := int64(0)
	for _, l := range r.lanes {
		if l == nil {
			continue
		}
		if h, ok := l.first(); ok && (at == 0 || h.at < at) {
			at = h.at
		}
	}
	return at
}
