package queue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dsend/dlq"
)

// Recover applies the records of one commit read from the log. Commits are
// given in order, and Recovered is called after the last.
func (s *State) Recover(commit uint64, data []byte, out *Out) error {
	s.commit = commit
	return eachRecord(data, func(offset, size int, kind byte, body []byte) error {
		return s.redo(kind, body, size, Place{commit, uint32(offset)}, out)
	})
}

// eachRecord calls fn for each record in the data of a commit.
func eachRecord(data []byte, fn func(offset, size int, kind byte, body []byte) error) error {
	for offset := 0; offset < len(data); {
		kind, body, size, err := split(data[offset:])
		if err == nil {
			err = fn(offset, size, kind, body)
		}
		if err != nil {
			return fmt.Errorf("record at byte %d: %w", offset, err)
		}
		offset += size
	}
	return nil
}

// Recovered proves that the log was whole: every queue that holds messages has
// its record.
func (s *State) Recovered() error {
	s.dirty = nil
	for _, id := range slices.Sorted(maps.Keys(s.byID)) {
		q := s.byID[id]
		switch {
		case q.name != "":
			q.dirty = false
			s.touch(q)
			if q.changed {
				s.condemn(q)
				s.reage(q)
			}
			s.rearm(q)
			s.returned(q)
		case q.stored() > 0:
			return fmt.Errorf("queue: the log holds %d messages of queue number %d, and nothing says what it is", q.stored(), id)
		default: // spoken of by a later record than its end
			s.forgetConsumers(q)
			delete(s.byID, id)
		}
	}
	return nil
}

// queueOf gives a queue by its number; one that is not known yet is made, its
// record may come later in the log.
func (s *State) queueOf(id uint32) *queue {
	q := s.byID[id]
	if q == nil {
		q = newQueue(id)
		s.byID[id] = q
	}
	s.numbered(id)
	return q
}

// numbered notes that the commit at hand says a queue's number.
func (s *State) numbered(id uint32) {
	if id >= s.lastID {
		s.lastID, s.lastAt = id, s.commit
	}
}

func (r clockRecord) apply(s *State, _ Place, _ *Out) { s.pass(r.now) }

func (r storeRecord) apply(s *State, place Place, _ *Out) {
	s.key, s.keyAt = r.key, place.Commit
}

func (r queueRecord) apply(s *State, place Place, _ *Out) {
	q := s.queueOf(r.id)
	s.unname(q)
	if other := s.byName[r.name]; other != nil {
		s.unname(other) // not by any log of ours; Recovered will say so
	}
	q.name, q.source, q.created, q.settings = r.name, r.source, r.created, r.settings
	q.paused, q.orphan, q.auto = r.paused, r.orphan, r.auto
	q.relimited()
	q.next, q.deliveries = max(q.next, r.next), max(q.deliveries, r.deliveries)
	q.commit = place.Commit
	s.byName[q.name] = q
	i, _ := s.search(q.name)
	s.sorted = slices.Insert(s.sorted, i, q)
	for _, subject := range q.settings.Subjects {
		s.captures.add(subject, q)
	}
}

// unname takes a queue's name away, if it has one.
func (s *State) unname(q *queue) {
	if q.name == "" {
		return
	}
	if i, ok := s.search(q.name); ok {
		s.sorted = slices.Delete(s.sorted, i, i+1)
	}
	for _, subject := range q.settings.Subjects {
		s.captures.remove(subject, q)
	}
	delete(s.byName, q.name)
	q.name = ""
}

// search gives the place of a name among the queues by name.
func (s *State) search(name string) (i int, ok bool) {
	return slices.BinarySearchFunc(s.sorted, name, func(q *queue, name string) int { return strings.Compare(q.name, name) })
}

func (r dropRecord) apply(s *State, _ Place, out *Out) {
	s.numbered(r.id)
	q := s.byID[r.id]
	if q == nil {
		return
	}
	s.removeUpTo(q, q.next, out)
	s.alarms.Remove(q)
	s.forgetConsumers(q)
	q.ids = dedupe{} // or it would be woken for them
	s.unname(q)
	delete(s.byID, q.id)
}

func (r messageRecord) apply(s *State, place Place, out *Out) {
	m := r.m
	size := r.size
	if size == 0 { // it was just made, at the end of the commit's data
		size = uint32(len(out.Records)) - place.Offset
	}
	s.pass(m.At)
	q := s.queueOf(m.QueueID)
	out.hold(place.Commit, int64(size))
	q.next = max(q.next, m.Seq+1)
	if m.ID != "" {
		q.ids.add(m.ID, remembered{m.Seq, m.IDExpires, place.Commit}, s.now)
	}
	if s.relocate(q, m.Seq, place, size, out) {
		return
	}
	q.bytes += int64(size)
	if m.plain() {
		q.ready.push(m.Priority, run{seq: m.Seq, commit: place.Commit, offset: place.Offset, size: size, at: m.At, n: 1})
		s.touch(q)
		return
	}
	s.insert(q, m, place, size)
}

