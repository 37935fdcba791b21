package queue

import (
	"math"
	"time"

	"dsend/dlq"
	"dsend/retry"
)

// Config is what a State is told once.
type Config struct {
	// AutoCreate makes queues of their first publish.
	AutoCreate bool
	// Defaults are the settings of a queue nobody configured.
	Defaults Settings
	// Grace is how long a worker may be gone before what it holds has
	// failed.
	Grace time.Duration
	// MaxWaiting bounds the waiting pulls of one queue; 0 is no bound.
	MaxWaiting int
}

// State is every queue of a store. See the package comment.
type State struct {
	cfg      Config
	key      [16]byte // the store's own, for tokens; zero before Found
	keyAt    uint64   // commit that holds it
	now      int64
	commit   uint64 // the commit that is being built
	lowSpace bool
	stopping bool

	byID   map[uint32]*queue
	byName map[string]*queue
	sorted []*queue // those with a name, by name
	lastID uint32   // the last number given to a queue
	lastAt uint64   // the newest commit that says so
	serial uint64   // of the last pull

	captures captures // the queues' subjects

	deadlines *retry.Schedule[*message] // of delayed and in flight messages
	expiries  *retry.Schedule[*message]
	alarms    *retry.Schedule[ringer]

	moved   shelf[identity, *message] // by the identity in their record, where that is no longer theirs
	origins shelf[identity, *message] // letters, by the life that ended
	peers   shelf[string, *peer]
	dirty   []*queue // may have something to deliver

	late   []*message // what Tick is at work on
	rung   []ringer
	budget int     // what is left for this Tick to do for queues
	draft  Message // of the publish that is being done
}

// New gives an empty State.
func New(cfg Config) *State {
	return &State{
		cfg:       cfg,
		byID:      map[uint32]*queue{},
		byName:    map[string]*queue{},
		deadlines: retry.NewSchedule(func(m *message) *retry.Deadline { return &m.turn }),
		expiries:  retry.NewSchedule(func(m *message) *retry.Deadline { return &m.expiry }),
		alarms:    retry.NewSchedule(func(r ringer) *retry.Deadline { return r.alarm() }),
	}
}

// ringer is something with an alarm of its own: a pull, a peer, a queue.
type ringer interface {
	alarm() *retry.Deadline
	rank() rank
	ring(s *State, out *Out)
}

// queue is a named line of messages.
type queue struct {
	id         uint32
	name       string // empty until its record is found
	source     Source
	created    int64
	settings   Settings
	paused     bool // by an operator
	orphan     bool
	next       uint64 // the next number
	deliveries uint64
	commit     uint64 // where its newest record is
	changed    bool   // recovered with objects that are older than these settings

	all     shelf[uint64, *message] // the messages that are objects
	low     uint64                  // no object has a lower number
	ready   ready
	keys    shelf[string, *keyLine]
	delayed int64
	flying  int64 // in flight
	dead    int64 // of this queue, anywhere
	letters int64 // dead letters held here
	bytes   int64
	ids     dedupe

	demand demand
	bell   retry.Deadline
	dirty  bool
	spent  []uint64 // waiting messages that a lowered limit left no attempt
	totals Totals
	holds  *holds        // what is learned from deliveries; nil before the first
	auto   time.Duration // the automatic visibility timeout; 0 before it was changed

	consumers map[string]*consumer
	attempts  int // that a waiting message may have at the most; 0 is no limit
}

func newQueue(id uint32) *queue { return &queue{id: id, next: 1} }

// stored is how many messages the queue holds.
func (q *queue) stored() int64 { return q.ready.len() + q.delayed + q.flying }

func (q *queue) isPaused() bool { return q.paused || q.settings.Paused }

// phase is where a message is in its life. Blocked is ready, behind an earlier
// message of its key.
type phase uint8

const (
	phaseReady phase = iota + 1
	phaseBlocked
	phaseDelayed
	phaseInFlight
)

// message is a message that is an object.
type message struct {
	q        *queue
	seq      uint64
	place    Place
	size     uint32
	attempt  uint32 // of the last delivery, or how many are behind it
	delivery uint64 // number of the last delivery; 0 if none
	at       int64  // publish time
	since    int64  // begin of this life
	turn     retry.Deadline
	expiry   retry.Deadline
	phase    phase
	priority uint8
	doom     dlq.Reason
	hold     hold

	handed int64  // when it was handed out last
	holder hand   // to whom
	to     *group // of a push in flight: whose window it takes a place of
	peer   *peer  // of a pull in flight
	slot   int    // its index among what the peer holds

	more *more // nil for most
}

// more is what few messages have.
type more struct {
	key         string
	maxAttempts int // -1 is the queue's
	visibility  time.Duration
	expires     int64    // its own; 0 is never
	born        identity // in its record, if that is no longer its own
	replays     uint32
	history     dlq.History
	origin      identity // of a letter: the life that ended
	letter      *dlq.Letter
}

