package queue

import (
	"cmp"
	"slices"
	"time"
)

type mConsumer struct {
	name           string
	settings       ConsumerSettings
	turn           []*mPull
	delivered, top uint64
	active         int64
	idle           int64
}

func (q *mQueue) consumer(name string) *mConsumer {
	for _, k := range q.consumers {
		if k.name == name {
			return k
		}
	}
	return nil
}

// via is the consumer that a holder pulled through.
func (q *mQueue) via(h holder) *mConsumer {
	if h.group != "" {
		return nil
	}
	return q.consumer(h.consumer)
}

// allowed is how many attempts a message has that has no number of its own: by
// its holder, or by the most patient one.
func (q *mQueue) allowed(x *mMessage) int {
	most := q.settings.MaxAttempts
	if x.phase == phaseInFlight {
		if k := q.via(x.holder); k != nil && k.settings.MaxAttempts > 0 {
			return k.settings.MaxAttempts
		}
		return most
	}
	for _, k := range q.consumers {
		if most > 0 {
			most = max(most, k.settings.MaxAttempts)
		}
	}
	return most
}

func (q *mQueue) backoff(x *mMessage) time.Duration {
	if k := q.via(x.holder); k != nil && len(k.settings.Backoff) > 0 {
		return k.settings.Backoff[min(int(x.attempt), len(k.settings.Backoff))-1]
	}
	return q.settings.Backoff.Delay(int(x.attempt), x.seq^uint64(q.id)<<48)
}

// inFlight are the messages that a consumer's workers have.
func (q *mQueue) inFlight(k *mConsumer) (list []*mMessage) {
	for _, x := range q.messages {
		if x.phase == phaseInFlight && q.via(x.holder) == k {
			list = append(list, x)
		}
	}
	return list
}

func (m *model) waiting(k *mConsumer) (n int) {
	for _, p := range m.pulls {
		if p.via == k {
			n++
		}
	}
	return n
}

func (m *model) crowded(k *mConsumer) bool {
	return k != nil && k.settings.MaxWaiting > 0 && m.waiting(k) >= k.settings.MaxWaiting
}

// asked is the consumer that a pull names, if its queue has it.
func (m *model) asked(q *mQueue, op *Pull) *mConsumer {
	if q == nil {
		return nil
	}
	return q.consumer(op.Consumer)
}

// wait puts a pull into the turn, stopWaiting takes it out.
func (m *model) wait(p *mPull) {
	k := p.via
	if k == nil {
		m.offer(p.queue, p)
		return
	}
	if !slices.Contains(k.turn, p) {
		k.turn = append(k.turn, p)
	}
	m.attend(p.queue, k)
}

func (m *model) stopWaiting(p *mPull) {
	k := p.via
	if k == nil {
		m.withdraw(p.queue, p)
		return
	}
	k.turn = slices.DeleteFunc(k.turn, func(o *mPull) bool { return o == p })
	m.attend(p.queue, k)
}

// attend puts a consumer into the turn of its queue, or takes it out.
func (m *model) attend(q *mQueue, k *mConsumer) {
	held := len(q.inFlight(k))
	room := k.settings.MaxInFlight == 0 || held < k.settings.MaxInFlight
	if len(k.turn) > 0 && room && k.settings.PausedUntil <= m.now {
		m.offer(q, k)
	} else {
		m.withdraw(q, k)
	}
	switch {
	case held > 0 || m.waiting(k) > 0:
		k.idle = 0
	case k.idle == 0:
		k.idle = m.now
	}
}

func (k *mConsumer) note(x *mMessage) {
	k.delivered, k.top, k.active = x.delivery, max(k.top, x.seq), x.handed
}

func (m *model) onConsumer(op Op, queue, name string, do func(*mQueue, *mConsumer, *Reply)) {
	m.onQueue(op, queue, func(q *mQueue, r *Reply) {
		if k := q.consumer(name); k != nil {
			do(q, k, r)
		} else {
			r.Err = refusal(NoConsumer)
		}
	})
}

func (m *model) declareConsumer(op *DeclareConsumer, q *mQueue, r *Reply) {
	k := q.consumer(op.Name)
	same := k != nil && k.settings.Equal(op.Settings)
	switch {
	case !ValidConsumerName(op.Name):
		r.Err = refusal(BadName)
	case k == nil && op.MustExist:
		r.Err = refusal(NoConsumer)
	case op.Settings.MaxAttempts < 0 || op.Settings.VisibilityTimeout < 0:
		r.Err = refusal(BadSettings)
	case k != nil && op.MustCreate && !same:
		r.Err = refusal(Exists)
	case same:
	default:
		fresh := k == nil
		if fresh {
			k = &mConsumer{name: op.Name}
			q.consumers = append(q.consumers, k)
			slices.SortFunc(q.consumers, func(a, b *mConsumer) int { return cmp.Compare(a.name, b.name) })
		}
		k.settings, k.idle = op.Settings, 0
		m.attend(q, k)
		if fresh {
			m.adopt(q, k)
		}
		r.Count = m.sweep(q)
	}
}

// adopt gives a consumer the pulls that waited for it at the queue itself.
func (m *model) adopt(q *mQueue, k *mConsumer) {
	for _, p := range m.pulls {
		if p.queue == q && p.via == nil && p.Consumer == k.name {
			m.stopWaiting(p)
			p.via = k
			if p.lost == 0 {
				m.wait(p)
			}
		}
	}
	m.attend(q, k)
}

func (m *model) removeConsumer(q *mQueue, k *mConsumer, r *Reply) {
	for _, p := range slices.Clone(m.pulls) {
		if p.via == k {
			m.finish(p, StatusRemoved)
		}
	}
	m.forget(q, k)
	r.Count = m.sweep(q)
}

func (m *model) forget(q *mQueue, k *mConsumer) {
	m.withdraw(q, k)
	q.consumers = slices.DeleteFunc(q.consumers, func(o *mConsumer) bool { return o == k })
}

func (m *model) pauseConsumer(op *PauseConsumer, q *mQueue, k *mConsumer) {
	until := op.Until
	if until <= m.now {
		until = 0
	}
	if until != k.settings.PausedUntil {
		k.settings.PausedUntil, k.idle = until, 0
	}
	m.attend(q, k)
}

// consumersRing ends pauses, and removes the consumers that nobody used for too
// long.
func (m *model) consumersRing() {
	for _, q := range slices.Clone(m.queues) {
		for _, k := range slices.Clone(q.consumers) {
			threshold := int64(k.settings.InactiveThreshold)
			if threshold > 0 && k.idle != 0 && k.idle+threshold <= m.now {
				m.forget(q, k)
				m.sweep(q)
				continue
			}
			m.attend(q, k)
		}
	}
}

// consumerInfo is what the model says of a consumer.
func (m *model) consumerInfo(q *mQueue, k *mConsumer) ConsumerInfo {
	i := ConsumerInfo{
		Queue: q.name, Name: k.name, Settings: k.settings, Paused: k.settings.PausedUntil > m.now,
		Waiting: m.waiting(k), Pending: q.count(phaseReady),
		Delivered: k.delivered, TopSeq: k.top, Active: k.active, Answered: k.delivered, DoneSeq: k.top,
	}
	for _, x := range q.inFlight(k) {
		i.InFlight++
		if x.attempt > 1 {
			i.Redelivered++
		}
		if x.delivery <= k.delivered { // not from before it was made anew
			i.Answered = min(i.Answered, x.delivery-1)
		}
	}
	if all := q.sorted(); len(all) > 0 {
		i.DoneSeq = min(i.DoneSeq, all[0].seq-1)
	}
	return i
}
