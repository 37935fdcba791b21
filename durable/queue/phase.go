package queue

import "dsend/dlq"

// block lets a ready message wait behind its key.
func (s *State) block(m *message, line *keyLine) {
	m.phase = phaseBlocked
	m.q.ready.blocked++
	line.waiting.Set(m, int64(m.seq))
}

// makeReady lets a message wait for a worker, behind its key if it has one.
func (s *State) makeReady(m *message) {
	s.touch(m.q)
	s.age(m)
	if key := m.key(); key != "" {
		line := m.q.keyLine(key)
		if head := line.head; head != nil && head != m && (head.phase != phaseReady || head.seq < m.seq) {
			s.block(m, line)
			return
		}
		if next, ok := line.waiting.Peek(); ok && next.seq < m.seq { // it came while m was out
			s.block(m, line)
			line.head = nil
			s.leavePhase(next)
			s.makeReady(next)
			return
		}
		s.claimKey(m)
	}
	m.phase = phaseReady
	m.q.ready.add(m)
}

// delay lets a message wait for its time. One whose time has come stays
// delayed until the next Tick, which comes before anything is delivered.
func (s *State) delay(m *message, due int64) {
	m.phase = phaseDelayed
	m.q.delayed++
	s.age(m)
	s.deadlines.Set(m, due)
}

// handOut puts a message in the hands of a holder. It is then the head of its
// key, and takes a place in the window of its group.
func (s *State) handOut(m *message, deadline int64) {
	m.phase = phaseInFlight
	m.q.flying++
	s.claimKey(m)
	s.deadlines.Set(m, deadline)
	switch to := inHand(m.holder); {
	case to.group != "":
		m.to = m.q.demand.group(m.q, to.group)
		m.to.held++
	case to.peer != "":
		s.peerOf(to.peer).give(m)
		if c := m.q.via(m.holder); c != nil {
			c.held++
		}
	}
}

// leavePhase takes a message out of where it waits; it keeps its key.
func (s *State) leavePhase(m *message) {
	switch m.phase {
	case phaseReady:
		m.q.ready.remove(m)
	case phaseBlocked:
		m.q.ready.blocked--
		m.q.keys.get(m.key()).waiting.Remove(m)
	case phaseDelayed:
		m.q.delayed--
		s.deadlines.Remove(m)
	case phaseInFlight:
		m.q.flying--
		s.deadlines.Remove(m)
		s.release(m)
	}
	m.phase = 0
}

// enterLetter and leaveLetter keep count of dead letters, and find them by the
// life that ended.
func (s *State) enterLetter(m *message) {
	s.origins.set(m.more.origin, m)
	m.q.letters++
	s.queueOf(m.more.origin.queue).dead++
}

func (s *State) leaveLetter(m *message) {
	if m.letter() == nil {
		return
	}
	s.origins.drop(m.more.origin)
	m.q.letters--
	if q := s.byID[m.more.origin.queue]; q != nil {
		q.dead--
	}
}

// Count of reasons, for the totals.
const _ = uint(len(Totals{}.Died) - int(dlq.ReasonManual) - 1)