func (m *message) extra() *more {
	if m.more == nil {
		m.more = &more{maxAttempts: -1}
	}
	return m.more
}

func (m *message) identity() identity { return identity{m.q.id, m.seq} }

func (m *message) key() string {
	if m.more == nil || m.more.letter != nil {
		return "" // dead letters keep no order
	}
	return m.more.key
}

func (m *message) letter() *dlq.Letter {
	if m.more == nil {
		return nil
	}
	return m.more.letter
}

func (m *message) history() dlq.History {
	if m.more == nil {
		return dlq.History{}
	}
	return m.more.history
}

// maxAttempts is 0 for no limit. A dead letter has none. One that is in flight
// has those of whom it was delivered through, one that waits those of the most
// patient one.
func (m *message) maxAttempts() uint32 {
	switch {
	case m.letter() != nil:
		return 0
	case m.more != nil && m.more.maxAttempts >= 0:
		return uint32(m.more.maxAttempts)
	case m.phase != phaseInFlight:
		return uint32(m.q.attempts)
	}
	if c := m.q.via(m.holder); c != nil && c.settings.MaxAttempts > 0 {
		return uint32(c.settings.MaxAttempts)
	}
	return uint32(m.q.settings.MaxAttempts)
}

// visibility is the visibility timeout of a delivery to a holder.
func (m *message) visibility(to hand) time.Duration {
	if m.more != nil && m.more.visibility > 0 {
		return m.more.visibility
	}
	return m.q.visibility(to)
}

// visibility is that of a message that has none of its own.
func (q *queue) visibility(to hand) time.Duration {
	if c := q.via(to); c != nil && c.settings.VisibilityTimeout > 0 {
		return c.settings.VisibilityTimeout
	}
	return q.timeout()
}

// delay is how long a failed attempt waits that asks for nothing.
func (m *message) delay() time.Duration {
	policy := &m.q.settings.Backoff
	if c := m.q.via(m.holder); c != nil && len(c.settings.Backoff) > 0 {
		own := c.settings.policy()
		policy = &own
	}
	return policy.Delay(int(m.attempt), m.seq^uint64(m.q.id)<<48)
}

// Begin names the commit that the records of the following calls will be in,
// and writes the time into it: that of its first record, once there is one.
// out is empty.
func (s *State) Begin(commit uint64, now int64, out *Out) {
	s.pass(now)
	s.commit = commit
	emit(s, out, clockRecord{s.now})
	out.preamble = len(out.Records)
}

// date gives a commit that says nothing yet the time of its first record: it
// may have been begun long ago.
func (o *Out) date(now int64) {
	if o.preamble > 0 && o.Empty() {
		o.Records = clockRecord{now}.encode(o.Records[:0])
		o.preamble = len(o.Records)
	}
}

// Now is the time of the last call, or of the last commit recovered (ns).
func (s *State) Now() int64 { return s.now }

// Key is the store's own secret, the same for all its life.
func (s *State) Key() [16]byte { return s.key }

// Found gives a new store its secret.
func (s *State) Found(key [16]byte, out *Out) { emit(s, out, storeRecord{key}) }

// Next is when the State wants to be woken by Tick and Match (ns); MaxInt64 is
// never.
func (s *State) Next() int64 {
	if len(s.dirty) > 0 {
		return s.now // Match had more to do than one call may
	}
	next := int64(math.MaxInt64)
	consider := func(at int64, ok bool) {
		if ok && at < next {
			next = at
		}
	}
	consider(s.deadlines.Next())
	consider(s.expiries.Next())
	consider(s.alarms.Next())
	return next
}

// Step does an op at a time. Its reply, if any, is added to out.
func (s *State) Step(op Op, now int64, out *Out) {
	s.pass(now)
	switch op := op.(type) {
	case *Publish:
		out.reply(s.publish(op, out))
	case *Answer:
		if r := s.answer(op, out); len(op.Reply) > 0 {
			out.reply(r)
		}
	case *Pull:
		s.pull(op, out)
	case *Members:
		s.members(op)
	case *Interest:
		s.interest(op)
	case *Peer:
		s.peerChanged(op)
	case *Carry:
		out.reply(s.carry(op, out))
	case *Space:
		s.lowSpace = op.Low
	case *Stop:
		s.stop(out)
	default:
		out.reply(s.manage(op, out))
	}
}

func (o *Out) reply(r Reply) { o.Replies = append(o.Replies, r) }

// pass moves the State's time, which never goes back.
func (s *State) pass(now int64) { s.now = max(s.now, now) }

// touch notes that a queue may have something to deliver.
func (s *State) touch(q *queue) {
	if !q.dirty {
		q.dirty = true
		s.dirty = append(s.dirty, q)
	}
}
