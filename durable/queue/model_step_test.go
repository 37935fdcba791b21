package queue

import (
	"cmp"
	"slices"

	"dsend/dlq"
)

func (m *model) step(op Op, now int64) {
	m.now = now
	switch op := op.(type) {
	case *Publish:
		m.publish(op)
	case *Answer:
		m.answer(op)
	case *Pull:
		m.pull(op)
	case *Members:
		m.members(op)
	case *Interest:
		m.interest(op)
	case *Peer:
		m.peer(op)
	case *Configure:
		m.cfg = op.Config
		m.reply(Reply{Op: op})
	case *Declare:
		m.declare(op)
	case *Undeclare:
		m.onQueue(op, op.Name, func(q *mQueue, r *Reply) { q.orphan = true })
	case *Remove:
		m.onQueue(op, op.Name, m.remove)
	case *Pause:
		m.onQueue(op, op.Name, func(q *mQueue, r *Reply) { m.pause(op, q, r) })
	case *Purge:
		m.onQueue(op, op.Name, func(q *mQueue, r *Reply) { m.purge(op, q, r) })
	case *Delete:
		m.onMessage(op, op.Name, op.Seq, m.delete)
	case *Kill:
		m.onMessage(op, op.Name, op.Seq, func(q *mQueue, x *mMessage, r *Reply) { m.kill(op, q, x, r) })
	case *Replay:
		m.onMessage(op, op.Name, op.Seq, func(q *mQueue, x *mMessage, r *Reply) { m.replay(op, q, x, r) })
	case *DeclareConsumer:
		m.onQueue(op, op.Queue, func(q *mQueue, r *Reply) { m.declareConsumer(op, q, r) })
	case *RemoveConsumer:
		m.onConsumer(op, op.Queue, op.Name, m.removeConsumer)
	case *PauseConsumer:
		m.onConsumer(op, op.Queue, op.Name, func(q *mQueue, k *mConsumer, r *Reply) { m.pauseConsumer(op, q, k) })
	case *Carry:
		m.reply(Reply{Op: op})
	case *Space:
		m.low = op.Low
	case *Stop:
		m.stop()
	}
}

func (m *model) onQueue(op Op, name string, do func(*mQueue, *Reply)) {
	r := Reply{Op: op}
	if q := m.named(name); q != nil {
		do(q, &r)
	} else {
		r.Err = refusal(NoQueue)
	}
	m.reply(r)
}

func (m *model) onMessage(op Op, name string, seq uint64, do func(*mQueue, *mMessage, *Reply)) {
	m.onQueue(op, name, func(q *mQueue, r *Reply) {
		if x := q.find(seq); x != nil {
			do(q, x, r)
		} else {
			r.Err = refusal(NoMessage)
		}
	})
}

func (m *model) publish(op *Publish) {
	q := m.named(op.Queue)
	r := Reply{Op: op, Queue: op.Queue}
	defer func() { m.reply(r) }()
	takes := q != nil && !q.orphan && !m.stopping
	if takes && op.ID != "" && q.settings.DedupeWindow > 0 {
		for _, id := range q.ids {
			if id.id == op.ID && id.expires > m.now {
				q.totals.Duplicates++
				r.Seq, r.Duplicate = id.seq, true
				return
			}
		}
	}
	code := m.forbids(q, op)
	if code == 0 && q == nil {
		q = m.create(op.Queue, m.cfg.Defaults, FromUse)
		takes = true
	}
	var x *mMessage
	if code == 0 {
		x = m.message(q, op)
		code = q.full(x.size)
	}
	if code != 0 {
		if takes {
			q.totals.Refused++
		}
		if code == FullMessages || code == FullBytes {
			m.tell(Event{Kind: EventFull, Queue: op.Queue})
		}
		r.Err = refusal(code)
		return
	}
	q.messages = append(q.messages, x)
	q.next++
	q.totals.Published++
	if op.ID != "" && q.settings.DedupeWindow > 0 {
		q.ids = append(q.ids, mID{op.ID, x.seq, m.now + int64(q.settings.DedupeWindow)})
	}
	r.Seq = x.seq
}

func (m *model) forbids(q *mQueue, op *Publish) Code {
	settings := m.cfg.Defaults
	if q != nil {
		settings = q.settings
	}
	size := int64(len(op.Header) + len(op.Body))
	switch {
	case m.stopping:
		return Stopping
	case q != nil && q.orphan:
		return Undeclared
	case q == nil && !ValidName(op.Queue):
		return BadName
	case q == nil && !m.cfg.AutoCreate:
		return NoQueue
	case m.low:
		return NoSpace
	case settings.MaxMessageSize > 0 && size > settings.MaxMessageSize:
		return TooLarge
	case op.Delay < 0 || op.Delay > MaxDelay || op.HasPriority && op.Priority > 9:
		return BadOption
	}
	return 0
}

