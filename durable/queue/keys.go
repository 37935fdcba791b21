package queue

import "dsend/retry"

// keyLine is the messages of one key that are not delivered yet, or not done:
// the head is ready, in flight, or waits for its next attempt; the others wait
// behind it, in order. A message that waits for its first time, or to die, is
// not in the line.
type keyLine struct {
	head    *message
	waiting *retry.Schedule[*message]
}

func (q *queue) keyLine(key string) *keyLine {
	line := q.keys.get(key)
	if line == nil {
		line = &keyLine{waiting: bySeq()}
		q.keys.set(key, line)
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
	if key == "" {
		return
	}
	line := m.q.keys.get(key)
	if line == nil || line.head != m {
		return
	}
	line.head = nil
	next, ok := line.waiting.Peek()
	if !ok {
		m.q.keys.drop(key)
		return
	}
	s.leavePhase(next)
	s.makeReady(next)
}
