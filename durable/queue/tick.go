package queue

import (
	"dsend/dlq"
	"dsend/retry"
)

// tickBudget bounds what one Tick does, so that a million messages that are
// due at once do not hold up the others. What is left is due at once.
const tickBudget = 4096

// Tick does what time alone has made due: delays that are over, deliveries
// nobody answered, expiries, the ends and heartbeats of pulls, workers that
// stayed away. Call it before each Step and Match.
func (s *State) Tick(now int64, out *Out) {
	s.pass(now)
	for range tickBudget {
		m, at, ok := popAt(s.deadlines, s.now)
		if !ok {
			break
		}
		s.due(m, at, out)
	}
	for range tickBudget {
		m, ok := s.expiries.Pop(s.now)
		if !ok {
			break
		}
		if m.phase != phaseInFlight && s.expired(m) { // in flight: when the attempt ends
			s.die(m, dlq.ReasonExpired, failure{at: s.now}, out)
		}
	}
	for range tickBudget {
		r, ok := s.alarms.Pop(s.now)
		if !ok {
			break
		}
		r.ring(s, out)
	}
}

func popAt[T any](sc *retry.Schedule[T], now int64) (t T, at int64, ok bool) {
	at, _ = sc.Next()
	t, ok = sc.Pop(now)
	return t, at, ok
}

// due is called when the deadline of a delayed or in flight message is over.
// The moment of a timeout is the deadline, even if nobody was there to see it.
func (s *State) due(m *message, at int64, out *Out) {
	s.touch(m.q)
	switch {
	case m.phase == phaseInFlight:
		s.timeout(m, at, out)
	case m.doom != 0:
		s.die(m, m.doom, failure{at: s.now}, out)
	case s.used(m):
		s.die(m, dlq.ReasonMaxAttempts, failure{at: s.now}, out)
	case s.expired(m):
		s.die(m, dlq.ReasonExpired, failure{at: s.now}, out)
	default:
		s.leavePhase(m)
		s.makeReady(m)
	}
}

func (q *queue) alarm() *retry.Deadline { return &q.bell }

// ring forgets message ids, and has waiting messages expire.
func (q *queue) ring(s *State, _ *Out) {
	q.ids.forget(s.now)
	s.touch(q)
	s.rearm(q)
}

// rearm sets the alarm of a queue: the next id to forget, or the next plain
// message to expire.
func (s *State) rearm(q *queue) {
	at, ok := q.ids.next()
	if age := int64(q.settings.MaxAge); age > 0 {
		for _, line := range q.ready.lines {
			if line == nil {
				continue
			}
			if _, _, _, born, found := line.first(); found && (!ok || born+age < at) {
				at, ok = born+age, true
			}
		}
	}
	if !ok {
		s.alarms.Remove(q)
		return
	}
	s.alarms.Set(q, max(at, s.now+1))
}

// age gives an object its expiry, if its queue has a max_age or it has a time
// of its own.
func (s *State) age(m *message) {
	at := int64(0)
	if m.more != nil {
		at = m.more.expires
	}
	if age := m.q.settings.MaxAge; age > 0 && (at == 0 || m.since+int64(age) < at) {
		at = m.since + int64(age)
	}
	if at == 0 {
		s.expiries.Remove(m)
		return
	}
	s.expiries.Set(m, at)
}
