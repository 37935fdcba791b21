package queue

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// objects are the messages with numbers from a first one on that are objects,
// in order.
func (q *queue) objects(from uint64) []*message { return q.lowest(from, len(q.all)) }

// lowest are the n objects with the lowest numbers from a first one on, in
// order.
func (q *queue) lowest(from uint64, n int) []*message {
	list := make([]*message, 0, min(2*n, len(q.all)))
	last := uint64(math.MaxUint64)
	inOrder := func(a, b *message) int { return cmp.Compare(a.seq, b.seq) }
	for _, m := range q.all {
		if m.seq < from || m.seq > last {
			continue
		}
		if list = append(list, m); len(list) == 2*n {
			slices.SortFunc(list, inOrder)
			list, last = list[:n], list[n-1].seq
		}
	}
	slices.SortFunc(list, inOrder)
	return list[:min(n, len(list))]
}

// few is how many objects a walk puts in order at first: a page needs no more.
const few = 1024

// objectCursor gives the objects of a queue in order, a few at a time, then more.
type objectCursor struct {
	q    *queue
	from uint64
	list []*message
	n    int
	all  bool // none is left behind list
}

// first is the object with the lowest number, nil if there is none.
func (c *objectCursor) first() *message {
	if len(c.list) == 0 && !c.all {
		c.list = c.q.lowest(c.from, c.n)
		if c.all = len(c.list) < c.n; !c.all {
			c.from, c.n = c.list[c.n-1].seq+1, 2*c.n
		}
	}
	if len(c.list) == 0 {
		return nil
	}
	return c.list[0]
}

func (c *objectCursor) advance() { c.list = c.list[1:] }

// seen is a message as walk shows it: an object, or one of a run.
type seen struct {
	seq      uint64
	object   *message
	run      *run
	priority uint8
}

func seenObject(m *message) seen { return seen{seq: m.seq, object: m, priority: m.priority} }

// walk gives the messages of a queue from a number on, in order. The queue
// must not change meanwhile.
func (q *queue) walk(from uint64) iter.Seq[seen] {
	return func(yield func(seen) bool) {
		objects := objectCursor{q: q, from: from, n: few}
		plain := q.plainFrom(from)
		for {
			next, ok := plain.next()
			if m := objects.first(); m != nil && (!ok || m.seq < next.seq) {
				next, ok = seenObject(m), true
				objects.advance()
			} else if ok {
				plain.advance(next)
			}
			if !ok || !yield(next) {
				return
			}
		}
	}
}

// cursors walk the lines of plain messages side by side.
type cursors [maxPriority + 1]cursor

type cursor struct {
	left []run
	seq  uint64
}

func (q *queue) plainFrom(from uint64) (c cursors) {
	for p, line := range q.ready.lines {
		if line == nil {
			continue
		}
		live := line.live()
		i, _ := slices.BinarySearchFunc(live, from, func(r run, seq uint64) int {
			if r.end() > seq {
				return 1
			}
			return -1
		})
		c[p] = cursor{left: live[i:], seq: from}
	}
	return c
}

// next is the message with the lowest number.
func (c *cursors) next() (s seen, ok bool) {
	for p := range c {
		if len(c[p].left) == 0 {
			continue
		}
		r := &c[p].left[0]
		if seq := max(c[p].seq, r.seq); !ok || seq < s.seq {
			s, ok = seen{seq: seq, run: r, priority: uint8(p)}, true
		}
	}
	return s, ok
}

func (c *cursors) advance(s seen) {
	at := &c[s.priority]
	at.seq = s.seq + 1
	if at.seq >= s.run.end() {
		at.left = at.left[1:]
	}
}

// List gives a page of a queue's messages.
func (s *State) List(l List) ([]Entry, *Error) {
	q := s.byName[l.Queue]
	if q == nil {
		return nil, noQueue(l.Queue)
	}
	page := []Entry{}
	for m := range q.walk(l.From) {
		if l.Limit > 0 && len(page) == l.Limit {
			break
		}
		e := q.entry(m)
		if (l.Phase == 0 || e.Phase == l.Phase) && (l.Filter == nil || l.Filter(&e)) {
			page = append(page, e)
		}
	}
	return page, nil
}

// Entry gives one message.
func (s *State) Entry(name string, seq uint64) (Entry, *Error) {
	q, err := s.message(name, seq)
	if err != nil {
		return Entry{}, err
	}
	if m := q.all[seq]; m != nil {
		return q.entry(seenObject(m)), nil
	}
	b, priority, _ := q.ready.find(seq)
	return q.entry(seen{seq: seq, run: b, priority: priority}), nil
}

func (q *queue) entry(s seen) Entry {
	m := s.object
	if m == nil {
		return Entry{
			Queue: q.name, QueueID: q.id, Seq: s.seq, Phase: Ready, At: s.run.at, Priority: s.priority,
			Place: s.run.place(s.seq), Size: s.run.size,
		}
	}
	e := Entry{
		Queue: q.name, QueueID: q.id, Seq: m.seq, Phase: m.shown(), Attempt: m.attempt, At: m.at, Priority: m.priority,
		Blocked: m.phase == phaseBlocked, Place: m.place, Size: m.size, Letter: m.letter(), History: m.history(),
	}
	if m.more != nil {
		e.Key, e.Expires, e.Replays = m.more.key, m.more.expires, m.more.replays
	}
	switch m.phase {
	case phaseDelayed:
		e.Due = m.turn.At()
	case phaseInFlight:
		e.Due, e.Worker = m.turn.At(), m.holder.String()
	}
	return e
}

func (m *message) shown() Phase {
	switch m.phase {
	case phaseDelayed:
		return Delayed
	case phaseInFlight:
		return InFlight
	}
	return Ready
}

// Info gives a queue at this moment.
func (s *State) Info(name string) (Info, *Error) {
	q := s.byName[name]
	if q == nil {
		return Info{}, noQueue(name)
	}
	return q.info(), nil
}

// Infos gives all queues, by name.
func (s *State) Infos() []Info {
	infos := make([]Info, 0, len(s.byName))
	for _, name := range s.names() {
		infos = append(infos, s.byName[name].info())
	}
	return infos
}

func (q *queue) info() Info {
	i := Info{
		Name: q.name, ID: q.id, Settings: q.settings, Source: q.source, Created: q.created,
		Paused: q.isPaused(), Orphan: q.orphan,
		Ready: q.ready.len(), Delayed: q.delayed, InFlight: q.flying, Dead: q.dead, Letters: q.letters,
		Bytes: q.bytes, LastSeq: q.next - 1, OldestReady: q.oldest(), Deliveries: q.deliveries,
		WaitingPulls: q.demand.pulls, Totals: q.totals,
	}
	for m := range q.firsts() {
		if i.FirstSeq == 0 || m < i.FirstSeq {
			i.FirstSeq = m
		}
	}
	for _, g := range q.demand.groups {
		i.Workers += g.members
	}
	return i
}

// firsts are the numbers among which the lowest is.
func (q *queue) firsts() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, line := range q.ready.lines {
			if line == nil {
				continue
			}
			if seq, _, _, _, ok := line.first(); ok && !yield(seq) {
				return
			}
		}
		for seq := range q.all {
			if !yield(seq) {
				return
			}
		}
	}
}
