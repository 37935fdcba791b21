package queue

import (
	"time"

	"dsend/dlq"
)

// Phase is the state of a stored message, as people see it.
type Phase uint8

// The four states of a stored message. A message in a dead-letter queue is
// Dead for the queue it came from, and Ready, Delayed or InFlight there.
const (
	Ready Phase = iota + 1
	Delayed
	InFlight
	Dead
)

var phaseNames = [...]string{"", "ready", "delayed", "in_flight", "dead"}

func (p Phase) String() string { return phaseNames[p] }

// Info is a queue at one moment.
type Info struct {
	Name     string
	ID       uint32
	Settings Settings
	// Visibility is the visibility timeout in force: that of the settings, or
	// where the automatic one is now.
	Visibility time.Duration
	Source     Source
	Created    int64
	Paused     bool // by an operator or the settings
	Orphan     bool // taken out of the configuration file

	Ready, Delayed, InFlight int64
	Dead                     int64 // of this queue, in its dead-letter queue
	Letters                  int64 // dead letters of any queue held here
	Bytes                    int64
	FirstSeq, LastSeq        uint64 // LastSeq: the last number given out
	FirstAt, LastAt          int64  // when these were published; 0 if they are not here
	OldestReady              int64  // when the oldest ready message came (its publish, death or replay); 0 if none
	Deliveries               uint64 // number of the last delivery

	WaitingPulls int
	Consumers    int // that were declared
	Workers      int // members of push groups
	Totals       Totals
}

// Totals count what happened in a queue since the process started.
type Totals struct {
	Published, Duplicates, Refused          uint64
	Delivered, Acked, Naked, TimedOut, Gone uint64
	GivenBack, Terminated, Extended         uint64
	Late, Stale, GoneAnswers, Invalid       uint64
	Died                                    [8]uint64 // by dlq.Reason
	Dropped, Replayed, Removed              uint64
}

// Entry is a message as a list shows it. Its body is read from the log.
type Entry struct {
	Queue    string
	QueueID  uint32
	Seq      uint64
	Phase    Phase
	Attempt  uint32
	At       int64 // publish time
	Due      int64 // of Delayed: when it is ready; of InFlight: its deadline
	Expires  int64 // 0 is never
	Worker   string
	Priority uint8
	Key      string
	Replays  uint32
	Blocked  bool // ready, but an earlier message of its key is not done
	Place    Place
	Size     uint32
	Letter   *dlq.Letter
	History  dlq.History
}

// List is a page request: messages of a queue with sequence From or above, in
// order.
type List struct {
	Queue  string
	From   uint64
	Limit  int
	Phase  Phase               // 0 is any; Dead is not a phase of a list
	Filter func(e *Entry) bool // nil is all
}
