package queue

import (
	"time"

	"dsend/dlq"
)

// answer does what a worker says of a delivery.
func (s *State) answer(op *Answer, out *Out) Reply {
	result := s.settled(op, out)
	if result == ResultLate || result == ResultStale || result == ResultGone {
		s.holdLate(op, out)
	}
	name := ""
	if q := s.byID[op.QueueID]; q != nil {
		q.countAnswer(op, result)
		name = q.name
	}
	if op.Next != nil {
		next := *op.Next
		next.Queue = name
		s.pull(&next, out)
	}
	return Reply{Op: op, Result: result}
}

func (s *State) settled(op *Answer, out *Out) Result {
	if op.Verb == Invalid || op.Delay < 0 || op.Delay > MaxDelay {
		return ResultInvalid
	}
	m := s.answered(op)
	switch {
	case m == nil:
		return ResultGone
	case m.phase == phaseInFlight && m.delivery == op.Delivery && m.seq == op.Seq && m.q.id == op.QueueID:
		return s.settle1(m, op, out)
	case op.Verb == Ack:
		return s.lateAck(m, op, out)
	}
	return ResultStale
}

// answered finds the message of an answer, also if it has died since.
func (s *State) answered(op *Answer) *message {
	if q := s.byID[op.QueueID]; q != nil {
		if m := q.all.get(op.Seq); m != nil {
			return m
		}
	}
	return s.origins.get(identity{op.QueueID, op.Seq})
}

// settle1 does the answer of the worker that owns the message.
func (s *State) settle1(m *message, op *Answer, out *Out) Result {
	s.holdAnswered(m, op, out)
	f := failure{at: s.now, text: dlq.TrimError(op.Error)}
	switch op.Verb {
	case Ack:
		emit(s, out, removeRecord{m.identity()})
	case Nak:
		f.outcome, f.delay, f.uncounted = dlq.OutcomeNak, op.Delay, op.Uncounted
		if op.Uncounted {
			f.outcome = dlq.OutcomeGivenBack
		}
		s.fail(m, f, out)
	case Term:
		f.outcome = dlq.OutcomeTerminated
		s.fail(m, f, out)
	case InProgress:
		s.extend(m, out)
	}
	return ResultOK
}

// extend restarts the visibility timeout, up to max_hold after the delivery.
func (s *State) extend(m *message, out *Out) {
	deadline := s.now + int64(m.visibility(m.holder))
	if hold := m.q.settings.MaxHold; hold > 0 {
		deadline = min(deadline, m.handed+int64(hold))
	}
	if deadline > m.turn.At() {
		emit(s, out, extendRecord{m.identity(), deadline})
	}
}

// lateAck completes a message that is no longer the worker's: the work was
// done.
func (s *State) lateAck(m *message, op *Answer, out *Out) Result {
	q, seq, attempt := m.q, m.seq, m.attempt
	emit(s, out, removeRecord{m.identity()})
	out.tell(Event{Kind: EventLateAck, At: s.now, Queue: q.name, Seq: seq, Attempt: attempt})
	return ResultLate
}

func (q *queue) countAnswer(op *Answer, result Result) {
	t := &q.totals
	switch result {
	case ResultLate:
		t.Late++
		t.Acked++
	case ResultStale:
		t.Stale++
	case ResultGone:
		t.GoneAnswers++
	case ResultInvalid:
		t.Invalid++
	case ResultOK:
		switch op.Verb {
		case Ack:
			t.Acked++
		case InProgress:
			t.Extended++
		}
	}
}

// timeout fails a delivery that nobody answered in time.
func (s *State) timeout(m *message, at int64, out *Out) {
	s.holdExpired(m, at)
	s.fail(m, failure{outcome: dlq.OutcomeTimeout, at: at, text: "visibility timeout"}, out)
}

// Age is how long ago at was, never negative.
func Age(now, at int64) time.Duration { return max(0, time.Duration(now-at)) }
