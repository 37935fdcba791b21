package queue

import (
	"math"
	"time"

	"dsend/dlq"
	"dsend/retry"
)

// hold is how long a message in flight has been unanswered, apart from what is
// still going on. See retry.Estimator for what is learned from it.
type hold struct {
	spoke   uint32 // when its worker said that it is still working, ms after it was handed out
	silence uint32 // the longest silence before that, in ms
	counts  bool   // it was handed out by this process, with the queue's own timeout
	again   bool   // the attempt before was not answered in time: its worker may be at it too
}

// begin is called when a message was handed out.
func (m *message) begin() {
	last, _ := m.history().Last()
	m.hold = hold{
		counts: m.more == nil || m.more.visibility == 0,
		again:  last.Outcome == dlq.OutcomeTimeout,
	}
}

// progress notes that the worker said that it is still working.
func (m *message) progress(now int64) {
	m.hold.silence = millis(m.held(now))
	m.hold.spoke = millis(Age(now, m.handed))
}

func millis(d time.Duration) uint32 { return uint32(min(d.Milliseconds(), math.MaxUint32)) }

// heard is when the worker said something last, or took the message.
func (m *message) heard() int64 {
	return m.handed + int64(time.Duration(m.hold.spoke)*time.Millisecond)
}

// held is the longest time the message has been unanswered.
func (m *message) held(at int64) time.Duration {
	return max(time.Duration(m.hold.silence)*time.Millisecond, Age(at, m.heard()))
}

// open is a message in flight whose delivery is given up at a time.
func (m *message) open(deadline int64) retry.Open {
	return retry.Open{
		Delivery: m.delivery, Spoke: m.heard(), Deadline: deadline,
		Silence: time.Duration(m.hold.silence) * time.Millisecond, Again: m.hold.again,
	}
}

// attended tells whether the worker of a message in flight is there. Of a group
// only that it has workers is known.
func (m *message) attended() bool {
	switch {
	case m.peer != nil:
		return !m.peer.bell.Scheduled()
	case m.to != nil:
		return m.to.members > 0
	}
	return false
}

// holds is what a queue learns from its deliveries. It does not survive: after
// a restart an automatic timeout stays what it was until enough is learned.
type holds struct {
	retry.Estimator
	kept   int64 // since when the automatic timeout is what it is
	review int64 // when it is looked at again
}

// learns gives what a queue has learned, to learn more.
func (q *queue) learns(now int64) *holds {
	if q.holds == nil {
		q.holds = &holds{kept: now}
	}
	return q.holds
}

// holdAnswered is called before the answer of the worker that owns a message
// is done.
func (s *State) holdAnswered(m *message, op *Answer, out *Out) {
	switch {
	case !m.hold.counts:
	case op.Verb == InProgress:
		m.progress(s.now)
	case !op.Uncounted && !m.hold.again: // else it was not worked on, or not by this worker alone
		q := m.q
		q.learns(s.now).Answered(m.held(s.now), s.now)
		s.review(q, out)
	}
}

// holdExpired is called before a delivery fails that nobody answered in time.
func (s *State) holdExpired(m *message, at int64) {
	if m.hold.counts {
		m.q.learns(s.now).Expired(m.open(at), m.attended(), s.now)
	}
}

// holdCut is called before a delivery fails whose worker is gone.
func (s *State) holdCut(m *message) {
	if m.hold.counts && !m.hold.again {
		m.q.learns(s.now).Cut(m.held(s.now), s.now)
	}
}

// holdLate is called for an answer to a delivery that is not the current one.
func (s *State) holdLate(op *Answer, out *Out) {
	if q := s.byID[op.QueueID]; q != nil && q.holds != nil && q.holds.Late(op.Delivery, s.now) {
		s.review(q, out)
	}
}
