package queue

import (
	"cmp"
	"container/list"
	"maps"
	"slices"
	"time"
	"unique"

	"dsend/retry"
)

// demand is who wants messages of a queue: pulls that wait, and groups of push
// workers with room in their window, served in turn.
type demand struct {
	turn   turn
	pulls  map[*pull]struct{} // waiting, suspended ones included
	hasty  []*pull            // to be ended when nothing more can be delivered
	groups map[string]*group
}

// taker is a pull, a group, or a consumer with pulls of its own.
type taker interface{ place() **list.Element }

// turn is a line of takers that are served one after the other.
type turn struct{ list.List }

// offer puts a taker at the end of the turn, unless it is in it.
func (t *turn) offer(x taker) {
	if at := x.place(); *at == nil {
		*at = t.PushBack(x)
	}
}

// withdraw takes a taker out of the turn.
func (t *turn) withdraw(x taker) {
	if at := x.place(); *at != nil {
		t.Remove(*at)
		*at = nil
	}
}

// next is whose turn it is; nil if nobody wants anything.
func (t *turn) next() taker {
	e := t.Front()
	if e == nil {
		return nil
	}
	t.MoveToBack(e)
	return e.Value.(taker)
}

// group is a queue group of push workers.
type group struct {
	name    string
	hand    hand
	q       *queue
	members int
	held    int
	element *list.Element
}

func (g *group) place() **list.Element { return &g.element }

func (g *group) room() bool { return g.held < g.members*g.q.settings.Push.MaxInFlightPerWorker }

// group finds a group of a queue, or makes it.
func (d *demand) group(q *queue, name string) *group {
	g := d.groups[name]
	if g == nil {
		if d.groups == nil {
			d.groups = map[string]*group{}
		}
		g = &group{name: name, q: q, hand: unique.Make(holder{consumer: PushConsumer, group: name})}
		d.groups[name] = g
	}
	return g
}

// members takes note of how many workers a group has.
func (s *State) members(op *Members) {
	if q := s.byName[op.Queue]; q != nil {
		g := q.demand.group(q, op.Group)
		g.members = max(0, op.Count)
		s.settle(g)
	}
}

// settleAll settles the groups of a queue whose windows may have changed.
func (s *State) settleAll(q *queue) {
	for _, name := range slices.Sorted(maps.Keys(q.demand.groups)) {
		s.settle(q.demand.groups[name])
	}
}

// settle puts a group into the turn or takes it out, as its window says.
func (s *State) settle(g *group) {
	if g.room() {
		g.q.demand.turn.offer(g)
		s.touch(g.q)
		return
	}
	g.q.demand.turn.withdraw(g)
	if g.members == 0 && g.held == 0 {
		delete(g.q.demand.groups, g.name)
	}
}

// release gives back the place a message took in a window.
func (s *State) release(m *message) {
	if g := m.to; g != nil {
		m.to = nil
		g.held--
		s.settle(g)
	}
	if m.peer != nil {
		s.letGo(m)
		if c := m.q.via(m.holder); c != nil {
			c.held--
			s.attend(c)
		}
	}
	s.touch(m.q)
}

// pull is a request for messages.
type pull struct {
	Pull
	serial  uint64 // in the order they came
	q       *queue
	via     *consumer // nil is the queue itself
	peer    *peer
	hand    hand
	given   int // messages
	bytes   int // left of MaxBytes
	expires int64
	beat    int64 // next heartbeat
	lost    int64 // nobody listens: ends then; 0 if somebody does
	bell    retry.Deadline
	element *list.Element
	ended   bool
}

func (p *pull) place() **list.Element  { return &p.element }
func (p *pull) alarm() *retry.Deadline { return &p.bell }

// pull takes a request: it waits, and is served as far as possible now.
func (s *State) pull(op *Pull, out *Out) {
	q, via, refused, bound := s.pulled(op)
	if refused != 0 {
		out.say(Speech{
			Inbox: op.Inbox, Status: refused, Bound: bound,
			PendingMessages: max(0, op.Batch), PendingBytes: max(0, op.MaxBytes),
		})
		return
	}
	s.serial++
	p := &pull{Pull: *op, serial: s.serial, q: q, via: via, bytes: op.MaxBytes}
	p.peer, p.hand = s.peerOf(op.Peer), unique.Make(holder{consumer: op.Consumer, peer: op.Peer})
	p.peer.pulls[p] = struct{}{}
	if op.Expires > 0 {
		p.expires = s.now + int64(min(op.Expires, MaxDelay))
	}
	if q.demand.pulls == nil {
		q.demand.pulls = map[*pull]struct{}{}
	}
	q.demand.pulls[p] = struct{}{}
	if via != nil {
		via.waiting++
	}
	s.offer(p)
	if op.NoWait {
		q.demand.hasty = append(q.demand.hasty, p)
	}
	s.beat(p)
	s.match(q, out)
}

