package queue

import (
	"cmp"
	"slices"

	"dsend/dlq"
)

func (m *model) offer(q *mQueue, taker any) {
	if !slices.Contains(q.turn, taker) {
		q.turn = append(q.turn, taker)
	}
}

func (m *model) withdraw(q *mQueue, taker any) {
	q.turn = slices.DeleteFunc(q.turn, func(t any) bool { return t == taker })
}

func (m *model) pull(op *Pull) {
	q := m.named(op.Queue)
	waiting := 0
	for _, p := range m.pulls {
		if p.queue == q {
			waiting++
		}
	}
	status := Status(0)
	switch {
	case m.stopping:
		status = StatusShutdown
	case op.Batch < 1:
		status = StatusBadRequest
	case op.Consumer != PullConsumer && (q == nil || q.consumer(op.Consumer) == nil):
		status = StatusRemoved
	case q == nil:
		status = StatusNoQueue
	case m.cfg.MaxWaiting > 0 && waiting >= m.cfg.MaxWaiting || m.crowded(q.consumer(op.Consumer)):
		status = StatusMaxWaiting
	}
	bound := int64(0)
	if k := m.asked(q, op); status == 0 && k != nil {
		switch s := k.settings; {
		case s.MaxBatch > 0 && op.Batch > s.MaxBatch:
			status, bound = StatusMaxBatch, int64(s.MaxBatch)
		case s.MaxExpires > 0 && op.Expires > s.MaxExpires:
			status, bound = StatusMaxExpires, int64(s.MaxExpires)
		case s.MaxBytes > 0 && op.MaxBytes > s.MaxBytes:
			status, bound = StatusMaxBytes, int64(s.MaxBytes)
		}
	}
	if status != 0 {
		m.say(Speech{Inbox: op.Inbox, Status: status, Bound: bound, PendingMessages: max(0, op.Batch), PendingBytes: op.MaxBytes})
		return
	}
	m.serial++
	p := &mPull{Pull: *op, serial: m.serial, queue: q, via: q.consumer(op.Consumer), bytes: op.MaxBytes}
	if op.Expires > 0 {
		p.expires = m.now + int64(op.Expires)
	}
	m.beat(p)
	m.pulls = append(m.pulls, p)
	m.wait(p)
	m.matchQueue(q)
}

func (m *model) beat(p *mPull) {
	if p.Heartbeat > 0 {
		p.beat = m.now + int64(p.Heartbeat)
	}
}

func (m *model) finish(p *mPull, status Status) {
	m.end(p)
	m.say(Speech{
		Inbox: p.Inbox, Queue: p.queue.name, Consumer: p.Consumer, Status: status,
		PendingMessages: p.Batch - p.given, PendingBytes: p.bytes,
	})
}

func (m *model) end(p *mPull) {
	m.pulls = slices.DeleteFunc(m.pulls, func(o *mPull) bool { return o == p })
	m.stopWaiting(p)
	m.tidy(p.Peer)
}

// tidy forgets that a peer is away that neither waits nor holds.
func (m *model) tidy(peer string) {
	if !m.holds(peer) {
		delete(m.gone, peer)
	}
}

func (m *model) interest(op *Interest) {
	for _, p := range m.pulls {
		switch {
		case p.Peer != op.Peer || !dlq.MatchSubject(op.Inbox, p.Inbox):
		case op.Present:
			p.lost = 0
			m.wait(p)
		case p.lost == 0:
			p.lost = m.now + int64(m.cfg.Grace)
			m.stopWaiting(p)
		}
	}
}

func (m *model) peer(op *Peer) {
	switch {
	case !m.holds(op.Peer):
	case op.Present:
		delete(m.gone, op.Peer)
	case m.gone[op.Peer] == 0:
		m.gone[op.Peer] = m.now + int64(cmp.Or(op.Grace, m.cfg.Grace))
	}
}

func (m *model) members(op *Members) {
	q := m.named(op.Queue)
	if q == nil {
		return
	}
	g := q.group(op.Group)
	g.members = max(0, op.Count)
	m.settle(q, g)
}

