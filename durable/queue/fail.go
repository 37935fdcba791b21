package queue

import (
	"time"

	"dsend/dlq"
)

// failure is how an attempt ended that did not end with an ack.
type failure struct {
	outcome   dlq.Outcome
	at        int64
	delay     time.Duration // asked for; 0 is the backoff
	text      string
	uncounted bool
}

// fail is the one rule for every cause: dead if that was the last attempt,
// else delayed from the moment of failure.
func (s *State) fail(m *message, f failure, out *Out) {
	s.countFailure(m.q, f.outcome)
	switch {
	case f.uncounted:
		s.giveBack(m, f, out)
	case f.outcome == dlq.OutcomeTerminated && m.letter() == nil:
		s.die(m, dlq.ReasonTerminated, f, out)
	case s.used(m):
		s.die(m, dlq.ReasonMaxAttempts, f, out)
	case s.expired(m):
		s.die(m, dlq.ReasonExpired, f, out)
	default:
		s.retry(m, f, 0, out)
	}
}

// used tells whether a message has no attempts left.
func (s *State) used(m *message) bool {
	limit := m.maxAttempts()
	return limit > 0 && m.attempt >= limit
}

// retry delays a message until its next attempt.
func (s *State) retry(m *message, f failure, doom dlq.Reason, out *Out) {
	delay := f.delay
	if delay == 0 {
		delay = m.q.settings.Backoff.Delay(int(m.attempt), m.seq^uint64(m.q.id)<<48)
	}
	emit(s, out, failRecord{
		identity: m.identity(), outcome: f.outcome, attempt: m.attempt,
		at: f.at, due: f.at + int64(delay), doom: doom, error: f.text,
	})
	out.tell(Event{
		Kind: EventRetried, At: s.now, Queue: m.q.name, Seq: m.seq, Attempt: m.attempt,
		Outcome: f.outcome, Delay: delay, Error: f.text,
	})
}

// giveBack makes a message ready that was not worked on.
func (s *State) giveBack(m *message, f failure, out *Out) {
	emit(s, out, failRecord{
		identity: m.identity(), outcome: dlq.OutcomeGivenBack, attempt: m.attempt - 1,
		at: f.at, due: f.at + int64(f.delay), error: f.text,
	})
}

// die moves a message to its dead-letter queue: from any phase.
func (s *State) die(m *message, reason dlq.Reason, f failure, out *Out) {
	q := m.q
	if m.letter() != nil || !q.settings.DeadLetter.Enabled {
		s.drop(m, reason, f, out)
		return
	}
	to := s.deadLetterQueue(q, out)
	if to.full(int64(m.size)) != nil {
		s.postpone(m, reason, f, to, out)
		return
	}
	text := f.text
	if last, ok := m.history().Last(); ok && text == "" {
		text = last.Error
	}
	outcome := f.outcome
	if m.phase != phaseInFlight {
		outcome = 0
	}
	place, size, seq, attempt := m.place, m.size, m.seq, m.attempt
	record := dieRecord{
		identity: m.identity(), to: identity{to.id, to.next}, origin: q.name,
		outcome: outcome, reason: reason, at: f.at, error: text,
	}
	emit(s, out, record)
	q.totals.Died[reason]++
	out.tell(Event{
		Kind: EventDied, At: s.now, Queue: q.name, Seq: seq, Attempt: attempt, Error: text,
		DLQ: to.name, DLQSeq: record.to.seq, Place: place, Size: size, Letter: m.letter(),
	})
}

// drop gives a message up that no dead-letter queue keeps.
func (s *State) drop(m *message, reason dlq.Reason, f failure, out *Out) {
	q, seq, attempt := m.q, m.seq, m.attempt
	emit(s, out, removeRecord{m.identity()})
	q.totals.Dropped++
	out.tell(Event{
		Kind: EventDropped, At: s.now, Queue: q.name, Seq: seq, Attempt: attempt,
		Error: reason.String() + ": " + f.text,
	})
}

// postpone keeps a message that cannot die yet out of delivery: the
// dead-letter queue has a limit and has reached it.
func (s *State) postpone(m *message, reason dlq.Reason, f failure, to *queue, out *Out) {
	outcome := f.outcome
	if outcome == 0 {
		outcome = dlq.OutcomeTimeout
	}
	emit(s, out, failRecord{
		identity: m.identity(), outcome: outcome, attempt: m.attempt,
		at: f.at, due: s.now + int64(postponed), doom: reason, error: f.text,
	})
	out.tell(Event{
		Kind: EventDLQFull, At: s.now, Queue: m.q.name, Seq: m.seq, Attempt: m.attempt,
		DLQ: to.name, Error: f.text,
	})
}

// postponed is how long a death waits for room.
const postponed = 10 * time.Second

// deadLetterQueue finds the queue for the dead of q, or makes it.
func (s *State) deadLetterQueue(q *queue, out *Out) *queue {
	name := q.settings.DLQName(q.name)
	if to := s.byName[name]; to != nil {
		return to
	}
	return s.create(name, s.cfg.Defaults, FromUse, out)
}

// expired tells whether a message's time is over.
func (s *State) expired(m *message) bool {
	if m.more != nil && m.more.expires != 0 && m.more.expires <= s.now {
		return true
	}
	return m.q.settings.MaxAge > 0 && m.since+int64(m.q.settings.MaxAge) <= s.now
}

// overAge tells whether the first ready message has expired.
func (s *State) overAge(q *queue, h head) bool {
	if h.object != nil {
		return s.expired(h.object)
	}
	return q.settings.MaxAge > 0 && h.at+int64(q.settings.MaxAge) <= s.now
}

// expire ends the life of a waiting message whose time is over.
func (s *State) expire(q *queue, h head, out *Out) {
	m := h.object
	if m == nil {
		m = s.take(q, h.seq)
		s.makeReady(m)
	}
	s.die(m, dlq.ReasonExpired, failure{at: s.now}, out)
}

func (s *State) countFailure(q *queue, outcome dlq.Outcome) {
	switch outcome {
	case dlq.OutcomeNak:
		q.totals.Naked++
	case dlq.OutcomeTimeout:
		q.totals.TimedOut++
	case dlq.OutcomeGone:
		q.totals.Gone++
	case dlq.OutcomeGivenBack:
		q.totals.GivenBack++
	case dlq.OutcomeTerminated:
		q.totals.Terminated++
	}
}

func (o *Out) tell(e Event) { o.Events = append(o.Events, e) }