// relocate notes that a message that is here has been carried forward.
func (s *State) relocate(q *queue, seq uint64, place Place, size uint32, out *Out) bool {
	if m := q.all.get(seq); m != nil {
		out.free(m.place.Commit, int64(m.size))
		q.bytes += int64(size) - int64(m.size)
		m.place, m.size = place, size
		s.forgetBirth(m)
		return true
	}
	b, priority, ok := q.ready.find(seq)
	if !ok {
		return false
	}
	out.free(b.commit, int64(b.size))
	q.bytes += int64(size) - int64(b.size)
	q.ready.move(priority, run{seq: seq, commit: place.Commit, at: b.at, offset: place.Offset, size: size, n: 1})
	return true
}

// forgetBirth notes that the record of a message bears its own numbers, or is
// needed no longer.
func (s *State) forgetBirth(m *message) {
	if m.more != nil && m.more.born != (identity{}) {
		s.moved.drop(m.more.born)
		m.more.born = identity{}
	}
}

// insert makes the object of a message that is not plain.
func (s *State) insert(q *queue, r *Message, place Place, size uint32) {
	m := &message{q: q, seq: r.Seq, place: place, size: size, at: r.At, since: r.At, priority: r.Priority}
	s.file(m)
	if r.Key != "" || r.MaxAttempts >= 0 || r.Visibility > 0 || r.Expires != 0 {
		more := m.extra()
		more.key, more.maxAttempts, more.visibility = r.Key, r.MaxAttempts, r.Visibility
		more.expires = r.Expires
	}
	switch {
	case r.life != nil:
		s.revive(m, r.life)
	case r.Due != 0:
		s.delay(m, r.Due)
	default:
		s.makeReady(m)
	}
}

// revive gives a message that was carried forward its life.
func (s *State) revive(m *message, l *life) {
	m.attempt, m.delivery, m.doom, m.handed, m.holder = l.attempt, l.delivery, l.doom, l.handed, l.holder
	if l.since != 0 {
		m.since = l.since
	}
	m.q.deliveries = max(m.q.deliveries, l.delivery)
	if l.history.Len() > 0 || l.letter != nil || l.replays > 0 {
		more := m.extra()
		more.history, more.replays = l.history, l.replays
		if l.letter != nil {
			more.letter, more.origin = l.letter, l.origin
			s.enterLetter(m)
		}
	}
	switch l.phase {
	case phaseInFlight:
		s.handOut(m, l.deadline)
	case phaseDelayed:
		if m.delivery > 0 && m.doom == 0 { // a retry: its key waits for it
			s.claimKey(m)
		}
		s.delay(m, l.deadline)
	default:
		s.makeReady(m)
	}
	m.q.changed = m.q.changed || s.spent(m) // carried forward while it waited to be swept
}

func (r deliverRecord) apply(s *State, _ Place, _ *Out) {
	s.pass(r.at)
	q := s.queueOf(r.queue)
	q.deliveries = max(q.deliveries, r.delivery)
	if c := q.via(r.holder); c != nil {
		c.note(&r)
	}
	m := s.take(q, r.seq)
	if m == nil {
		return
	}
	m.attempt, m.delivery, m.handed, m.holder = r.attempt, r.delivery, r.at, r.holder
	s.handOut(m, r.deadline)
}

// take gives a waiting message as an object that waits nowhere; nil if there
// is none.
func (s *State) take(q *queue, seq uint64) *message {
	if m := q.all.get(seq); m != nil {
		s.leavePhase(m)
		return m
	}
	b, priority, ok := q.ready.find(seq)
	if !ok {
		return nil
	}
	m := &message{q: q, seq: seq, place: b.place(seq), size: b.size, at: b.at, since: b.at, priority: priority}
	q.ready.pull(priority, seq)
	s.file(m)
	return m
}

// object gives a message as an object. A plain one becomes one, which the log
// need not say: it is still ready.
func (s *State) object(q *queue, seq uint64) *message {
	if m := q.all.get(seq); m != nil {
		return m
	}
	m := s.take(q, seq)
	s.makeReady(m)
	return m
}

// file puts a message among the objects of its queue.
func (s *State) file(m *message) {
	m.q.all.set(m.seq, m)
	m.q.low = min(m.q.low, m.seq)
}

func (r extendRecord) apply(s *State, _ Place, _ *Out) {
	if m := s.queueOf(r.queue).all.get(r.seq); m != nil && m.phase == phaseInFlight {
		s.deadlines.Set(m, r.deadline)
	}
}

func (r failRecord) apply(s *State, _ Place, _ *Out) {
	s.pass(r.at)
	q := s.queueOf(r.queue)
	if m := q.all.get(r.seq); m != nil && m.phase == phaseInFlight {
		s.record(m, r.outcome, r.at, r.error)
	}
	m := s.take(q, r.seq)
	if m == nil {
		return
	}
	m.attempt, m.doom = r.attempt, r.doom
	if m.doom != 0 {
		s.leaveKey(m) // it will not be delivered again
	}
	s.delay(m, r.due)
	s.touch(q)
}