func (m *model) message(q *mQueue, op *Publish) *mMessage {
	x := &mMessage{
		queue: q.id, seq: q.next, at: m.now, since: m.now, key: op.Key, priority: DefaultPriority,
		maxAttempts: max(-1, op.MaxAttempts), visibility: op.Visibility, phase: phaseReady,
	}
	if op.HasPriority {
		x.priority = op.Priority
	}
	if op.Delay > 0 {
		x.phase, x.due = phaseDelayed, m.now+int64(op.Delay)
	}
	if op.TTL > 0 {
		x.expires = m.now + int64(op.TTL)
	}
	x.plain = x.key == "" && x.maxAttempts < 0 && x.visibility == 0 && x.expires == 0 && x.phase == phaseReady
	record := Message{
		QueueID: q.id, Seq: x.seq, At: x.at, Key: x.key, Priority: x.priority, Due: x.due, Expires: x.expires,
		MaxAttempts: x.maxAttempts, Visibility: x.visibility, Subject: op.Subject, Header: op.Header, Body: op.Body,
	}
	if op.ID != "" && q.settings.DedupeWindow > 0 {
		record.ID, record.IDExpires = op.ID, m.now+int64(q.settings.DedupeWindow)
	}
	x.size = int64(len(record.encode(nil)))
	return x
}

func (m *model) create(name string, settings Settings, source Source) *mQueue {
	m.lastID++
	q := &mQueue{id: m.lastID, name: name, settings: settings, source: source, next: 1}
	m.queues = append(m.queues, q)
	m.tell(Event{Kind: EventCreated, Queue: name})
	return q
}

func (m *model) declare(op *Declare) {
	q := m.named(op.Name)
	r := Reply{Op: op}
	switch {
	case !ValidName(op.Name):
		r.Err = refusal(BadName)
	case op.MustCreate && q != nil:
		r.Err = refusal(Exists)
	case op.MustExist && q == nil:
		r.Err = refusal(NoQueue)
	case op.Settings.Validate(op.Name) != nil:
		r.Err = refusal(BadSettings)
	case m.overlaps(op):
		r.Err = refusal(Overlaps)
	case q == nil:
		m.create(op.Name, op.Settings, op.Source)
	case q.orphan || q.source != op.Source || !q.settings.Equal(op.Settings):
		q.orphan, q.source, q.settings = false, op.Source, op.Settings
		m.tell(Event{Kind: EventUpdated, Queue: q.name})
		m.settleAll(q)
		r.Count = m.sweep(q)
	}
	m.reply(r)
}

func (m *model) overlaps(op *Declare) bool {
	for _, q := range m.queues {
		for _, theirs := range q.settings.Subjects {
			for _, mine := range op.Settings.Subjects {
				if q.name != op.Name && !q.orphan && Overlap(mine, theirs) {
					return true
				}
			}
		}
	}
	return false
}

func (m *model) sweep(q *mQueue) (n int) {
	for _, x := range q.sorted() {
		if x.phase != phaseInFlight && x.doom == 0 && q.used(x) {
			m.die(x, dlq.ReasonLimitLowered, failure{at: m.now})
			n++
		}
	}
	return n
}

func (m *model) remove(q *mQueue, r *Reply) {
	r.Count = len(q.messages)
	m.endPulls(q, StatusRemoved)
	for _, x := range slices.Clone(q.messages) {
		m.discard(x)
	}
	m.queues = slices.DeleteFunc(m.queues, func(o *mQueue) bool { return o == q })
	m.tell(Event{Kind: EventRemoved, Queue: q.name, Count: r.Count})
}

func (m *model) endPulls(q *mQueue, status Status) {
	for _, p := range slices.Clone(m.pulls) {
		if p.queue == q {
			m.finish(p, status)
		}
	}
}

func (m *model) stop() {
	m.stopping = true
	for _, q := range m.queues {
		m.endPulls(q, StatusShutdown)
	}
}

func (m *model) pause(op *Pause, q *mQueue, r *Reply) {
	switch {
	case !op.Pause && q.settings.Paused:
		r.Err = refusal(PausedByConfig)
	case op.Pause != q.paused:
		q.paused = op.Pause
		kind := EventResumed
		if op.Pause {
			kind = EventPaused
		}
		m.tell(Event{Kind: kind, Queue: q.name})
	}
}

func (m *model) purge(op *Purge, q *mQueue, r *Reply) {
	all := q.sorted()
	keep := len(all) - int(op.Keep) // the first that stays
	for i, x := range all {
		if i < keep && (op.Upto == 0 || x.seq <= op.Upto) {
			m.discard(x)
			r.Count++
		}
	}
	if r.Count > 0 {
		q.totals.Removed += uint64(r.Count)
		m.tell(Event{Kind: EventPurged, Queue: q.name, Count: r.Count})
	}
}

