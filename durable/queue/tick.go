package queue

import (
	"cmp"
	"slices"

	"dsend/dlq"
	"dsend/retry"
)

// tickBudget bounds what one Tick does of each kind, so that a million messages
// that are due at once do not hold up the others, and no commit grows without
// bound. What is left is due at once.
const tickBudget = 4096

// Tick does what time alone has made due: delays that are over, deliveries
// nobody answered, expiries, the ends and heartbeats of pulls, workers that
// stayed away. Call it before each Step and Match.
//
// What is done in which order depends on times, queues and numbers only, and
// not on how the State came about.
func (s *State) Tick(now int64, out *Out) {
	s.pass(now)
	s.tickDeadlines(out)
	s.tickExpiries(out)
	s.tickAlarms(out)
}

// tickDeadlines begins again until nothing is due: an attempt that timed out
// long ago may have waited long enough already.
func (s *State) tickDeadlines(out *Out) {
	for left := tickBudget; left > 0; {
		s.late = overdue(s.deadlines, s.now, left, s.late[:0])
		if len(s.late) == 0 {
			break
		}
		slices.SortFunc(s.late, func(a, b *message) int { return a.before(b, a.turn.At(), b.turn.At()) })
		for _, m := range s.late {
			s.due(m, m.turn.At(), out)
		}
		left -= len(s.late)
		clear(s.late)
	}
}

func (s *State) tickExpiries(out *Out) {
	s.late = overdue(s.expiries, s.now, tickBudget, s.late[:0])
	slices.SortFunc(s.late, func(a, b *message) int { return a.before(b, a.expiry.At(), b.expiry.At()) })
	for _, m := range s.late {
		if m.phase != phaseInFlight && s.expired(m) { // in flight: when the attempt ends
			s.die(m, dlq.ReasonExpired, failure{at: s.now}, out)
		}
	}
	clear(s.late)
}

func (s *State) tickAlarms(out *Out) {
	s.budget = tickBudget
	s.rung = overdue(s.alarms, s.now, tickBudget, s.rung[:0])
	slices.SortFunc(s.rung, func(a, b ringer) int { return a.rank().compare(b.rank()) })
	for _, r := range s.rung {
		r.ring(s, out)
	}
	clear(s.rung)
}

// overdue takes up to n of what is due off a schedule.
func overdue[T any](from *retry.Schedule[T], now int64, n int, due []T) []T {
	for len(due) < n {
		t, ok := from.Pop(now)
		if !ok {
			break
		}
		due = append(due, t)
	}
	return due
}

// before compares two messages that are due at times.
func (m *message) before(o *message, at, other int64) int {
	return cmp.Or(cmp.Compare(at, other), cmp.Compare(m.q.id, o.q.id), cmp.Compare(m.seq, o.seq))
}

// rank is the order in which those are rung that are due: workers that are
// gone, pulls, queues.
type rank struct {
	kind   int
	number uint64
	name   string
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.kind, o.kind), cmp.Compare(r.number, o.number), cmp.Compare(r.name, o.name))
}

func (p *peer) rank() rank  { return rank{0, 0, p.name} }
func (p *pull) rank() rank  { return rank{1, p.serial, ""} }
func (q *queue) rank() rank { return rank{2, uint64(q.id), ""} }

// due is called when the deadline of a delayed or in flight message is over.
// The moment of a timeout is the deadline, even if nobody was there to see it.
func (s *State) due(m *message, at int64, out *Out) {
	s.touch(m.q)
	switch {
	case m.phase == phaseInFlight:
		s.timeout(m, at, out)
	case m.doom != 0:
		s.die(m, m.doom, failure{at: s.now}, out)
	default: // if it has expired meanwhile, that comes next
		s.leavePhase(m)
		s.makeReady(m)
	}
}

func (q *queue) alarm() *retry.Deadline { return &q.bell }

// ring forgets message ids, and lets waiting messages die: plain ones that have
// expired, and those that a lowered limit leaves no attempt.
func (q *queue) ring(s *State, out *Out) {
	q.ids.forget(s.now)
	s.expirePlain(q, out)
	s.sweep(q, out)
	s.touch(q)
	s.rearm(q)
}

// expirePlain ends the life of plain messages whose time is over, the oldest
// first.
func (s *State) expirePlain(q *queue, out *Out) {
	for s.budget > 0 {
		seq, at, ok := q.ready.oldestPlain()
		if !ok || !s.overAge(q, at) {
			return
		}
		s.budget--
		s.die(s.object(q, seq), dlq.ReasonExpired, failure{at: s.now}, out)
	}
}

// rearm sets the alarm of a queue: the next id to forget, or the next plain
// message to expire; at once if messages are left that must die.
func (s *State) rearm(q *queue) {
	at, ok := q.ids.next()
	if age := int64(q.settings.MaxAge); age > 0 {
		if _, born, found := q.ready.oldestPlain(); found && (!ok || born+age < at) {
			at, ok = born+age, true
		}
	}
	if len(q.spent) > 0 {
		at, ok = s.now, true
	}
	if !ok {
		s.alarms.Remove(q)
		return
	}
	s.alarms.Set(q, at)
}

// age gives an object its expiry, if its queue has a max_age or it has a time
// of its own. One that waits for room to die has none any longer.
func (s *State) age(m *message) {
	at := int64(0)
	if m.more != nil {
		at = m.more.expires
	}
	if age := m.q.settings.MaxAge; age > 0 && (at == 0 || m.since+int64(age) < at) {
		at = m.since + int64(age)
	}
	if at == 0 || m.doom != 0 {
		s.expiries.Remove(m)
		return
	}
	s.expiries.Set(m, at)
}