// record adds the attempt that ended to the history.
func (s *State) record(m *message, outcome dlq.Outcome, at int64, text string) {
	more := m.extra()
	more.history = more.history.Add(dlq.Attempt{
		At: m.handed, Ended: at, Worker: inHand(m.holder).String(), Outcome: outcome, Error: text,
	})
}

func (r removeRecord) apply(s *State, _ Place, out *Out) {
	q := s.byID[r.queue]
	if q == nil {
		return
	}
	if m := s.take(q, r.seq); m != nil {
		s.discard(m, out)
	}
}

// discard forgets a message that waits nowhere any longer.
func (s *State) discard(m *message, out *Out) {
	q := m.q
	s.leaveKey(m)
	s.leaveLetter(m)
	s.expiries.Remove(m)
	s.forgetBirth(m)
	q.all.drop(m.seq)
	q.bytes -= int64(m.size)
	out.free(m.place.Commit, int64(m.size))
	s.touch(q)
}

func (r purgeRecord) apply(s *State, _ Place, out *Out) {
	if q := s.byID[r.queue]; q != nil {
		s.removeUpTo(q, r.seq+1, out)
		q.next = max(q.next, r.seq+1)
	}
}

// removeUpTo removes all messages with numbers below end and tells how many.
func (s *State) removeUpTo(q *queue, end uint64, out *Out) (n int) {
	for p, l := range q.ready.lanes {
		if l == nil {
			continue
		}
		for b, ok := l.plain.head(); ok && b.seq < end; b, ok = l.plain.head() {
			gone := b.before(end).n
			q.ready.pop(uint8(p), gone)
			q.bytes -= int64(gone) * int64(b.size)
			out.free(b.commit, int64(gone)*int64(b.size))
			n += int(gone)
		}
	}
	for _, m := range q.objects(0, end) {
		s.leavePhase(m)
		s.discard(m, out)
		n++
	}
	return n
}

func (r dieRecord) apply(s *State, _ Place, out *Out) {
	s.pass(r.at)
	to, free := s.numberTo(r.to)
	if !free {
		return
	}
	m := s.take(s.queueOf(r.queue), r.seq)
	if m == nil {
		return
	}
	text := r.error
	if last, ok := m.history().Last(); ok && text == "" {
		text = last.Error // the last there is
	}
	if r.outcome != 0 {
		s.record(m, r.outcome, r.at, r.error)
	}
	s.leaveKey(m)
	s.expiries.Remove(m)
	more := m.extra()
	more.origin = m.identity()
	more.letter = &dlq.Letter{
		Reason: r.reason, Error: text, DiedAt: r.at,
		OriginQueue: r.origin, OriginSeq: m.seq, PublishedAt: m.at,
		Attempts: m.attempt, Replays: more.replays, History: more.history,
	}
	s.move(m, to, r.to.seq)
	m.attempt, m.doom, m.since = 0, 0, r.at
	more.expires = 0 // that was the life that ended
	s.enterLetter(m)
	s.makeReady(m)
}

func (r replayRecord) apply(s *State, _ Place, _ *Out) {
	s.pass(r.at)
	to, free := s.numberTo(r.to)
	if !free {
		return
	}
	m := s.take(s.queueOf(r.queue), r.seq)
	if m == nil {
		return
	}
	s.leaveLetter(m)
	more := m.extra()
	more.replays++
	more.letter, more.history, more.origin = nil, dlq.History{}, identity{}
	s.move(m, to, r.to.seq)
	m.attempt, m.since = 0, r.at
	s.makeReady(m)
}

// numberTo gives the queue a message moves to, and takes its number there. In a
// log of ours the number is always free.
func (s *State) numberTo(to identity) (q *queue, free bool) {
	q = s.queueOf(to.queue)
	q.next = max(q.next, to.seq+1)
	_, taken := q.lookup(to.seq)
	return q, !taken
}

// move gives a message that waits nowhere a new queue and number. Its record
// keeps the old ones until it is carried forward.
func (s *State) move(m *message, to *queue, seq uint64) {
	if m.more.born == (identity{}) {
		m.more.born = m.identity()
		s.moved.set(m.more.born, m)
	}
	m.q.all.drop(m.seq)
	m.q.bytes -= int64(m.size)
	s.touch(m.q)
	m.q, m.seq, m.delivery = to, seq, 0
	s.file(m)
	to.bytes += int64(m.size)
}

func (r idRecord) apply(s *State, place Place, _ *Out) {
	q := s.queueOf(r.queue)
	q.next = max(q.next, r.seq+1)
	q.ids.add(r.id, remembered{r.seq, r.expires, place.Commit}, s.now)
}

// hold and free tell the log's owner what is needed and what is not.
func (o *Out) hold(commit uint64, bytes int64) { o.Held = addSpan(o.Held, commit, bytes) }
func (o *Out) free(commit uint64, bytes int64) { o.Freed = addSpan(o.Freed, commit, bytes) }

func addSpan(spans []Span, commit uint64, bytes int64) []Span {
	if n := len(spans); n > 0 && spans[n-1].Commit == commit {
		spans[n-1].Bytes += bytes
		return spans
	}
	return append(spans, Span{commit, bytes})
}
