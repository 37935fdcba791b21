package queue

// Code is why an op was refused. The bridge maps codes to wire codes.
type Code uint8

// The codes.
const (
	NoQueue          Code = iota + 1 // there is no such queue
	BadName                          // not a queue name
	Undeclared                       // the queue was taken out of the configuration
	FullMessages                     // max_messages reached
	FullBytes                        // max_bytes reached
	TooLarge                         // above max_message_size
	NoSpace                          // the disk is nearly full
	NoMessage                        // there is no such message
	NotDead                          // the message is not a dead letter
	Owned                            // a worker owns the message
	Exists                           // the queue is there already
	Overlaps                         // two queues would capture one subject
	BadSettings                      // the settings contradict themselves
	PausedByConfig                   // resumed, but paused in the configuration
	BadOption                        // an option of the publish is out of range
	Stopping                         // the store is closing
	NoDLQ                            // the queue has no dead-letter queue
	NoConsumer                       // there is no such consumer
	TooManyConsumers                 // the queue has as many as it can have
)

// Error is a refusal: a code, and a sentence for people.
type Error struct {
	Code Code
	Text string
}

func (e *Error) Error() string { return e.Text }

func refuse(code Code, text string) *Error { return &Error{code, text} }