// pulled finds the queue and the consumer of a pull, or the status that refuses
// it, with the bound that the pull is above if there is one.
func (s *State) pulled(op *Pull) (q *queue, via *consumer, refused Status, bound int64) {
	if q = s.byName[op.Queue]; q != nil {
		via = q.consumers[op.Consumer]
	}
	switch {
	case s.stopping:
		refused = StatusShutdown
	case op.Batch < 1 || op.Expires < 0 || op.MaxBytes < 0 || op.Heartbeat < 0:
		refused = StatusBadRequest
	case via == nil && op.Consumer != "" && op.Consumer != PullConsumer:
		refused = StatusRemoved // with its queue, or without
	case q == nil:
		refused = StatusNoQueue
	case full(s.cfg.MaxWaiting, len(q.demand.pulls)), via != nil && full(via.settings.MaxWaiting, via.waiting):
		refused = StatusMaxWaiting
	}
	if refused == 0 && via != nil {
		refused, bound = via.settings.exceeded(op)
	}
	return q, via, refused, bound
}

// full tells whether a number has reached its bound; 0 is none.
func full(bound, n int) bool { return bound > 0 && n >= bound }

// offer lets a pull wait in the turn of its consumer, or of the queue itself.
func (s *State) offer(p *pull) {
	if p.via == nil {
		p.q.demand.turn.offer(p)
		return
	}
	p.via.turn.offer(p)
	s.attend(p.via)
}

// withdraw takes a pull out of its turn.
func (s *State) withdraw(p *pull) {
	if p.via == nil {
		p.q.demand.turn.withdraw(p)
		return
	}
	p.via.turn.withdraw(p)
	s.attend(p.via)
}

// hurry ends the pulls of a queue that do not wait, when nothing more can be
// delivered now. One that waits for its first message stays.
func (s *State) hurry(q *queue, out *Out) {
	for _, p := range q.demand.hasty {
		switch {
		case p.ended:
		case p.given > 0:
			s.finish(p, StatusTimeout, out)
		case p.Expires == 0:
			s.finish(p, StatusNoMessages, out)
		}
	}
	clear(q.demand.hasty)
	q.demand.hasty = q.demand.hasty[:0]
}

// minHeartbeat is the shortest time between two heartbeats of a pull.
const minHeartbeat = 10 * time.Millisecond

// beat sets the time of a pull's next heartbeat.
func (s *State) beat(p *pull) {
	if p.Heartbeat > 0 {
		p.beat = s.now + int64(min(max(p.Heartbeat, minHeartbeat), MaxDelay))
	}
	s.wind(p)
}

// wind sets the alarm of a pull to what comes first.
func (s *State) wind(p *pull) {
	next := p.expires
	for _, at := range [...]int64{p.beat, p.lost} {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	if next == 0 {
		s.alarms.Remove(p)
		return
	}
	s.alarms.Set(p, next)
}

// ring does what is due of a pull: its end, or a heartbeat.
func (p *pull) ring(s *State, out *Out) {
	switch {
	case p.ended: // by what rang just before
	case p.lost != 0 && p.lost <= s.now:
		s.end(p) // nobody would hear a status
	case p.expires != 0 && p.expires <= s.now:
		s.finish(p, StatusTimeout, out)
	default:
		if p.lost == 0 {
			out.say(Speech{Inbox: p.Inbox, Queue: p.q.name, Consumer: p.Consumer, Delivery: p.q.deliveries, Status: StatusHeartbeat})
		}
		s.beat(p)
	}
}

// finish ends a pull with a status.
func (s *State) finish(p *pull, status Status, out *Out) {
	s.end(p)
	out.say(Speech{
		Inbox: p.Inbox, Queue: p.q.name, Consumer: p.Consumer,
		Status: status, PendingMessages: p.Batch - p.given, PendingBytes: p.bytes,
	})
}

// end forgets a pull.
func (s *State) end(p *pull) {
	p.ended = true
	delete(p.q.demand.pulls, p)
	if p.via != nil {
		p.via.waiting--
	}
	s.withdraw(p)
	s.alarms.Remove(p)
	delete(p.peer.pulls, p)
	s.tidy(p.peer)
}

// inOrder gives pulls in the order they came.
func inOrder(pulls map[*pull]struct{}) []*pull {
	return slices.SortedFunc(maps.Keys(pulls), func(a, b *pull) int { return cmp.Compare(a.serial, b.serial) })
}

func (o *Out) say(sp Speech) { o.Speech = append(o.Speech, sp) }