// group finds a group, or makes it.
func (q *mQueue) group(name string) *mGroup {
	for _, g := range q.groups {
		if g.name == name {
			return g
		}
	}
	g := &mGroup{name: name}
	q.groups = append(q.groups, g)
	return g
}

func (m *model) settle(q *mQueue, g *mGroup) {
	switch held := q.held(g.name); {
	case held < g.members*q.settings.Push.MaxInFlightPerWorker:
		m.offer(q, g)
	default:
		m.withdraw(q, g)
		if held == 0 && g.members == 0 {
			q.groups = slices.DeleteFunc(q.groups, func(o *mGroup) bool { return o == g })
		}
	}
}

func (m *model) settleAll(q *mQueue) {
	groups := slices.SortedFunc(slices.Values(q.groups), func(a, b *mGroup) int { return cmp.Compare(a.name, b.name) })
	for _, g := range groups {
		m.settle(q, g)
	}
}

func (m *model) match(now int64) {
	m.now = now
	for _, q := range m.queues {
		m.matchQueue(q)
	}
}

func (m *model) matchQueue(q *mQueue) {
	for !q.paused && !q.settings.Paused && !m.stopping && q.count(phaseInFlight) < int64(q.settings.MaxInFlight) && len(q.turn) > 0 {
		x := q.first()
		if x == nil || m.expired(q, x) || q.used(x) {
			break
		}
		taker := q.turn[0]
		q.turn = append(q.turn[1:], taker)
		switch t := taker.(type) {
		case *mGroup:
			m.push(q, x, t)
		case *mPull:
			m.serve(q, x, t)
		case *mConsumer:
			p := t.turn[0]
			t.turn = append(t.turn[1:], p)
			m.serve(q, x, p)
		}
	}
	for _, p := range slices.Clone(m.pulls) { // those that do not wait
		switch {
		case p.queue != q || !p.NoWait:
		case p.given > 0:
			m.finish(p, StatusTimeout)
		case p.Expires == 0:
			m.finish(p, StatusNoMessages)
		}
	}
}

func (m *model) push(q *mQueue, x *mMessage, g *mGroup) {
	m.deliver(q, x, holder{consumer: PushConsumer, group: g.name})
	if q.held(g.name) >= g.members*q.settings.Push.MaxInFlightPerWorker {
		m.withdraw(q, g)
	}
	sp := m.delivery(q, x)
	sp.Group, sp.Subject = g.name, q.settings.Push.Subject
	m.say(sp)
}

func (m *model) serve(q *mQueue, x *mMessage, p *mPull) {
	cost := int(x.size) + p.Overhead
	if p.MaxBytes > 0 && cost > p.bytes {
		m.finish(p, StatusTooBig)
		return
	}
	m.deliver(q, x, holder{consumer: p.Consumer, peer: p.Peer})
	p.given++
	if p.MaxBytes > 0 {
		p.bytes -= cost
	}
	if p.via != nil {
		p.via.note(x)
		m.attend(q, p.via)
	}
	sp := m.delivery(q, x)
	sp.Inbox = p.Inbox
	m.say(sp)
	switch {
	case p.given < p.Batch:
		m.beat(p)
	case p.MaxBytes > 0:
		m.finish(p, StatusBatchCompleted)
	default:
		m.end(p)
	}
}

func (m *model) deliver(q *mQueue, x *mMessage, to holder) {
	q.deliveries++
	x.plain = false
	x.phase, x.holder, x.handed = phaseInFlight, to, m.now
	x.attempt++
	x.delivery, x.due = q.deliveries, m.now+q.timeout(x)
	q.totals.Delivered++
}

func (m *model) delivery(q *mQueue, x *mMessage) Speech {
	return Speech{
		Queue: q.name, QueueID: q.id, Consumer: x.holder.consumer, Seq: x.seq, Attempt: x.attempt, Delivery: x.delivery,
		At: x.at, Deadline: x.due, Pending: q.count(phaseReady), Letter: x.letter,
	}
}
