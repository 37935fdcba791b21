package queue

import (
	"time"

	"dsend/dlq"
)

// Out is what a State wants done: records to make durable, and what to say
// once they are. The caller owns it, hands the same one to each call, and
// empties it after the commit.
type Out struct {
	Records []byte   // the data of the commit being built
	Replies []Reply  // answers to ops, in the order of the ops
	Speech  []Speech // deliveries and statuses, in the order they must be sent
	Events  []Event  // for people, metrics and notices
	Freed   []Span   // bytes of the log nobody needs any longer
	Held    []Span   // bytes of the log that are needed from now on
	Changed []string // queues that were made, removed, or whose settings changed

	preamble int // bytes of Records that say nothing yet
}

// Reset empties o for the next commit and keeps its memory, as far as a usual
// commit needs it.
func (o *Out) Reset() {
	*o = Out{
		Replies: emptied(o.Replies), Speech: emptied(o.Speech), Events: emptied(o.Events),
		Freed: emptied(o.Freed), Held: emptied(o.Held), Changed: emptied(o.Changed),
	}
}

// outKept is how much of one kind a usual commit has to say at the most.
const outKept = 8192

// emptied is the same list without its content, or none if it has grown large.
func emptied[T any](list []T) []T {
	if cap(list) > outKept {
		return nil
	}
	clear(list)
	return list[:0]
}

// Empty tells whether nothing is to be made durable.
func (o *Out) Empty() bool { return len(o.Records) == o.preamble }

// Quiet tells whether nothing waits for the commit to be said.
func (o *Out) Quiet() bool {
	return len(o.Replies) == 0 && len(o.Speech) == 0 && len(o.Events) == 0 && len(o.Changed) == 0
}

// Reply answers an op.
type Reply struct {
	Op  Op
	Err *Error // why it was refused; nil if it was done

	Queue     string // of a Publish: where it is (auto-created or a schedule's target)
	Seq       uint64 // of a Publish: its number. Of a Replay: its number in the target
	Duplicate bool   // of a Publish: Seq is of the first one
	Result    Result // of an Answer
	Count     int    // of a Purge, Remove, Declare: messages removed or swept. Of a Carry: messages carried
	More      bool   // of a Carry that is to finish: it must be repeated
}

// Result is what an answer led to.
type Result uint8

// The results of an answer.
const (
	ResultOK      Result = iota + 1 // it did what it says
	ResultLate                      // an ack of an older delivery: the message is done
	ResultStale                     // an older delivery: nothing changed
	ResultGone                      // the message is done or removed: nothing changed
	ResultInvalid                   // not an answer: nothing changed
)

var resultNames = [...]string{"", "ok", "late", "stale", "gone", "invalid"}

func (r Result) String() string { return resultNames[r] }

// Place is where a message's record is: the commit, and the offset in its
// data.
type Place struct {
	Commit uint64
	Offset uint32
}

// Span is a number of bytes in a commit of the log.
type Span struct {
	Commit uint64
	Bytes  int64
}

// Speech is a delivery (Status 0) or a status on a pull's inbox.
type Speech struct {
	// Inbox is a pull's; empty is a push to Group on Subject.
	Inbox     string
	NoHeaders bool // of a pull that asked for it
	Group     string
	Subject   string

	// Of a delivery.
	Queue    string
	QueueID  uint32
	Consumer string
	Seq      uint64
	Attempt  uint32
	Delivery uint64 // number of the delivery in its queue
	At       int64  // publish time, ns
	Deadline int64  // ns
	Pending  int64  // messages ready behind it
	Place    Place
	Size     uint32
	Letter   *dlq.Letter // of a dead letter; else nil

	// Of a status.
	Status          Status
	PendingMessages int // left of the request
	PendingBytes    int
	Bound           int64 // of StatusMaxBatch, StatusMaxExpires (ns), StatusMaxBytes
}

// Status is a JetStream status that a pull gets.
type Status uint8

// The statuses of a pull. All but StatusHeartbeat end it.
const (
	StatusHeartbeat      Status = iota + 1 // 100 Idle Heartbeat
	StatusBadRequest                       // 400 Bad Request
	StatusNoMessages                       // 404 No Messages
	StatusTimeout                          // 408 Request Timeout
	StatusTooBig                           // 409 Message Size Exceeds MaxBytes
	StatusMaxWaiting                       // 409 Exceeded MaxWaiting
	StatusBatchCompleted                   // 409 Batch Completed
	StatusRemoved                          // 409 Consumer Deleted
	StatusShutdown                         // 409 Server Shutdown
	StatusNoQueue                          // 404 Queue Not Found
	StatusMaxBatch                         // 409 Exceeded MaxRequestBatch of n
	StatusMaxExpires                       // 409 Exceeded MaxRequestExpires of d
	StatusMaxBytes                         // 409 Exceeded MaxRequestMaxBytes of n
)

// Kind is what an Event is about.
type Kind uint8

// The kinds of event.
const (
	EventRetried  Kind = iota + 1 // an attempt failed; the message is delayed
	EventDied                     // the message is in the dead-letter queue
	EventDropped                  // given up and not kept (no dead-letter queue)
	EventReplayed                 // a dead message is back in a queue
	EventLateAck                  // an ack of an older delivery completed the message
	EventFull                     // a publish was refused: the queue is full
	EventDLQFull                  // a death had to wait: the dead-letter queue is full
	EventPaused
	EventResumed
	EventCreated
	EventUpdated
	EventRemoved
	EventPurged
	EventVisibility // the automatic visibility timeout changed
)

var kindNames = [...]string{"", "retried", "died", "dropped", "replayed", "late_ack",
	"full", "dlq_full", "paused", "resumed", "created", "updated", "removed", "purged", "visibility"}

func (k Kind) String() string { return kindNames[k] }

// Event is something that happened, for people, metrics and notices. It is
// never made by recovery.
type Event struct {
	Kind    Kind
	At      int64
	Queue   string
	Seq     uint64
	Attempt uint32
	Outcome dlq.Outcome   // of retried
	Reason  dlq.Reason    // of dropped
	Delay   time.Duration // of retried
	Error   string
	Count   int    // of purged and removed
	DLQ     string // of died, replayed
	DLQSeq  uint64
	Target  string // of replayed
	NewSeq  uint64
	From    time.Duration // of visibility
	To      time.Duration
	Place   Place // of died: where its body is
	Size    uint32
	Letter  *dlq.Letter // of died
}
