package queue

import "time"

// An Op is one thing that is asked of the State. Ops are values the caller
// makes and the State never keeps; what must be kept is copied.
//
//	from producers   Publish
//	from workers     Pull, Answer
//	from the wire    Members, Interest, Peer        (who is there)
//	from people      Declare, Remove, Pause, Purge, Delete, Kill, Replay
//	from the store   Carry, Space, Stop
type Op interface{ op() }

// Publish puts a message into a queue.
type Publish struct {
	Queue   string
	Subject []byte // as published, or the schedule's target
	Header  []byte // raw header block, cleaned of reserved headers; nil if none
	Body    []byte

	ID          string        // message id for dedupe; empty is none
	Delay       time.Duration // from now; 0 is none
	TTL         time.Duration // 0 is none
	Key         string        // one at a time, in order; empty is none
	Priority    uint8         // 0 to 9
	HasPriority bool          // false is DefaultPriority
	MaxAttempts int           // -1 is the queue's; 0 unlimited
	Visibility  time.Duration // 0 is the queue's

	// Reply is the submitter's: the State hands the Op back with its Reply.
	Reply []byte
}

// DefaultPriority is that of a message that asks for none; 9 goes first.
const DefaultPriority = 4

// Pull asks for messages.
type Pull struct {
	Queue     string
	Consumer  string // who asks, for the reply subject and the history
	Inbox     string // where deliveries and statuses go
	Peer      string // the client process behind the inbox
	Batch     int
	Expires   time.Duration // 0 is never
	NoWait    bool          // with Expires: wait for the first message only
	MaxBytes  int           // 0 is no bound
	Heartbeat time.Duration // 0 is none; 10 ms is the shortest
	NoHeaders bool          // deliveries come without headers of ours
	Overhead  int           // bytes the wire adds to each message at most, for MaxBytes
}

// Verb is what an Answer says.
type Verb uint8

// The verbs of an answer.
const (
	Ack Verb = iota + 1
	Nak
	InProgress
	Term
	Invalid // known delivery, unusable answer: nothing changes
)

// Answer is a worker's answer to a delivery that was proven to be the
// worker's (the token of the reply subject).
type Answer struct {
	QueueID   uint32
	Seq       uint64
	Delivery  uint64 // number of the delivery in its queue
	Verb      Verb
	Delay     time.Duration // of a Nak: exactly this long; 0 is the backoff
	Error     string        // of a Nak or Term
	Uncounted bool          // of a Nak: given back unworked
	Next      *Pull         // acked and asking for more

	// Reply is the submitter's: where the result is wanted, if anywhere.
	Reply []byte
}

// Members tells how many workers of a queue group are there to be pushed to.
// 0 is none: the group is gone. Of a queue that is not there yet it must be
// told again when it is (Out.Changed); after a restart, of every group.
type Members struct {
	Queue string
	Group string
	Count int
}

// Interest tells whether a client process listens on its pull inboxes. While
// nobody does, the pulls get nothing; after the grace they end.
type Interest struct {
	Peer    string
	Inbox   string // the subscription; wildcards match several inboxes
	Present bool
	Grace   time.Duration // instead of Config.Grace; 0 is that
}

// Peer tells whether the client process behind some inboxes is there. When it
// has been gone for the grace, what it holds has failed, and its pulls end.
type Peer struct {
	Peer    string
	Present bool
	Grace   time.Duration // 0 is the State's
}

// Source is who declared a queue.
type Source uint8

// The sources of a queue's settings.
const (
	FromFile  Source = iota + 1 // the configuration file
	FromAPI                     // an operator or a JetStream client
	FromUse                     // its first publish
	FromDeath                   // the first message that died into it
)

// Configure tells the State anew what it was told at first. Queues keep their
// settings.
type Configure struct{ Config Config }

// Declare makes a queue, or changes its settings.
type Declare struct {
	Name     string
	Settings Settings
	Source   Source
	// MustCreate and MustExist refuse the other case.
	MustCreate, MustExist bool
}

// Undeclare marks queues that came from the configuration file and are no
// longer in it: their data is kept, publishes are refused.
type Undeclare struct{ Name string }

// Remove deletes a queue with all its messages. Its dead letters in other
// queues stay.
type Remove struct{ Name string }

// Pause stops deliveries of a queue, or starts them again.
type Pause struct {
	Name  string
	Pause bool
}

// Purge removes messages of a queue in any state.
type Purge struct {
	Name string
	Keep uint64 // leave this many of the newest; 0 is none
	Upto uint64 // remove only sequences up to this one; 0 is all
}

// Delete removes one message in any state.
type Delete struct {
	Name string
	Seq  uint64
}

// Kill moves one message to the dead-letter queue now, in any state.
type Kill struct {
	Name  string
	Seq   uint64
	Error string
}

// Replay brings one dead message back for a fresh life.
type Replay struct {
	Name   string // the dead-letter queue
	Seq    uint64
	Target string // queue to bring it to; empty is its origin
}

// Carry takes messages of the log's oldest commits forward, so that the
// commits can be dropped.
type Carry struct {
	Through uint64 // the last commit of the generation to be dropped
	Finish  bool   // also carry what is not a message, a bounded amount: see Reply.More
	found   []found
}

// found is a message record as the log holds it.
type found struct {
	place  Place
	record []byte
}

// Add copies a message record that was found at an offset of a commit.
func (c *Carry) Add(commit uint64, offset uint32, record []byte) {
	c.found = append(c.found, found{Place{commit, offset}, append([]byte(nil), record...)})
}

// Space tells whether the disk has room for publishes.
type Space struct{ Low bool }

// Stop ends all waiting pulls; the store is about to close.
type Stop struct{}

func (*Publish) op()   {}
func (*Pull) op()      {}
func (*Answer) op()    {}
func (*Members) op()   {}
func (*Interest) op()  {}
func (*Peer) op()      {}
func (*Configure) op() {}
func (*Declare) op()   {}
func (*Undeclare) op() {}
func (*Remove) op()    {}
func (*Pause) op()     {}
func (*Purge) op()     {}
func (*Delete) op()    {}
func (*Kill) op()      {}
func (*Replay) op()    {}
func (*Carry) op()     {}
func (*Space) op()     {}
func (*Stop) op()      {}
