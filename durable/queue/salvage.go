package queue

import (
	"cmp"
	"maps"
	"slices"
)

// Salvage recovers a State from a log of which commits are lost, and knows what
// that cost.
//
//	Recover, Lose, Recover, …  the log, in order
//	Losses                     what cannot be known any more
//	Mend                       records that make the State whole, for a commit
//	                           behind all others
//
// What was published in a commit is told from what was carried into it by their
// times: a commit begins later than the one before ended, which was synced
// meanwhile.
//
// Numbers are what the losses are told from: a queue gives them out one by one,
// so where they go on behind lost commits says what was in these. And what was
// spoken of must be there, be done, or be carried forward: else it is lost.
type Salvage struct {
	state  *State
	out    Out
	lost   uint64 // how many commits
	hole   uint64 // the last one of them
	traces map[uint32]*trace
	seen   map[identity]bool // messages that records behind the last lost commit speak of
	called map[uint32]string // what letters say queues are called
	graves map[uint32]uint32 // by dead-letter queue, a queue whose letters it has
	names  map[uint32]string // see name
}

// trace is what the log says of the numbers of a queue.
type trace struct {
	exact   bool   // State.next was known exactly before the last hole, or is since
	current bool   // it is since
	next    uint64 // what it would give next, by records of messages that are nowhere
	removed string // its name, if that went to another queue
	lost    numbers
	unsure  numbers
}

// NewSalvage begins with an empty State.
func NewSalvage(cfg Config) *Salvage {
	return &Salvage{
		state: New(cfg), traces: map[uint32]*trace{}, seen: map[identity]bool{},
		called: map[uint32]string{}, graves: map[uint32]uint32{},
	}
}

// State is what was recovered. It may be used after Mend.
func (v *Salvage) State() *State { return v.state }

// Lose notes that the commits from first to last, which come next, are lost.
func (v *Salvage) Lose(first, last uint64) {
	v.lost += last - first + 1
	v.hole = last
	clear(v.seen)
	for _, t := range v.traces {
		t.current = false
	}
}

// Recover applies the next commit.
func (v *Salvage) Recover(commit uint64, data []byte) error {
	v.state.commit = commit
	err := eachRecord(data, func(offset, size int, kind byte, body []byte) error {
		v.hear(kind, body)
		return v.state.redo(kind, body, size, Place{commit, uint32(offset)}, &v.out)
	})
	v.out.Reset()
	return err
}

// hear listens to a record before it is applied. What cannot be read is
// refused by who applies it.
func (v *Salvage) hear(kind byte, body []byte) {
	f := fields{b: body}
	switch kind {
	case kindQueue:
		v.hearQueue(decodeQueue(&f))
	case kindDrop:
		delete(v.traces, f.uint32())
	case kindMessage:
		if m, err := decodeMessage(body); err == nil {
			v.hearMessage(&m)
		}
	case kindDeliver, kindExtend, kindFail:
		v.hearAlive(decodeIdentity(&f))
	case kindRemove:
		id := decodeIdentity(&f)
		v.done(id.queue, id.seq, id.seq)
	case kindPurge:
		id := decodeIdentity(&f)
		v.done(id.queue, 1, id.seq)
	case kindDie:
		r := decodeDie(&f)
		v.hearLetter(r.to.queue, r.queue, r.origin)
		v.hearMove(r.identity, r.to)
	case kindID:
		id := decodeIdentity(&f)
		v.given(id.queue, id.seq+1, id.seq+1)
	case kindReplay:
		v.hearMove(decodeIdentity(&f), decodeIdentity(&f))
	}
}

func (v *Salvage) hearQueue(r queueRecord) {
	if other := v.state.byName[r.name]; other != nil && other.id != r.id {
		v.trace(other.id).removed = r.name
	}
	v.given(r.id, r.next, r.next)
	v.trace(r.id).exact, v.trace(r.id).current = true, true
}

// hearMessage: a publish has the time of its commit; what was carried forward
// is older, and does not say which number comes next.
func (v *Salvage) hearMessage(m *Message) {
	id := identity{m.QueueID, m.Seq}
	v.given(id.queue, id.seq, id.seq+1)
	t := v.trace(id.queue)
	if m.life == nil && m.At >= v.state.now {
		t.exact, t.current = true, true
	}
	if m.life != nil && m.life.letter != nil {
		v.hearLetter(id.queue, m.life.origin.queue, m.life.letter.OriginQueue)
	}
	v.done(id.queue, id.seq, id.seq) // it is here
	v.see(id)
}