func (m *model) delete(q *mQueue, x *mMessage, r *Reply) {
	m.discard(x)
	q.totals.Removed++
	r.Count = 1
}

func (m *model) kill(op *Kill, q *mQueue, x *mMessage, r *Reply) {
	if !q.settings.DeadLetter.Enabled || x.letter != nil {
		r.Err = refusal(NoDLQ)
		return
	}
	if code := m.deadLetterQueue(q).full(x.size); code != 0 {
		r.Err = refusal(code)
		return
	}
	f := failure{at: m.now, text: op.Error}
	if x.phase == phaseInFlight {
		f.outcome = dlq.OutcomeManual
	}
	m.die(x, dlq.ReasonManual, f)
	r.Count = 1
}

func (m *model) replay(op *Replay, q *mQueue, x *mMessage, r *Reply) {
	switch {
	case x.letter == nil:
		r.Err = refusal(NotDead)
		return
	case x.phase == phaseInFlight:
		r.Err = refusal(Owned)
		return
	}
	to := m.named(cmp.Or(op.Target, x.letter.OriginQueue))
	if to == nil {
		r.Err = refusal(NoQueue)
		return
	}
	if code := to.full(x.size); code != 0 {
		r.Err = refusal(code)
		return
	}
	dead := identity{q.id, x.seq}
	m.move(x, to)
	x.letter, x.origin, x.history = nil, identity{}, dlq.History{}
	x.replays++
	x.attempt, x.since, x.phase = 0, m.now, phaseReady
	to.totals.Replayed++
	r.Queue, r.Seq, r.Count = to.name, x.seq, 1
	m.tell(Event{
		Kind: EventReplayed, Queue: to.name, Seq: x.seq, DLQ: op.Name, DLQSeq: dead.seq, Target: to.name, NewSeq: x.seq,
	})
}

func (m *model) move(x *mMessage, to *mQueue) {
	m.numbered(x.queue).take(x)
	x.queue, x.seq, x.delivery = to.id, to.next, 0
	to.next++
	to.messages = append(to.messages, x)
}

// discard forgets a message.
func (m *model) discard(x *mMessage) {
	m.leave(x)
	m.numbered(x.queue).take(x)
}

func (m *model) answer(op *Answer) {
	result := m.answered(op)
	name := ""
	if q := m.numbered(op.QueueID); q != nil {
		name = q.name
		switch t := &q.totals; {
		case result == ResultLate:
			t.Late++
			t.Acked++
		case result == ResultStale:
			t.Stale++
		case result == ResultGone:
			t.GoneAnswers++
		case result == ResultInvalid:
			t.Invalid++
		case op.Verb == Ack:
			t.Acked++
		case op.Verb == InProgress:
			t.Extended++
		}
	}
	if op.Next != nil {
		next := *op.Next
		next.Queue = name
		m.pull(&next)
	}
	if len(op.Reply) > 0 {
		m.reply(Reply{Op: op, Result: result})
	}
}

func (m *model) answered(op *Answer) Result {
	if op.Verb == Invalid || op.Delay < 0 || op.Delay > MaxDelay {
		return ResultInvalid
	}
	var x *mMessage
	for _, q := range m.queues {
		for _, y := range q.messages {
			if y.queue == op.QueueID && y.seq == op.Seq || y.letter != nil && y.origin == (identity{op.QueueID, op.Seq}) {
				x = y
			}
		}
	}
	switch {
	case x == nil:
		return ResultGone
	case x.phase == phaseInFlight && x.queue == op.QueueID && x.seq == op.Seq && x.delivery == op.Delivery:
		m.owned(x, op)
		return ResultOK
	case op.Verb == Ack:
		q := m.numbered(x.queue)
		m.discard(x)
		m.tell(Event{Kind: EventLateAck, Queue: q.name, Seq: x.seq, Attempt: x.attempt})
		return ResultLate
	}
	return ResultStale
}

func (m *model) owned(x *mMessage, op *Answer) {
	q := m.numbered(x.queue)
	f := failure{at: m.now, text: op.Error}
	switch op.Verb {
	case Ack:
		m.discard(x)
	case InProgress:
		until := m.now + q.timeout(x)
		if hold := int64(q.settings.MaxHold); hold > 0 {
			until = min(until, x.handed+hold)
		}
		x.due = max(x.due, until)
	case Term:
		f.outcome = dlq.OutcomeTerminated
		m.fail(x, f)
	case Nak:
		f.outcome, f.delay, f.uncounted = dlq.OutcomeNak, op.Delay, op.Uncounted
		if op.Uncounted {
			f.outcome = dlq.OutcomeGivenBack
		}
		m.fail(x, f)
	}
}
