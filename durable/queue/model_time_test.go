package queue

import (
	"cmp"
	"slices"

	"dsend/dlq"
)

// leave takes a message out of the hands of its holder.
func (m *model) leave(x *mMessage) {
	if x.phase != phaseInFlight {
		x.phase = 0
		return
	}
	x.phase = 0
	q := m.numbered(x.queue)
	if x.holder.group != "" {
		m.settle(q, q.group(x.holder.group))
	}
	if x.holder.peer != "" {
		m.tidy(x.holder.peer)
	}
	if k := q.via(x.holder); k != nil {
		m.attend(q, k)
	}
}

func (m *model) ended(x *mMessage, f failure) {
	if x.phase == phaseInFlight {
		x.history = x.history.Add(dlq.Attempt{
			At: x.handed, Ended: f.at, Worker: x.holder.String(), Outcome: f.outcome, Error: f.text,
		})
	}
}

func (m *model) fail(x *mMessage, f failure) {
	q := m.numbered(x.queue)
	switch t := &q.totals; f.outcome {
	case dlq.OutcomeNak:
		t.Naked++
	case dlq.OutcomeTimeout:
		t.TimedOut++
	case dlq.OutcomeGone:
		t.Gone++
	case dlq.OutcomeGivenBack:
		t.GivenBack++
	case dlq.OutcomeTerminated:
		t.Terminated++
	}
	switch {
	case f.uncounted:
		m.ended(x, f)
		m.leave(x)
		x.attempt--
		x.phase, x.due = phaseDelayed, f.at+int64(f.delay)
		if q.used(x) {
			m.die(x, dlq.ReasonLimitLowered, failure{at: m.now})
		}
	case f.outcome == dlq.OutcomeTerminated && x.letter == nil:
		m.die(x, dlq.ReasonTerminated, f)
	case q.used(x):
		m.die(x, dlq.ReasonMaxAttempts, f)
	case m.expired(q, x):
		m.die(x, dlq.ReasonExpired, f)
	default:
		delay := f.delay
		if delay == 0 {
			delay = q.backoff(x)
		}
		m.ended(x, f)
		m.leave(x)
		x.phase, x.due = phaseDelayed, f.at+int64(delay)
		m.tell(Event{
			Kind: EventRetried, Queue: q.name, Seq: x.seq, Attempt: x.attempt, Outcome: f.outcome, Delay: delay, Error: f.text,
		})
	}
}

func (m *model) deadLetterQueue(q *mQueue) *mQueue {
	name := q.settings.DLQName(q.name)
	if to := m.named(name); to != nil {
		return to
	}
	settings := m.cfg.Defaults
	settings.MaxMessages, settings.MaxBytes, settings.MaxMessageSize, settings.MaxAge, settings.Paused = 0, 0, 0, 0, false
	return m.create(name, settings, FromDeath)
}

func (m *model) die(x *mMessage, reason dlq.Reason, f failure) {
	q := m.numbered(x.queue)
	if x.letter != nil || !q.settings.DeadLetter.Enabled {
		m.discard(x)
		q.totals.Dropped++
		m.tell(Event{Kind: EventDropped, Queue: q.name, Seq: x.seq, Attempt: x.attempt, Reason: reason, Error: f.text})
		return
	}
	to := m.deadLetterQueue(q)
	if to.full(x.size) != 0 {
		m.postpone(x, reason, f, to)
		return
	}
	text := f.text
	if last, ok := x.history.Last(); ok && text == "" {
		text = last.Error
	}
	died := Event{Kind: EventDied, Queue: q.name, Seq: x.seq, Attempt: x.attempt, Error: text, DLQ: to.name}
	m.ended(x, f)
	m.leave(x)
	x.origin = identity{q.id, x.seq}
	x.letter = &dlq.Letter{
		Reason: reason, Error: text, DiedAt: f.at, OriginQueue: q.name, OriginSeq: x.seq, PublishedAt: x.at,
		Attempts: x.attempt, Replays: x.replays, History: x.history,
	}
	m.move(x, to)
	x.attempt, x.doom, x.since, x.expires, x.phase, x.plain = 0, 0, f.at, 0, phaseReady, false
	q.totals.Died[reason]++
	died.DLQSeq, died.Letter = x.seq, x.letter
	m.tell(died)
}

