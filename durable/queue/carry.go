package queue

import "iter"

// carryBudget is about how many bytes of what is not a message one Carry takes
// forward.
const carryBudget = 64 << 10

// carry takes forward what is still needed of the oldest commits: the messages
// whose records are given, and at the end what is not a message.
//
// A plain message is copied as it is. An object is written with its life, so
// that the records of that life may be dropped too.
func (s *State) carry(op *Carry, out *Out) Reply {
	n := 0
	for _, f := range op.found {
		if s.carryMessage(f.record, f.place, out) {
			n++
		}
	}
	more := op.Finish && s.carryRest(op.Through, out)
	return Reply{Op: op, Count: n, More: more}
}

// carryMessage writes a message anew if this record is still the one that
// holds it.
func (s *State) carryMessage(data []byte, place Place, out *Out) bool {
	r, err := DecodeMessage(data)
	if err != nil { // the store has proven the commit's checksum
		panic("queue: carrying a message: " + err.Error())
	}
	m := s.holderOf(r.QueueID, r.Seq)
	if m == nil {
		return s.carryPlain(r, place, out)
	}
	if m.place != place {
		return false
	}
	r.QueueID, r.Seq, r.life = m.q.id, m.seq, m.life()
	r.ID, r.Due, r.Expires = "", 0, 0 // the id goes by itself: see carryIDs
	if m.more != nil {
		r.Expires = m.more.expires
	}
	emit(s, out, messageRecord{m: &r})
	return true
}

// holderOf finds the object whose record bears these numbers.
func (s *State) holderOf(id uint32, seq uint64) *message {
	if m := s.moved.get(identity{id, seq}); m != nil {
		return m
	}
	if q := s.byID[id]; q != nil {
		return q.all.get(seq)
	}
	return nil
}

func (s *State) carryPlain(r Message, place Place, out *Out) bool {
	q := s.byID[r.QueueID]
	if q == nil {
		return false
	}
	b, _, ok := q.ready.find(r.Seq)
	if !ok || b.place(r.Seq) != place {
		return false
	}
	r.ID = ""
	emit(s, out, messageRecord{m: &r})
	return true
}

// life is what a message has been through.
func (m *message) life() *life {
	l := &life{
		phase: m.phase, attempt: m.attempt, delivery: m.delivery, deadline: m.turn.At(),
		since: m.since, doom: m.doom, handed: m.handed, holder: m.holder, history: m.history(),
	}
	if m.phase == phaseReady || m.phase == phaseBlocked {
		l.phase, l.deadline = phaseReady, 0
	}
	if m.more != nil {
		l.replays, l.origin, l.letter = m.more.replays, m.more.origin, m.more.letter
	}
	return l
}

// carryRest writes anew the queues, ids and the store's secret that only the
// commits up to through still say, and the last number given to a queue, if
// that queue is gone. It tells whether there is more of that than one Carry
// takes.
func (s *State) carryRest(through uint64, out *Out) (more bool) {
	through = min(through, s.commit-1)
	limit := len(out.Records) + carryBudget
	if s.keyAt <= through {
		emit(s, out, storeRecord{s.key})
	}
	if s.lastID > 0 && s.lastAt <= through && s.byID[s.lastID] == nil {
		emit(s, out, dropRecord{s.lastID})
	}
	for _, q := range s.sorted {
		if q.commit <= through {
			emit(s, out, q.record())
		}
		s.carryConsumers(q, through, out)
		s.carryIDs(q, through, limit, out)
		if len(out.Records) >= limit {
			return true
		}
	}
	return false
}

// carryConsumers writes the consumers of a queue anew, with what they have
// delivered.
func (s *State) carryConsumers(q *queue, through uint64, out *Out) {
	for _, c := range q.consumersByName() {
		if c.commit <= through {
			emit(s, out, c.record())
		}
	}
}

// carryIDs writes the ids of a queue anew, until the records reach the limit.
// They stand by themselves and not with their messages, which may be gone, or
// one of several with that id.
func (s *State) carryIDs(q *queue, through uint64, limit int, out *Out) {
	for id, r := range q.ids.upTo(through, s.now) {
		emit(s, out, idRecord{identity{q.id, r.seq}, id, r.expires})
		if len(out.Records) >= limit {
			return
		}
	}
}

// Messages gives the message records in the data of a commit, each with its
// offset.
func Messages(data []byte) iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for offset := 0; offset < len(data); {
			kind, _, size, err := split(data[offset:])
			if err != nil { // the commit's checksum has proven that there is none
				panic("queue: records of a commit: " + err.Error())
			}
			if kind == kindMessage && !yield(uint32(offset), data[offset:offset+size]) {
				return
			}
			offset += size
		}
	}
}

// Spans gives the bytes of the log that each message needs.
func (s *State) Spans() iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for _, q := range s.byID {
			for _, l := range q.ready.lanes {
				if l == nil {
					continue
				}
				for b := range l.plain.all() {
					if !yield(Span{b.commit, int64(b.n) * int64(b.size)}) {
						return
					}
				}
			}
			for _, m := range q.all.m {
				if !yield(Span{m.place.Commit, int64(m.size)}) {
					return
				}
			}
		}
	}
}