func (v *Salvage) hearLetter(grave, origin uint32, name string) {
	v.called[origin], v.graves[grave] = name, origin
}

// hearAlive: a message was there when this was written.
func (v *Salvage) hearAlive(id identity) {
	v.see(id)
	if !v.here(id) {
		v.given(id.queue, id.seq, id.seq+1)
		t := v.trace(id.queue)
		t.next = max(t.next, id.seq+1)
		t.unsure.remove(id.seq, id.seq)
		t.lost.add(id.seq, id.seq)
	}
}

// hearMove: a message died or was replayed.
func (v *Salvage) hearMove(from, to identity) {
	there := v.here(from)
	v.done(from.queue, from.seq, from.seq)
	v.given(to.queue, to.seq, to.seq+1)
	t := v.trace(to.queue)
	t.exact, t.current = true, true
	v.see(to)
	if !there {
		t.lost.add(to.seq, to.seq)
	}
}

// given notes that a queue has given out all numbers below next. Those below seq
// that no record has told of are lost with the commits that had them; or the
// log has been dropped so far, and they were done, or will be carried forward.
func (v *Salvage) given(queue uint32, seq, next uint64) {
	t, known := v.trace(queue), uint64(1)
	if q := v.state.byID[queue]; q != nil {
		known = q.next
	}
	known = max(known, t.next)
	if next <= known {
		return
	}
	if t.exact {
		t.lost.add(known, seq-1)
	} else {
		t.unsure.add(known, seq-1)
	}
}

// done notes that what became of messages is known.
func (v *Salvage) done(queue uint32, first, last uint64) {
	t := v.trace(queue)
	t.lost.remove(first, last)
	t.unsure.remove(first, last)
}

func (v *Salvage) see(id identity) {
	if v.lost > 0 {
		v.seen[id] = true
	}
}

func (v *Salvage) here(id identity) bool {
	q := v.state.byID[id.queue]
	if q == nil {
		return false
	}
	_, ok := q.lookup(id.seq)
	return ok
}

func (v *Salvage) trace(queue uint32) *trace {
	t := v.traces[queue]
	if t == nil {
		t = &trace{}
		v.traces[queue] = t
	}
	return t
}

// Losses tells what is lost and what is in doubt. It is asked before Mend.
func (v *Salvage) Losses() Losses {
	l := Losses{Commits: v.lost}
	if v.lost == 0 {
		return l
	}
	l.Secret = v.state.key == [16]byte{}
	for _, id := range slices.Sorted(maps.Keys(v.state.byID)) {
		q, t := v.state.byID[id], v.trace(id)
		ql := QueueLosses{Queue: q.name, Lost: t.lost, Unsure: t.unsure, Removed: t.removed != "", Doubtful: v.doubtful(q)}
		switch {
		case ql.Removed:
			ql.Queue = t.removed
		case q.name == "":
			ql.Queue, ql.Unnamed = v.name(q), true
		}
		if !t.current && !ql.Removed {
			ql.From = max(q.next, t.next)
		}
		forgotten := ql.Unnamed && q.stored() == 0 && len(ql.Lost)+len(ql.Unsure) == 0
		if !forgotten && (len(ql.Lost)+len(ql.Unsure)+len(ql.Doubtful) > 0 || ql.Unnamed || ql.Removed || ql.From > 0) {
			l.Queues = append(l.Queues, ql)
		}
	}
	slices.SortStableFunc(l.Queues, func(a, b QueueLosses) int { return cmp.Compare(a.Queue, b.Queue) })
	return l
}

// doubtful are the messages of a queue that were there before the last hole,
// and that nothing behind it speaks of.
func (v *Salvage) doubtful(q *queue) (ranges []Range) {
	open := false
	for m := range q.walk(0) {
		if m.commit() > v.hole || v.seen[identity{q.id, m.seq}] {
			open = false
			continue
		}
		if !open {
			ranges, open = append(ranges, Range{First: m.seq}), true
		}
		r := &ranges[len(ranges)-1]
		r.Last, r.Count = m.seq, r.Count+1
	}
	return ranges
}

// commit is where the record of a message is.
func (s seen) commit() uint64 {
	if s.object != nil {
		return s.object.place.Commit
	}
	return s.run.commit
}
