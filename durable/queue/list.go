package queue

import (
	"cmp"
	"iter"
	"slices"
)

// objects are the messages that are objects, with numbers from a first one on
// and below an end, in order.
func (q *queue) objects(from, end uint64) []*message {
	var list []*message
	for seq, m := range q.all.m {
		if seq >= from && seq < end {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *message) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

// stroll walks the objects of a queue, in order. It looks for one number after
// the other, so that a page of a queue with a million costs no more than the
// page; where the numbers lie far apart it sorts what is left.
type stroll struct {
	q      *queue
	seq    uint64 // the next to look for
	misses int
	sorted []*message // what is left, once it was sorted
}

// next is the object with the next number; nil at the end.
func (w *stroll) next() *message {
	for ; w.sorted == nil && w.seq < w.q.next; w.seq++ {
		if m := w.q.all.get(w.seq); m != nil {
			w.seq++
			return m
		}
		if w.misses++; w.misses > w.q.all.len() {
			w.sorted = w.q.objects(w.seq, w.q.next)
			w.seq = w.q.next
		}
	}
	if len(w.sorted) == 0 {
		return nil
	}
	m := w.sorted[0]
	w.sorted = w.sorted[1:]
	return m
}

// firstObject is the lowest number of an object. It never goes down, so that
// the next look begins where this one ended.
func (q *queue) firstObject() (seq uint64, ok bool) {
	if q.all.len() == 0 {
		return 0, false
	}
	for range q.all.len() {
		if q.all.get(q.low) != nil {
			return q.low, true
		}
		q.low++
	}
	q.low = q.next
	for seq := range q.all.m {
		q.low = min(q.low, seq)
	}
	return q.low, true
}

// first is the lowest number of a message.
func (q *queue) first() (seq uint64, ok bool) {
	seq, ok = q.firstObject()
	if plain, _, found := q.ready.oldestPlain(); found && (!ok || plain < seq) {
		return plain, true
	}
	return seq, ok
}

// seen is a message as walk shows it: an object, or one of a run.
type seen struct {
	seq      uint64
	object   *message
	run      run
	priority uint8
}

func (s seen) size() int64 {
	if s.object != nil {
		return int64(s.object.size)
	}
	return int64(s.run.size)
}

// walk gives the messages of a queue from a number on, in order. The queue
// must not change meanwhile.
func (q *queue) walk(from uint64) iter.Seq[seen] {
	return func(yield func(seen) bool) {
		objects := stroll{q: q, seq: max(from, q.low)}
		object := objects.next()
		plain := q.plainFrom(from)
		for {
			s, ok := plain.next()
			if object != nil && (!ok || object.seq < s.seq) {
				s, ok = seen{seq: object.seq, object: object, priority: object.priority}, true
				object = objects.next()
			} else if ok {
				plain.advance(s)
			}
			if !ok || !yield(s) {
				return
			}
		}
	}
}

// lines walk the plain messages of all priorities side by side.
type lines [maxPriority + 1]line

// line walks those of one priority.
type line struct {
	of   *runs
	at   cursor
	run  run // at which it is, without what is behind us
	left bool
}

func (q *queue) plainFrom(from uint64) (all lines) {
	for p, l := range q.ready.lanes {
		if l != nil && l.plain.n > 0 {
			all[p] = line{of: &l.plain, at: l.plain.seek(from), left: true}
			all[p].pass(from)
		}
	}
	return all
}

// pass leaves behind us what is below a number.
func (l *line) pass(seq uint64) {
	for l.run = l.at.at().from(seq); l.run.n == 0; l.run = l.at.at() {
		if l.left = l.of.after(&l.at); !l.left {
			return
		}
	}
}

// next is the message with the lowest number.
func (all *lines) next() (s seen, ok bool) {
	for p := range all {
		if l := &all[p]; l.left && (!ok || l.run.seq < s.seq) {
			s, ok = seen{seq: l.run.seq, run: l.run, priority: uint8(p)}, true
		}
	}
	return s, ok
}

func (all *lines) advance(s seen) { all[s.priority].pass(s.seq + 1) }

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
	q, found, err := s.message(name, seq)
	if err != nil {
		return Entry{}, err
	}
	return q.entry(found), nil
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
		e.Due, e.Worker = m.turn.At(), inHand(m.holder).String()
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

// published is when a message was published; 0 if it is not here.
func (q *queue) published(seq uint64) int64 {
	switch s, ok := q.lookup(seq); {
	case !ok:
		return 0
	case s.object != nil:
		return s.object.at
	default:
		return s.run.at
	}
}

// Infos gives all queues, by name.
func (s *State) Infos() []Info {
	infos := make([]Info, 0, len(s.sorted))
	for _, q := range s.sorted {
		infos = append(infos, q.info())
	}
	return infos
}

func (q *queue) info() Info {
	i := Info{
		Name: q.name, ID: q.id, Settings: q.settings, Visibility: q.timeout(), Source: q.source, Created: q.created,
		Paused: q.isPaused(), Orphan: q.orphan,
		Ready: q.ready.len(), Delayed: q.delayed, InFlight: q.flying, Dead: q.dead, Letters: q.letters,
		Bytes: q.bytes, LastSeq: q.next - 1, OldestReady: q.ready.oldest(), Deliveries: q.deliveries,
		WaitingPulls: len(q.demand.pulls), Consumers: len(q.consumers), Totals: q.totals,
	}
	i.FirstSeq, _ = q.first()
	i.FirstAt, i.LastAt = q.published(i.FirstSeq), q.published(i.LastSeq)
	for _, g := range q.demand.groups {
		i.Workers += g.members
	}
	return i
}
