package queue

import (
	"cmp"
	"slices"
	"time"

	"dsend/dlq"
)

// model is the rules again, as simply as they can be written: lists, linear
// search, nothing kept that can be counted. It is slow, and knows no log.
//
//	model_test.go          what there is
//	model_step_test.go     publishes, answers, people
//	model_demand_test.go   pulls and groups
//	model_consumer_test.go consumers
//	model_time_test.go     failure, death, and what time does
type model struct {
	cfg           Config
	now           int64
	low, stopping bool
	queues        []*mQueue
	lastID        uint32
	serial        uint64
	pulls         []*mPull         // that wait, in the order they came
	gone          map[string]int64 // peers that are away, and when that is final

	replies []Reply
	speech  []Speech
	events  []Event
}

type mQueue struct {
	id               uint32
	name             string
	settings         Settings
	source           Source
	paused, orphan   bool
	next, deliveries uint64
	messages         []*mMessage
	ids              []mID
	turn             []any // *mPull, *mGroup or *mConsumer: who is to be served, in turn
	groups           []*mGroup
	consumers        []*mConsumer
	totals           Totals
}

type mID struct {
	id      string
	seq     uint64
	expires int64
}

type mMessage struct {
	queue       uint32
	seq         uint64
	at, since   int64
	key         string
	priority    uint8
	maxAttempts int
	visibility  time.Duration
	expires     int64
	plain       bool // never anything but ready
	phase       phase
	attempt     uint32
	delivery    uint64
	due         int64 // of delayed and in flight
	doom        dlq.Reason
	handed      int64
	holder      holder
	history     dlq.History
	replays     uint32
	origin      identity
	letter      *dlq.Letter
	size        int64 // as the machine says: it changes when a message is carried forward
}

type mGroup struct {
	name    string
	members int
}

type mPull struct {
	Pull
	serial              uint64
	queue               *mQueue
	via                 *mConsumer
	given, bytes        int
	expires, beat, lost int64
}

func newModel(cfg Config) *model { return &model{cfg: cfg, gone: map[string]int64{}} }

// clone is what of a model survives a crash.
func (m *model) clone() *model {
	c := newModel(m.cfg)
	c.now, c.lastID = m.now, m.lastID
	for _, q := range m.queues {
		d := *q
		d.turn, d.groups, d.totals = nil, nil, Totals{}
		d.ids = slices.Clone(q.ids)
		d.messages, d.consumers = nil, nil
		for _, k := range q.consumers {
			l := *k
			l.turn, l.idle = nil, 0 // how long it was idle nobody knows
			d.consumers = append(d.consumers, &l)
		}
		for _, x := range q.messages {
			y := *x
			d.messages = append(d.messages, &y)
		}
		c.queues = append(c.queues, &d)
	}
	return c
}

func (m *model) named(name string) *mQueue {
	for _, q := range m.queues {
		if q.name == name {
			return q
		}
	}
	return nil
}

func (m *model) numbered(id uint32) *mQueue {
	for _, q := range m.queues {
		if q.id == id {
			return q
		}
	}
	return nil
}

func (q *mQueue) find(seq uint64) *mMessage {
	for _, x := range q.messages {
		if x.seq == seq {
			return x
		}
	}
	return nil
}

// sorted are the messages of a queue by number.
func (q *mQueue) sorted() []*mMessage {
	return slices.SortedFunc(slices.Values(q.messages), func(a, b *mMessage) int { return cmp.Compare(a.seq, b.seq) })
}

func (q *mQueue) take(x *mMessage) {
	q.messages = slices.DeleteFunc(q.messages, func(y *mMessage) bool { return x == y })
}

func (q *mQueue) count(p phase) (n int64) {
	for _, x := range q.messages {
		if x.phase == p {
			n++
		}
	}
	return n
}

func (q *mQueue) bytes() (n int64) {
	for _, x := range q.messages {
		n += x.size
	}
	return n
}

