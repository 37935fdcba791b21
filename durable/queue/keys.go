package queue

import "dsend/retry"

// keyLine is the messages of one key that are not delivered yet, or not done:
// the head is ready, in flight, or waits for its next attempt; the others wait
// behind it, in order.
type keyLine struct {
	head    *message
	waiting *retry.Schedule[*message]
}

func (q *queue) keyLine(key string) *keyLine {
	if q.keys == nil {
		q.keys = map[string]*keyLine{}
	}
	line := q.keys[key]
	if line == nil {
		line = &keyLine{waiting: retry.NewSchedule(func(m *message) *retry.Deadline { return &m.turn })}
		q.keys[key] = line
	}
	return line
}

// claimKey puts a message at the head of its key. A head that nobody has yet
// makes place.
func (s *State) claimKey(m *message) {
	key := m.key()
	if key == "" {
		return
	}
	line := m.q.keyLine(key)
	if head := line.head; head != nil && head != m && head.phase == phaseReady {
		s.leavePhase(head)
		s.block(head, line)
	}
	line.head = m
}

// leaveKey lets the next message of a key go.
func (s *State) leaveKey(m *message) {
	key := m.key()
	if key == "" || m.q.keys[key] == nil {
		return
	}
	line := m.q.keys[key]
	if line.head != m {
		return
	}
	line.head = nil
	next, ok := line.waiting.Peek()
	if !ok {
		delete(m.q.keys, key)
		return
	}
	s.leavePhase(next)
	s.makeReady(next)
}
