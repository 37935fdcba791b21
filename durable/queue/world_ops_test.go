package queue

import (
	"fmt"
	"math"
	"time"

	"dsend/retry"
)

var (
	queueNames = []string{"a", "b", "c", "a-dlq", "b-dlq", "grave"}
	peerNames  = []string{"p1", "p2", "p3"}

	consumerNames = []string{"c", "d", PullConsumer}
)

func pick[T any](c choice, from ...T) T { return from[c.n(len(from))] }

// step is one random thing: time passes, ops, a commit, a crash, a compaction.
func (w *world) step(c choice) {
	w.t.Helper()
	w.steps++
	switch x := c.n(100); {
	case x < 2:
		w.settle()
		w.crash(pick(c, w.states...))
	case x < 3:
		w.crash(w.states[len(w.states)-1]) // what was not committed is gone
	case x < 5 || len(w.log) > 60:
		w.settle()
		if len(w.log) > 1 {
			w.compact(c)
		}
	case x < 10:
		w.settle()
		w.recoverTo(w.states[len(w.states)-1])
	default:
		w.passes(c)
		w.ops(c)
		if c.n(3) > 0 {
			w.settle()
		}
	}
}

// passes lets time pass: not at all, a little, to what is next, or beyond.
func (w *world) passes(c choice) {
	switch c.n(8) {
	case 0:
	case 1:
		w.now += int64(c.n(1000))
	case 2, 3:
		w.now += int64(c.n(1000)) * int64(time.Millisecond)
	case 4, 5:
		if next := w.state.Next(); next != math.MaxInt64 {
			w.now = max(w.now, next)
		}
	case 6:
		w.now += int64(c.n(5)) * int64(time.Second)
	case 7:
		if c.n(8) == 0 {
			w.now += int64(c.n(60)) * int64(time.Second)
		}
	}
}

func (w *world) ops(c choice) {
	w.t.Helper()
	var ops []Op
	for range 1 + c.n(3) {
		ops = append(ops, w.op(c))
	}
	w.do(ops...)
}

func (w *world) op(c choice) Op {
	switch x := c.n(100); {
	case x < 30:
		return w.publish(c)
	case x < 47:
		return w.pull(c)
	case x < 75:
		return w.answer(c)
	case x < 81:
		return &Members{Queue: pick(c, queueNames...), Group: pick(c, "g", "h"), Count: c.n(3)}
	case x < 84:
		return w.interest(c)
	case x < 87:
		return &Peer{Peer: pick(c, peerNames...), Present: c.n(2) == 0, Grace: pick(c, 0, 0, 3*time.Second)}
	case x < 88:
		return w.consumer(c)
	case x < 91:
		return w.declare(c)
	default:
		return w.people(c)
	}
}

func (w *world) publish(c choice) Op {
	p := &Publish{
		Queue: pick(c, queueNames...), Subject: []byte("s"), MaxAttempts: -1,
		ID: pick(c, "", "", "x", "y", "z"), Key: pick(c, "", "", "", "k", "l"),
	}
	switch c.n(12) {
	case 0:
		p.Delay = time.Duration(1+c.n(5000)) * time.Millisecond
	case 1:
		p.Delay = time.Duration(c.n(4)) * time.Second
	case 2:
		p.TTL = time.Duration(1+c.n(5000)) * time.Millisecond
	case 3:
		p.MaxAttempts = c.n(3)
	case 4:
		p.Visibility = time.Duration(1+c.n(3)) * time.Second
	case 5:
		p.Delay = pick(c, -1, MaxDelay+1, time.Second)
		p.Key = "k"
	}
	if c.n(4) == 0 {
		p.Priority, p.HasPriority = pick[uint8](c, 0, 4, 9, 9, 3, 10), true
	}
	if c.n(4) == 0 {
		p.Header = []byte("h: 1\r\n")
	}
	priority := uint8(DefaultPriority)
	if p.HasPriority {
		priority = p.Priority
	}
	p.Body = fmt.Appendf(nil, "%d %d", w.now, priority)
	return p
}

func (w *world) pull(c choice) *Pull {
	peer := pick(c, peerNames...)
	w.inboxes++
	p := &Pull{
		Queue: pick(c, queueNames...), Consumer: pick(c, PullConsumer, PullConsumer, "c", "d"), Peer: peer, Inbox: fmt.Sprintf("in.%s.%d", peer, w.inboxes),
		Batch: pick(c, 1, 1, 2, 3, 5, 0), Expires: time.Duration(c.n(6)) * time.Second, NoWait: c.n(4) == 0,
	}
	if c.n(5) == 0 {
		p.MaxBytes, p.Overhead = 40+c.n(200), c.n(5)
	}
	if c.n(4) == 0 {
		p.Heartbeat = time.Duration(1+c.n(3)) * time.Second
	}
	return p
}

// answer is about a delivery, seldom a forged one.
func (w *world) answer(c choice) Op {
	if len(w.deliveries) == 0 {
		return w.publish(c)
	}
	sp := w.deliveries[len(w.deliveries)-1-c.n(min(len(w.deliveries), 3+c.n(30)))]
	a := &Answer{
		QueueID: sp.QueueID, Seq: sp.Seq, Delivery: sp.Delivery,
		Verb: pick(c, Ack, Ack, Ack, Nak, Nak, Nak, Nak, InProgress, Term, Invalid), Error: pick(c, "", "", "broken", "lost"),
	}
	if a.Verb == Nak {
		a.Delay = pick(c, 0, 0, 0, 1, time.Second, 3*time.Second, -1, MaxDelay+1)
		a.Uncounted = c.n(4) == 0
	}
	if c.n(2) == 0 {
		a.Reply = []byte("r")
	}
	if a.Verb == Ack && c.n(5) == 0 {
		a.Next = w.pull(c)
	}
	return a
}