func (q *mQueue) full(size int64) Code {
	switch s := q.settings; {
	case s.MaxMessages > 0 && int64(len(q.messages)) >= s.MaxMessages:
		return FullMessages
	case s.MaxBytes > 0 && q.bytes()+size > s.MaxBytes:
		return FullBytes
	}
	return 0
}

// held is how many messages a group has.
func (q *mQueue) held(group string) (n int) {
	for _, x := range q.messages {
		if x.phase == phaseInFlight && x.holder.group == group {
			n++
		}
	}
	return n
}

// holds tells whether a peer has a message or waits for one.
func (m *model) holds(peer string) bool {
	for _, p := range m.pulls {
		if p.Peer == peer {
			return true
		}
	}
	for _, q := range m.queues {
		for _, x := range q.messages {
			if x.phase == phaseInFlight && x.holder.peer == peer {
				return true
			}
		}
	}
	return false
}

// holders are the peers that have a message.
func (m *model) holders() (names []string) {
	for _, q := range m.queues {
		for _, x := range q.messages {
			if peer := x.holder.peer; x.phase == phaseInFlight && peer != "" && !slices.Contains(names, peer) {
				names = append(names, peer)
			}
		}
	}
	slices.Sort(names)
	return names
}

// ownKey is the key that a message keeps order by.
func (x *mMessage) ownKey() string {
	if x.letter != nil {
		return ""
	}
	return x.key
}

// blocked tells whether a message must wait for another of its key: one that is
// out, one that was out and comes back, or an earlier one.
func (q *mQueue) blocked(x *mMessage) bool {
	for _, y := range q.messages {
		if x == y || x.ownKey() == "" || x.ownKey() != y.ownKey() {
			continue
		}
		back := y.phase == phaseDelayed && y.delivery > 0 && y.doom == 0
		if y.phase == phaseInFlight || back || y.phase == phaseReady && y.seq < x.seq {
			return true
		}
	}
	return false
}

// first is the message to be delivered next.
func (q *mQueue) first() (best *mMessage) {
	for _, x := range q.messages {
		if x.phase != phaseReady || q.blocked(x) {
			continue
		}
		if best == nil || x.priority > best.priority || x.priority == best.priority && x.seq < best.seq {
			best = x
		}
	}
	return best
}

// limit is how many attempts a message has; 0 is no limit.
func (q *mQueue) limit(x *mMessage) int {
	switch {
	case x.letter != nil:
		return 0
	case x.maxAttempts >= 0:
		return x.maxAttempts
	}
	return q.allowed(x)
}

func (q *mQueue) used(x *mMessage) bool {
	limit := q.limit(x)
	return limit > 0 && int(x.attempt) >= limit
}

// end is when a message expires; 0 is never.
func (q *mQueue) end(x *mMessage) int64 {
	end := x.expires
	if age := int64(q.settings.MaxAge); age > 0 && (end == 0 || x.since+age < end) {
		end = x.since + age
	}
	return end
}

func (m *model) expired(q *mQueue, x *mMessage) bool {
	end := q.end(x)
	return end != 0 && end <= m.now
}

func (q *mQueue) timeout(x *mMessage) int64 {
	if x.visibility > 0 {
		return int64(x.visibility)
	}
	if k := q.via(x.holder); k != nil && k.settings.VisibilityTimeout > 0 {
		return int64(k.settings.VisibilityTimeout)
	}
	return int64(q.visibility())
}

// visibility is the queue's own. An automatic one has no room to move here: see
// auto_test.go.
func (q *mQueue) visibility() time.Duration {
	if q.settings.VisibilityAuto {
		return q.settings.VisibilityMin
	}
	return q.settings.VisibilityTimeout
}

func (m *model) reply(r Reply) { m.replies = append(m.replies, r) }
func (m *model) tell(e Event)  { m.events = append(m.events, e) }
func (m *model) say(sp Speech) { m.speech = append(m.speech, sp) }

func refusal(code Code) *Error { return &Error{Code: code} }
