package queue

import (
	"fmt"

	"dsend/dlq"
)

// Recover applies the records of one commit read from the log. Commits are
// given in order, and Recovered is called after the last.
func (s *State) Recover(commit uint64, data []byte, out *Out) error {
	s.commit = commit
	for offset := 0; offset < len(data); {
		kind, body, size, err := split(data[offset:])
		if err != nil {
			return fmt.Errorf("record at byte %d: %w", offset, err)
		}
		r, err := decode(kind, body, size)
		if err != nil {
			return fmt.Errorf("record at byte %d: %w", offset, err)
		}
		r.apply(s, Place{commit, uint32(offset)}, out)
		offset += size
	}
	return nil
}

// Recovered proves that the log was whole: every queue that holds messages has
// its record.
func (s *State) Recovered() error {
	for id, q := range s.byID {
		if q.name == "" && q.stored() > 0 {
			return fmt.Errorf("queue: the log holds %d messages of queue number %d, and nothing says what it is", q.stored(), id)
		}
		if q.name == "" {
			delete(s.byID, id)
		}
	}
	s.dirty = nil
	for _, q := range s.byID {
		q.dirty = false
		s.touch(q)
		s.rearm(q)
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
		s.lastID = max(s.lastID, id)
	}
	return q
}

func (r clockRecord) apply(s *State, _ Place, _ *Out) { s.pass(r.now) }

func (r storeRecord) apply(s *State, place Place, _ *Out) {
	s.key, s.keyAt = r.key, place.Commit
}

func (r queueRecord) apply(s *State, place Place, _ *Out) {
	q := s.queueOf(r.id)
	if q.name != "" {
		delete(s.byName, q.name)
	}
	q.name, q.source, q.created, q.settings = r.name, r.source, r.created, r.settings
	q.paused, q.orphan = r.paused, r.orphan
	q.next, q.deliveries = max(q.next, r.next), max(q.deliveries, r.deliveries)
	q.commit = place.Commit
	s.byName[r.name] = q
}

func (r dropRecord) apply(s *State, _ Place, out *Out) {
	s.lastID = max(s.lastID, r.id)
	q := s.byID[r.id]
	if q == nil {
		return
	}
	s.removeUpTo(q, q.next, out)
	s.alarms.Remove(q)
	delete(s.byID, q.id)
	if q.name != "" {
		delete(s.byName, q.name)
	}
}

func (r messageRecord) apply(s *State, place Place, out *Out) {
	m := r.m
	size := r.size
	if size == 0 { // it was just made, at the end of the commit's data
		size = uint32(len(out.Records)) - place.Offset
	}
	q := s.queueOf(m.QueueID)
	out.hold(place.Commit, size)
	q.next = max(q.next, m.Seq+1)
	if m.ID != "" && m.life == nil {
		q.ids.add(m.ID, m.Seq, m.IDExpires, place.Commit)
	}
	if s.relocate(q, m.Seq, place, size, out) {
		return
	}
	q.bytes += int64(size)
	if m.plain() {
		q.ready.line(m.Priority).push(m.Seq, place, size, m.At)
		q.ready.runs++
		s.touch(q)
		return
	}
	s.insert(q, m, place, size)
}

// relocate notes that a message that is here has been carried forward.
func (s *State) relocate(q *queue, seq uint64, place Place, size uint32, out *Out) bool {
	if m := q.all[seq]; m != nil {
		out.free(m.place.Commit, m.size)
		q.bytes += int64(size) - int64(m.size)
		m.place, m.size = place, size
		if m.more != nil {
			delete(s.moved, m.more.born)
			m.more.born = identity{}
		}
		return true
	}
	b, priority, ok := q.ready.find(seq)
	if !ok {
		return false
	}
	at := b.at
	out.free(b.commit, b.size)
	q.bytes += int64(size) - int64(b.size)
	line := q.ready.line(priority)
	line.remove(seq)
	line.push(seq, place, size, at)
	return true
}

// insert makes the object of a message that is not plain.
func (s *State) insert(q *queue, r *Message, place Place, size uint32) {
	m := &message{q: q, seq: r.Seq, place: place, size: size, at: r.At, since: r.At, priority: r.Priority}
	q.all[m.seq] = m
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
		m.phase = phaseInFlight
		m.q.flying++
		s.claimKey(m)
		s.deadlines.Set(m, l.deadline)
	case phaseDelayed:
		if m.attempt > 0 {
			s.claimKey(m)
		}
		s.delay(m, l.deadline)
	default:
		s.makeReady(m)
	}
}

func (r deliverRecord) apply(s *State, _ Place, _ *Out) {
	q := s.queueOf(r.queue)
	q.deliveries = max(q.deliveries, r.delivery)
	m := s.take(q, r.seq)
	if m == nil {
		return
	}
	m.attempt, m.delivery, m.handed, m.holder = r.attempt, r.delivery, r.at, r.holder
	m.phase = phaseInFlight
	q.flying++
	s.claimKey(m)
	s.deadlines.Set(m, r.deadline)
}

