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
		s.retry(m, f, out)
	}
}

// used tells whether a message has no attempts left.
func (s *State) used(m *message) bool {
	limit := m.maxAttempts()
	return limit > 0 && m.attempt >= limit
}

// retry delays a message until its next attempt.
func (s *State) retry(m *message, f failure, out *Out) {
	delay := f.delay
	if delay == 0 {
		delay = m.delay()
	}
	emit(s, out, failRecord{
		identity: m.identity(), outcome: f.outcome, attempt: m.attempt,
		at: f.at, due: f.at + int64(delay), error: f.text,
	})
	out.tell(Event{
		Kind: EventRetried, At: s.now, Queue: m.q.name, Seq: m.seq, Attempt: m.attempt,
		Outcome: f.outcome, Delay: delay, Error: f.text,
	})
}

// giveBack makes a message ready that was not worked on; if the limit was
// lowered while it was out, it may have no attempt left.
func (s *State) giveBack(m *message, f failure, out *Out) {
	emit(s, out, failRecord{
		identity: m.identity(), outcome: dlq.OutcomeGivenBack, attempt: m.attempt - 1,
		at: f.at, due: f.at + int64(f.delay), error: f.text,
	})
	if s.used(m) {
		s.die(m, dlq.ReasonLimitLowered, failure{at: s.now}, out)
	}
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
	outcome := f.outcome
	if m.phase != phaseInFlight {
		outcome = 0
	}
	place, size, seq, attempt := m.place, m.size, m.seq, m.attempt
	record := dieRecord{
		identity: m.identity(), to: identity{to.id, to.next}, origin: q.name,
		outcome: outcome, reason: reason, at: f.at, error: f.text,
	}
	emit(s, out, record)
	q.totals.died(reason)
	out.tell(Event{
		Kind: EventDied, At: s.now, Queue: q.name, Seq: seq, Attempt: attempt, Error: m.letter().Error,
		DLQ: to.name, DLQSeq: record.to.seq, Place: place, Size: size, Letter: m.letter(),
	})
}

// drop gives a message up that no dead-letter queue keeps.
func (s *State) drop(m *message, reason dlq.Reason, f failure, out *Out) {
	q, seq, attempt := m.q, m.seq, m.attempt
	emit(s, out, removeRecord{m.identity()})
	q.totals.Dropped++
	out.tell(Event{Kind: EventDropped, At: s.now, Queue: q.name, Seq: seq, Attempt: attempt, Reason: reason, Error: f.text})
}

// postpone keeps a message that cannot die yet out of delivery: the
// dead-letter queue has a limit and has reached it. That it is doomed is said
// once; when it tries again is nobody's business, and not kept.
func (s *State) postpone(m *message, reason dlq.Reason, f failure, to *queue, out *Out) {
	if m.doom != 0 {
		s.deadlines.Set(m, s.now+int64(postponed))
		return
	}
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
	return s.create(name, s.cfg.Defaults.ForDead(name), FromDeath, out)
}

// expired tells whether a message's time is over.
func (s *State) expired(m *message) bool {
	if m.more != nil && m.more.expires != 0 && m.more.expires <= s.now {
		return true
	}
	return m.q.settings.MaxAge > 0 && m.since+int64(m.q.settings.MaxAge) <= s.now
}

// overAge tells whether a plain message of a publish time has expired.
func (s *State) overAge(q *queue, at int64) bool {
	return q.settings.MaxAge > 0 && at+int64(q.settings.MaxAge) <= s.now
}

// condemned tells whether a ready message must die and not be delivered.
func (s *State) condemned(q *queue, h head) bool {
	if h.object == nil {
		return s.overAge(q, h.at)
	}
	return s.expired(h.object) || s.used(h.object)
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

// died counts a death; a reason this version has no word for is not counted.
func (t *Totals) died(reason dlq.Reason) {
	if int(reason) < len(t.Died) {
		t.Died[reason]++
	}
}

func (o *Out) tell(e Event) { o.Events = append(o.Events, e) }
