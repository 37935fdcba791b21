package queue

// matchBudget bounds the deliveries of one queue in one Match, and with them
// the commit. What is left comes with the next, which Next asks for at once.
const matchBudget = 4096

// Match hands ready messages to those who want them, in every queue where
// something changed.
func (s *State) Match(now int64, out *Out) {
	s.pass(now)
	dirty := s.dirty
	s.dirty = nil
	for _, q := range dirty {
		q.dirty = false
		s.match(q, out)
		s.rearm(q)
	}
	if s.dirty == nil { // nothing is left over
		clear(dirty)
		s.dirty = dirty[:0]
	}
}

// match delivers what a queue can deliver. Before anything is delivered, what
// is due counts as ready: see Tick.
func (s *State) match(q *queue, out *Out) {
	for range matchBudget {
		h, ok := s.next(q)
		if !ok {
			s.hurry(q, out)
			return
		}
		switch t := q.demand.turn.next().(type) {
		case *group:
			s.push(q, h, t, out)
		case *pull:
			s.serve(q, h, t, out)
		case *consumer:
			s.serve(q, h, t.turn.next().(*pull), out)
		}
	}
	s.touch(q)
}

// next is the message that a queue can deliver now, if somebody wants it. One
// that must die first waits for the next Tick, and all others with it.
func (s *State) next(q *queue) (head, bool) {
	if q.isPaused() || s.stopping || q.flying >= int64(q.settings.MaxInFlight) || q.demand.turn.Len() == 0 {
		return head{}, false
	}
	h, ok := q.ready.first()
	return h, ok && !s.condemned(q, h)
}

// push delivers to a group of workers.
func (s *State) push(q *queue, h head, g *group, out *Out) {
	m := s.deliver(q, h, g.hand, out)
	if !g.room() {
		q.demand.turn.withdraw(g)
	}
	sp := s.delivery(m)
	sp.Group, sp.Subject = g.name, q.settings.Push.Subject
	out.say(sp)
}

// PushConsumer is the consumer's name in the reply subject of a push.
const PushConsumer = "work"

// serve delivers to a pull, or ends it if the message is too big for it.
func (s *State) serve(q *queue, h head, p *pull, out *Out) {
	cost := int(h.size) + p.Overhead
	if p.MaxBytes > 0 && cost > p.bytes {
		s.finish(p, StatusTooBig, out)
		return
	}
	m := s.deliver(q, h, p.hand, out)
	p.given++
	if p.MaxBytes > 0 {
		p.bytes -= cost
	}
	if p.via != nil {
		s.attend(p.via)
	}
	sp := s.delivery(m)
	sp.Inbox, sp.NoHeaders = p.Inbox, p.NoHeaders
	out.say(sp)
	switch {
	case p.given < p.Batch:
		s.beat(p)
		if p.NoWait && p.given == 1 {
			q.demand.hasty = append(q.demand.hasty, p)
		}
	case p.MaxBytes > 0:
		s.finish(p, StatusBatchCompleted, out)
	default:
		s.end(p)
	}
}

// deliver makes the record of a delivery.
func (s *State) deliver(q *queue, h head, to hand, out *Out) *message {
	attempt, visibility := uint32(1), q.visibility(to)
	if m := h.object; m != nil {
		attempt, visibility = m.attempt+1, m.visibility(to)
	}
	emit(s, out, deliverRecord{
		identity: identity{q.id, h.seq}, attempt: attempt, delivery: q.deliveries + 1,
		at: s.now, deadline: s.now + int64(visibility), holder: to,
	})
	q.totals.Delivered++
	m := q.all.get(h.seq)
	m.begin()
	return m
}

// delivery is what is said of a message that was just handed out.
func (s *State) delivery(m *message) Speech {
	return Speech{
		Queue: m.q.name, QueueID: m.q.id, Consumer: m.holder.Value().consumer,
		Seq: m.seq, Attempt: m.attempt, Delivery: m.delivery, At: m.at,
		Deadline: m.turn.At(), Pending: m.q.ready.len(), Place: m.place, Size: m.size,
		Letter: m.letter(),
	}
}