// take gives a waiting message as an object that waits nowhere; nil if there
// is none.
func (s *State) take(q *queue, seq uint64) *message {
	if m := q.all[seq]; m != nil {
		s.leavePhase(m)
		return m
	}
	b, priority, ok := q.ready.find(seq)
	if !ok {
		return nil
	}
	m := &message{q: q, seq: seq, place: b.place(seq), size: b.size, at: b.at, since: b.at, priority: priority}
	q.ready.line(priority).remove(seq)
	q.ready.runs--
	q.all[seq] = m
	return m
}

func (r extendRecord) apply(s *State, _ Place, _ *Out) {
	if m := s.queueOf(r.queue).all[r.seq]; m != nil && m.phase == phaseInFlight {
		s.deadlines.Set(m, r.deadline)
	}
}

func (r failRecord) apply(s *State, _ Place, _ *Out) {
	q := s.queueOf(r.queue)
	m := q.all[r.seq]
	if m == nil {
		return
	}
	if m.phase == phaseInFlight {
		s.record(m, r.outcome, r.at, r.error)
	}
	s.leavePhase(m)
	m.attempt, m.doom = r.attempt, r.doom
	s.delay(m, r.due)
	s.touch(q)
}

// record adds the attempt that ended to the history.
func (s *State) record(m *message, outcome dlq.Outcome, at int64, text string) {
	more := m.extra()
	more.history = more.history.Add(dlq.Attempt{
		At: m.handed, Ended: at, Worker: m.holder.String(), Outcome: outcome, Error: text,
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
	if m.more != nil {
		delete(s.moved, m.more.born)
	}
	delete(q.all, m.seq)
	q.bytes -= int64(m.size)
	out.free(m.place.Commit, m.size)
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
	for _, line := range q.ready.lines {
		if line == nil {
			continue
		}
		for {
			seq, place, size, _, ok := line.first()
			if !ok || seq >= end {
				break
			}
			line.remove(seq)
			q.ready.runs--
			q.bytes -= int64(size)
			out.free(place.Commit, size)
			n++
		}
	}
	for seq, m := range q.all {
		if seq < end {
			s.leavePhase(m)
			s.discard(m, out)
			n++
		}
	}
	return n
}

func (r dieRecord) apply(s *State, _ Place, out *Out) {
	to := s.queueOf(r.to.queue)
	to.next = max(to.next, r.to.seq+1)
	q := s.queueOf(r.queue)
	m := s.takeInFlight(q, r.seq, r.outcome, r.at, r.error)
	if m == nil {
		return
	}
	s.leaveKey(m)
	s.expiries.Remove(m)
	more := m.extra()
	more.origin = m.identity()
	more.letter = &dlq.Letter{
		Reason: r.reason, Error: r.error, DiedAt: r.at,
		OriginQueue: r.origin, OriginSeq: m.seq, PublishedAt: m.at,
		Attempts: m.attempt, Replays: more.replays, History: more.history,
	}
	s.move(m, to, r.to.seq)
	m.attempt, m.doom, m.since = 0, 0, r.at
	more.expires = 0 // that was the life that ended
	s.enterLetter(m)
	s.makeReady(m)
}

// takeInFlight takes a message out of its phase; if that ends an attempt, the
// history says how.
func (s *State) takeInFlight(q *queue, seq uint64, outcome dlq.Outcome, at int64, text string) *message {
	m := s.take(q, seq)
	if m != nil && outcome != 0 {
		s.record(m, outcome, at, text)
	}
	return m
}

func (r replayRecord) apply(s *State, _ Place, _ *Out) {
	to := s.queueOf(r.to.queue)
	to.next = max(to.next, r.to.seq+1)
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

// move gives a message that waits nowhere a new queue and number. Its record
// keeps the old ones until it is carried forward.
func (s *State) move(m *message, to *queue, seq uint64) {
	if m.more.born == (identity{}) {
		m.more.born = m.identity()
		s.moved[m.more.born] = m
	}
	delete(m.q.all, m.seq)
	m.q.bytes -= int64(m.size)
	s.touch(m.q)
	m.q, m.seq, m.delivery = to, seq, 0
	to.all[seq] = m
	to.bytes += int64(m.size)
}

func (r idRecord) apply(s *State, place Place, _ *Out) {
	q := s.queueOf(r.queue)
	q.next = max(q.next, r.seq+1)
	q.ids.add(r.id, r.seq, r.expires, place.Commit)
}

// hold and free tell the log's owner what is needed and what is not.
func (o *Out) hold(commit uint64, size uint32) { o.Held = addSpan(o.Held, commit, size) }
func (o *Out) free(commit uint64, size uint32) { o.Freed = addSpan(o.Freed, commit, size) }

func addSpan(spans []Span, commit uint64, size uint32) []Span {
	if n := len(spans); n > 0 && spans[n-1].Commit == commit {
		spans[n-1].Bytes += int64(size)
		return spans
	}
	return append(spans, Span{commit, int64(size)})
}