func (w *world) interest(c choice) Op {
	peer := pick(c, peerNames...)
	inbox := pick(c, ">", "in."+peer+".*", fmt.Sprintf("in.%s.%d", peer, w.inboxes))
	return &Interest{Peer: peer, Inbox: inbox, Present: c.n(2) == 0}
}

func (w *world) declare(c choice) Op {
	name := pick(c, queueNames...)
	s := w.cfg.Defaults
	s.VisibilityTimeout = time.Duration(1+c.n(4)) * time.Second
	s.VisibilityMin = time.Duration(1+c.n(4)) * time.Second
	s.VisibilityAuto, s.VisibilityMax = c.n(6) == 0, s.VisibilityMin
	s.MaxHold = pick(c, 0, 0, 5*time.Second)
	s.MaxAttempts = c.n(4)
	s.MaxInFlight = pick(c, 1, 2, 3, 100)
	s.Push.MaxInFlightPerWorker = 1 + c.n(2)
	s.Push.Subject = pick(c, "", "work")
	s.DedupeWindow = pick(c, 0, 2*time.Second, 20*time.Second)
	s.MaxMessages = pick(c, int64(0), 0, 0, 1, 4)
	s.MaxBytes = pick(c, int64(0), 0, 0, 300)
	s.MaxMessageSize = pick(c, int64(0), 0, 20)
	s.MaxAge = pick(c, 0, 0, 3*time.Second, 10*time.Second)
	s.Paused = c.n(8) == 0
	s.DeadLetter.Enabled = c.n(6) > 0
	s.DeadLetter.Queue = pick(c, "", "grave")
	s.Subjects = pick(c, nil, nil, []string{"x.*"}, []string{"x.y"}, []string{"y"})
	switch c.n(4) {
	case 0:
		s.Backoff = retry.Policy{List: []time.Duration{0}}
	case 1:
		s.Backoff = retry.Policy{List: []time.Duration{time.Second, 2 * time.Second}}
	case 2:
		s.Backoff = retry.Policy{Initial: 10 * time.Millisecond, Factor: 3, Max: 4 * time.Second, Jitter: 0.9}
	}
	return &Declare{
		Name: name, Settings: s, Source: pick(c, FromFile, FromAPI), MustCreate: c.n(8) == 0, MustExist: c.n(4) == 0,
	}
}

// consumer is what people do with consumers.
func (w *world) consumer(c choice) Op {
	name, consumer := pick(c, "a", "a", "b", "a-dlq"), pick(c, consumerNames...)
	switch c.n(8) {
	case 0:
		return &RemoveConsumer{name, consumer}
	case 1:
		return &PauseConsumer{name, consumer, pick(c, 0, w.now, w.now+int64(c.n(4))*int64(time.Second))}
	}
	return &DeclareConsumer{Queue: name, Name: consumer, MustCreate: c.n(6) == 0, MustExist: c.n(6) == 0, Settings: ConsumerSettings{
		VisibilityTimeout: pick(c, 0, time.Second, 5*time.Second), MaxAttempts: pick(c, 0, 1, 3, 5, -1),
		Backoff:  pick(c, nil, nil, []time.Duration{time.Second, 3 * time.Second}, []time.Duration{0}),
		MaxBatch: pick(c, 0, 0, 2), MaxExpires: pick(c, 0, 0, 3*time.Second), MaxBytes: pick(c, 0, 0, 100),
		MaxInFlight: pick(c, 0, 1, 2), MaxWaiting: pick(c, 0, 0, 1, 3),
		InactiveThreshold: pick(c, 0, 0, 2*time.Second), PausedUntil: pick(c, 0, 0, w.now+int64(2*time.Second)),
		Metadata: pick(c, nil, map[string]string{"k": "v"}),
	}}
}

// people is what operators do.
func (w *world) people(c choice) Op {
	name := pick(c, queueNames...)
	switch c.n(16) {
	case 0:
		return &Undeclare{name}
	case 1:
		return &Remove{name}
	case 2, 3:
		return &Pause{name, c.n(2) == 0}
	case 4:
		return &Purge{Name: name, Keep: uint64(c.n(4)), Upto: pick(c, 0, w.seq(c, name))}
	case 5, 6:
		return &Delete{name, w.seq(c, name)}
	case 7, 8, 9:
		return &Kill{name, w.seq(c, name), pick(c, "", "by hand")}
	case 10, 11, 12, 13:
		name = pick(c, "a-dlq", "b-dlq", "grave")
		return &Replay{name, w.seq(c, name), pick(c, "", "", "", "a", "b", "grave", "none")}
	case 14:
		return &Space{Low: c.n(2) == 0}
	}
	if c.n(10) == 0 {
		return &Stop{}
	}
	w.cfg.AutoCreate = c.n(4) > 0
	w.cfg.Grace = time.Duration(1+c.n(2)) * time.Second
	return &Configure{w.cfg}
}

// seq is the number of a message of a queue, if it has one.
func (w *world) seq(c choice, name string) uint64 {
	q := w.model.named(name)
	if q == nil || len(q.messages) == 0 {
		return uint64(c.n(4))
	}
	return pick(c, q.sorted()...).seq
}
