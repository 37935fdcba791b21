package queue

import (
	"cmp"
	"iter"
	"slices"
)

// objects are the messages with numbers from a first one on that are objects,
// in order.
func (q *queue) objects(from uint64) []*message {
	list := make([]*message, 0, len(q.all))
	for _, m := range q.all {
		if m.seq >= from {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *message) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

// seen is a message as walk shows it: an object, or one of a run.
type seen struct {
	seq      uint64
	object   *message
	run      *run
	priority uint8
}

// walk gives the messages of a queue from a number on, in order. The queue
// must not change meanwhile.
func (q *queue) walk(from uint64) iter.Seq[seen] {
	return func(yield func(seen) bool) {
		objects := q.objects(from)
		plain := q.plainFrom(from)
		for {
			next, ok := plain.next()
			if len(objects) > 0 && (!ok || objects[0].seq < next.seq) {
				next, ok = seen{seq: objects[0].seq, object: objects[0], priority: objects[0].priority}, true
				objects = objects[1:]
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
	if _, err := s.message(name, seq); err != nil {
		return Entry{}, err
	}
	page, err := s.List(List{Queue: name, From: seq, Limit: 1})
	if err != nil {
		return Entry{}, err
	}
	return page[0], nil
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