func (m *model) postpone(x *mMessage, reason dlq.Reason, f failure, to *mQueue) {
	if x.doom != 0 {
		x.due = m.now + int64(postponed)
		return
	}
	m.ended(x, f)
	m.leave(x)
	x.phase, x.due, x.doom, x.plain = phaseDelayed, m.now+int64(postponed), reason, false
	m.tell(Event{
		Kind: EventDLQFull, Queue: m.numbered(x.queue).name, Seq: x.seq, Attempt: x.attempt, DLQ: to.name, Error: f.text,
	})
}

// those are the messages of all queues for which what holds, in the order of a
// time, queues and numbers.
func (m *model) those(what func(*mQueue, *mMessage) bool, at func(*mQueue, *mMessage) int64) (list []*mMessage) {
	for _, q := range m.queues {
		for _, x := range q.messages {
			if what(q, x) {
				list = append(list, x)
			}
		}
	}
	slices.SortFunc(list, func(a, b *mMessage) int {
		x, y := at(m.numbered(a.queue), a), at(m.numbered(b.queue), b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.queue, b.queue), cmp.Compare(a.seq, b.seq))
	})
	return list
}

func (m *model) tick(now int64) {
	m.now = now
	for {
		due := m.those(
			func(_ *mQueue, x *mMessage) bool {
				return (x.phase == phaseDelayed || x.phase == phaseInFlight) && x.due <= m.now
			},
			func(_ *mQueue, x *mMessage) int64 { return x.due })
		if len(due) == 0 {
			break
		}
		for _, x := range due {
			m.isDue(x)
		}
	}
	over := m.those(
		func(q *mQueue, x *mMessage) bool {
			return !x.plain && x.phase != phaseInFlight && x.doom == 0 && m.expired(q, x)
		},
		(*mQueue).end)
	for _, x := range over {
		m.die(x, dlq.ReasonExpired, failure{at: m.now})
	}
	m.peersAreGone()
	m.pullsRing()
	for _, q := range slices.Clone(m.queues) {
		for _, x := range q.sorted() {
			if x.plain && m.expired(q, x) {
				m.die(x, dlq.ReasonExpired, failure{at: m.now})
			}
		}
	}
	m.consumersRing()
}

func (m *model) isDue(x *mMessage) {
	switch {
	case x.phase == phaseInFlight:
		m.fail(x, failure{outcome: dlq.OutcomeTimeout, at: x.due, text: "visibility timeout"})
	case x.doom != 0:
		m.die(x, x.doom, failure{at: m.now})
	default:
		x.phase = phaseReady
	}
}

func (m *model) peersAreGone() {
	var names []string
	for name, at := range m.gone {
		if at <= m.now {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		delete(m.gone, name)
		for _, p := range slices.Clone(m.pulls) {
			if p.Peer == name {
				m.end(p)
			}
		}
		held := m.those(
			func(_ *mQueue, x *mMessage) bool { return x.phase == phaseInFlight && x.holder.peer == name },
			func(*mQueue, *mMessage) int64 { return 0 })
		for _, x := range held {
			m.fail(x, failure{outcome: dlq.OutcomeGone, at: m.now, text: "worker gone"})
		}
	}
}

func (m *model) pullsRing() {
	for _, p := range slices.Clone(m.pulls) {
		switch {
		case p.lost != 0 && p.lost <= m.now:
			m.end(p)
		case p.expires != 0 && p.expires <= m.now:
			m.finish(p, StatusTimeout)
		case p.beat != 0 && p.beat <= m.now:
			if p.lost == 0 {
				m.say(Speech{
					Inbox: p.Inbox, Queue: p.queue.name, Consumer: p.Consumer, Delivery: p.queue.deliveries, Status: StatusHeartbeat,
				})
			}
			m.beat(p)
		}
	}
}
