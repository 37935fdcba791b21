package bridge

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"dsend/durable"
	"dsend/durable/queue"
)

// eventJSON is an event as listeners see it.
type eventJSON struct {
	Type    string        `json:"type"`
	Time    time.Time     `json:"time"`
	Queue   string        `json:"queue"`
	Seq     uint64        `json:"seq,omitempty"`
	Attempt uint32        `json:"attempt,omitempty"`
	Outcome string        `json:"outcome,omitempty"`
	Delay   time.Duration `json:"delay_ns,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Error   string        `json:"error,omitempty"`
	Count   int           `json:"count,omitempty"`
	DLQ     string        `json:"dlq,omitempty"`
	DLQSeq  uint64        `json:"dlq_seq,omitempty"`
	From    time.Duration `json:"from_ns,omitempty"`
	To      time.Duration `json:"to_ns,omitempty"`
}

// Events tells people what happened: a line in the log, a message for whoever
// listens, and for a death a copy of the message.
func (b *Bridge) Events(events []durable.Event) {
	for i := range events {
		e := &events[i]
		b.note(e)
		subject := b.prefix + ".event." + e.Queue + "." + e.Kind.String()
		if b.audience.listens(subject) {
			b.publish([]byte(subject), nil, eventBody(e.Event))
		}
		if e.Kind == queue.EventDied {
			b.notice(e)
		}
	}
	b.send(b.dispatch.batch)
}

func eventBody(e *queue.Event) []byte {
	j := eventJSON{
		Type: "dsend.event.v1." + e.Kind.String(), Time: time.Unix(0, e.At).UTC(),
		Queue: e.Queue, Seq: e.Seq, Attempt: e.Attempt, Delay: e.Delay, Error: e.Error,
		Count: e.Count, DLQ: e.DLQ, DLQSeq: e.DLQSeq, From: e.From, To: e.To,
	}
	if e.Outcome != 0 {
		j.Outcome = e.Outcome.String()
	}
	switch {
	case e.Letter != nil:
		j.Reason = e.Letter.Reason.String()
	case e.Reason != 0:
		j.Reason = e.Reason.String()
	}
	body, err := json.Marshal(j)
	if err != nil { // strings and numbers only
		panic(err)
	}
	return body
}

// notice sends a copy of a message the moment it dies.
func (b *Bridge) notice(e *durable.Event) {
	subject := b.prefix + ".dlq." + e.Queue
	if !b.audience.listens(subject) {
		return
	}
	d := &b.dispatch
	d.header = openHeader(d.header[:0], e.Message.Header)
	d.header = appendHeader(d.header, "Dsend-Queue", e.DLQ)
	d.header = appendLetter(d.header, e.Letter, e.Message.Subject)
	d.header = append(d.header, crlf...)
	header := d.header
	if len(header)+len(e.Message.Body) > b.conn.MaxPayload() {
		header = e.Message.Header
	}
	b.publish([]byte(subject), header, e.Message.Body)
}

// note writes the log's line of an event.
func (b *Bridge) note(e *durable.Event) {
	attrs := []any{"queue", e.Queue}
	if e.Seq != 0 {
		attrs = append(attrs, "sequence", e.Seq)
	}
	switch e.Kind {
	case queue.EventDied:
		b.log.Warn("message died", append(attrs, "reason", e.Letter.Reason.String(), "attempts", e.Attempt,
			"error", e.Error, "dlq", e.DLQ, "dlq_sequence", e.DLQSeq)...)
	case queue.EventDropped:
		b.log.Warn("message dropped", append(attrs, "reason", e.Reason.String(), "attempts", e.Attempt, "error", e.Error)...)
	case queue.EventDLQFull:
		b.log.Warn("dead-letter queue is full", append(attrs, "dlq", e.DLQ)...)
	case queue.EventCreated, queue.EventUpdated, queue.EventPaused, queue.EventResumed:
		b.log.Info("queue "+e.Kind.String(), attrs...)
	case queue.EventVisibility:
		b.log.Info("automatic visibility timeout changed", append(attrs, "from", e.From, "to", e.To)...)
	case queue.EventPurged, queue.EventRemoved:
		b.log.Info("queue "+e.Kind.String(), append(attrs, "messages", e.Count)...)
	default:
		if b.log.Enabled(context.Background(), slog.LevelDebug) {
			b.log.Debug("message "+e.Kind.String(), append(attrs, "attempt", e.Attempt, "delay", e.Delay, "error", e.Error)...)
		}
	}
}
