package dlq

// Letter is what is known about a dead message beside its body and headers. It
// is immutable once made.
type Letter struct {
	Reason        Reason  // why it was given up
	Error         string  // the last error text, or ""; passed through TrimError by who makes the letter
	DiedAt        int64   // when it was given up, in nanoseconds
	OriginQueue   string  // the queue it died in
	OriginSubject string  // the subject it was published on; the reader may fill it from the message
	OriginSeq     uint64  // its sequence in that queue
	PublishedAt   int64   // when it was first published, in nanoseconds
	Attempts      uint32  // attempts counted in this life
	Replays       uint32  // how often it was brought back before
	History       History // its last attempts
}
