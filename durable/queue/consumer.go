package queue

import (
	"container/list"
	"math"
	"slices"

	"dsend/retry"
)

// PullConsumer is the consumer that every queue has without being told: it has
// the queue's settings, until somebody declares it.
const PullConsumer = "pull"

// consumer is a named group of workers that pull, with settings of its own.
type consumer struct {
	q        *queue
	name     string
	settings ConsumerSettings
	created  int64
	commit   uint64 // where its newest record is

	delivered uint64 // number of its last delivery
	top       uint64 // the highest number of a message that was delivered here
	active    int64  // when it delivered last

	held    int // messages in flight through it
	waiting int // requests
	turn    turn
	idle    int64 // since when nothing waits nor is in flight; 0 if something does, or nobody knows
	bell    retry.Deadline
	element *list.Element
}

func (c *consumer) place() **list.Element  { return &c.element }
func (c *consumer) alarm() *retry.Deadline { return &c.bell }
func (c *consumer) rank() rank             { return rank{3, uint64(c.q.id), c.name} }

func (c *consumer) paused(now int64) bool { return c.settings.PausedUntil > now }

// open tells whether it takes a message now.
func (c *consumer) open(now int64) bool {
	limit := c.settings.MaxInFlight
	return c.turn.Len() > 0 && !c.paused(now) && (limit == 0 || c.held < limit)
}

// via is the consumer that a holder pulled through; nil if that is the queue
// itself, or is gone.
func (q *queue) via(h hand) *consumer {
	if len(q.consumers) == 0 {
		return nil
	}
	to := inHand(h)
	if to.group != "" {
		return nil
	}
	return q.consumers[to.consumer]
}

// attend puts a consumer into the turn of its queue or takes it out, and sets
// its alarm. Whoever changes what it holds, who waits, or its settings, calls
// it.
func (s *State) attend(c *consumer) {
	if c.open(s.now) {
		c.q.demand.turn.offer(c)
		s.touch(c.q)
	} else {
		c.q.demand.turn.withdraw(c)
	}
	switch {
	case c.waiting > 0 || c.held > 0:
		c.idle = 0
	case c.idle == 0:
		c.idle = s.now
	}
	s.windConsumer(c)
}

// windConsumer sets the alarm of a consumer: the end of its pause, or of the
// patience with one that nobody uses.
func (s *State) windConsumer(c *consumer) {
	at := int64(math.MaxInt64)
	if c.paused(s.now) {
		at = c.settings.PausedUntil
	}
	if threshold := int64(c.settings.InactiveThreshold); threshold > 0 && c.idle != 0 {
		at = min(at, c.idle+threshold)
	}
	if at == math.MaxInt64 {
		s.alarms.Remove(c)
		return
	}
	s.alarms.Set(c, at)
}

// ring ends a pause, or removes a consumer that nobody uses.
func (c *consumer) ring(s *State, out *Out) {
	threshold := int64(c.settings.InactiveThreshold)
	if threshold > 0 && c.idle != 0 && c.idle+threshold <= s.now {
		before := c.q.attempts
		emit(s, out, dropConsumerRecord{c.q.id, c.name})
		s.relimit(c.q, before, out)
		return
	}
	s.attend(c)
}

// returned lets the consumers of a recovered queue be looked at when the first
// time is told: how long they were idle nobody knows.
func (s *State) returned(q *queue) {
	for _, c := range q.consumers {
		c.idle = 0
		s.alarms.Set(c, s.now)
	}
}

// consumersByName are the consumers of a queue, by name.
func (q *queue) consumersByName() []*consumer {
	list := make([]*consumer, 0, len(q.consumers))
	for _, c := range q.consumers {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *consumer) int { return a.rank().compare(b.rank()) })
	return list
}

// holding counts what is in flight through a name.
func (s *State) holding(q *queue, name string) (n int) {
	for m := range s.heldBy(q, name) {
		if m.peer != nil {
			n++
		}
	}
	return n
}

// heldBy walks the messages of a queue that are in flight through a name.
func (s *State) heldBy(q *queue, name string) func(yield func(*message) bool) {
	return func(yield func(*message) bool) {
		for _, p := range s.peers.m {
			for _, m := range p.held {
				if m.q == q && inHand(m.holder).consumer == name && !yield(m) {
					return
				}
			}
		}
	}
}

// patience is how many attempts a message that waits may have at the most, by
// the queue or any consumer; 0 is no limit.
func (q *queue) patience() int {
	limit := q.settings.MaxAttempts
	if limit == 0 {
		return 0
	}
	for _, c := range q.consumers {
		limit = max(limit, c.settings.MaxAttempts)
	}
	return limit
}
