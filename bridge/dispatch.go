package bridge

import (
	"strconv"
	"time"

	"dsend/bridge/leaf"
	"dsend/dlq"
	"dsend/durable"
	"dsend/durable/queue"
)

// dispatch writes what the store says. It belongs to whoever
// speaks for the store: one goroutine at a time.
type dispatch struct {
	prefix string
	tokens tokens
	batch  *leaf.Batch

	reply, header, subject, body []byte // scratch
}

// flushSize is how many bytes are collected before they are sent.
const flushSize = 256 << 10

// Replies answers publishes and answers.
func (b *Bridge) Replies(replies []queue.Reply) {
	for i := range replies {
		switch op := replies[i].Op.(type) {
		case *queue.Publish:
			b.acknowledge(op.Reply, &replies[i])
		case *queue.Answer:
			b.publish(op.Reply, resultHeader(replies[i].Result), nil)
		}
	}
	b.send(b.dispatch.batch)
}

func (b *Bridge) acknowledge(to []byte, r *queue.Reply) {
	if len(to) == 0 {
		return
	}
	d := &b.dispatch
	if r.Err != nil {
		d.body = appendRefusal(d.body[:0], r.Queue, wireError(r.Err))
	} else {
		d.body = appendAck(d.body[:0], r)
	}
	b.publish(to, nil, d.body)
}

var resultHeaders = func() (blocks [queue.ResultInvalid + 1][]byte) {
	for r := queue.ResultOK; r <= queue.ResultInvalid; r++ {
		blocks[r] = []byte("NATS/1.0\r\nDsend-Result: " + r.String() + "\r\n\r\n")
	}
	return blocks
}()

// resultHeader is the header of the answer to an answer.
func resultHeader(r queue.Result) []byte { return resultHeaders[r] }

// publish adds a plain message to the batch.
func (b *Bridge) publish(to, header, body []byte) {
	if err := b.dispatch.batch.Publish(to, nil, header, body); err != nil {
		b.log.Debug("cannot send", "to", string(to), "error", err)
	}
	b.flush()
}

// flush sends the batch when it is large.
func (b *Bridge) flush() {
	if b.dispatch.batch.Len() >= flushSize {
		b.send(b.dispatch.batch)
	}
}

// Speak sends deliveries and statuses, in order.
func (b *Bridge) Speak(spoken []durable.Spoken) {
	for i := range spoken {
		if spoken[i].Status != 0 {
			b.status(spoken[i].Speech)
		} else {
			b.deliver(&spoken[i])
		}
	}
	b.send(b.dispatch.batch)
}

// status sends a status to a pull's inbox.
func (b *Bridge) status(s *queue.Speech) {
	d := &b.dispatch
	d.header = append(d.header[:0], "NATS/1.0 "...)
	d.header = append(d.header, statusText(s.Status)...)
	switch {
	case s.Status == queue.StatusMaxExpires:
		d.header = append(d.header, time.Duration(s.Bound).String()...)
	case s.Bound != 0:
		d.header = strconv.AppendInt(d.header, s.Bound, 10)
	}
	d.header = append(d.header, crlf...)
	if s.Status == queue.StatusHeartbeat {
		d.header = appendHeader(d.header, "Nats-Last-Consumer", strconv.FormatUint(s.Delivery, 10))
		d.header = appendHeader(d.header, "Nats-Last-Stream", strconv.FormatUint(s.Seq, 10))
	} else {
		d.header = appendHeader(d.header, "Nats-Pending-Messages", strconv.Itoa(s.PendingMessages))
		d.header = appendHeader(d.header, "Nats-Pending-Bytes", strconv.Itoa(s.PendingBytes))
	}
	d.header = append(d.header, crlf...)
	d.subject = append(d.subject[:0], s.Inbox...)
	b.publish(d.subject, d.header, nil)
}

// deliver sends a message to a pull's inbox or to a group of workers.
func (b *Bridge) deliver(s *durable.Spoken) {
	d := &b.dispatch
	d.answerTo(s.Speech, s.Message.Subject)
	header := d.facts(s)
	if len(header)+len(s.Message.Body) > b.conn.MaxPayload() {
		header = s.Message.Header // a message of the largest size has no room for ours
	}
	if err := d.put(s.Speech, header, s.Message.Body); err != nil {
		b.log.Debug("cannot deliver", "queue", s.Queue, "seq", s.Seq, "error", err)
	}
	b.flush()
}

// facts is the user's header block with what Dsend says of the delivery; the
// user's alone where that is not wanted. What a dead letter was is always said.
func (d *dispatch) facts(s *durable.Spoken) []byte {
	if s.NoHeaders && s.Letter == nil {
		return s.Message.Header
	}
	h := openHeader(d.header[:0], s.Message.Header)
	h = append(append(append(h, "Dsend-Queue: "...), s.Queue...), crlf...)
	h = append(strconv.AppendUint(append(h, "Dsend-Attempt: "...), uint64(s.Attempt), 10), crlf...)
	h = append(appendStamp(append(h, "Dsend-Deadline: "...), s.Deadline), crlf...)
	if s.Letter != nil {
		h = appendLetter(h, s.Letter, s.Message.Subject)
	}
	d.header = append(h, crlf...)
	return d.header
}

func (d *dispatch) put(s *queue.Speech, header, body []byte) error {
	switch {
	case s.Inbox != "":
		d.subject = append(d.subject[:0], s.Inbox...)
		return d.batch.Publish(d.subject, d.reply, header, body)
	case s.Subject != "":
		d.subject = append(d.subject[:0], s.Subject...)
	default:
		d.subject = append(append(append(d.subject[:0], d.prefix...), ".work."...), s.Queue...)
	}
	return d.batch.PublishTo(s.Group, d.subject, d.reply, header, body)
}

// answerTo builds the reply subject of a delivery. The server cuts it at the
// "@": the receiver sees what is before as the reply, and what is behind as
// the subject.
func (d *dispatch) answerTo(s *queue.Speech, subject []byte) {
	r := append(d.reply[:0], ackPrefix...)
	r = append(append(r, d.tokens.hash...), '.')
	r = append(append(r, s.Queue...), '.')
	r = append(append(r, s.Consumer...), '.')
	r = append(strconv.AppendUint(r, uint64(s.Attempt), 10), '.')
	r = append(strconv.AppendUint(r, s.Seq, 10), '.')
	r = append(strconv.AppendUint(r, s.Delivery, 10), '.')
	r = append(strconv.AppendInt(r, s.At, 10), '.')
	r = append(strconv.AppendInt(r, s.Pending, 10), '.')
	r = d.tokens.append(r, delivery{s.Inbox == "", s.QueueID, s.Seq, s.Delivery}, scope(s.Queue, s.Consumer))
	d.reply = append(append(r, '@'), subject...)
}

func appendStamp(dst []byte, ns int64) []byte {
	return time.Unix(0, ns).UTC().AppendFormat(dst, time.RFC3339Nano)
}

func stamp(ns int64) string { return string(appendStamp(nil, ns)) }

// ShownHeader is the header block of a message as it is shown to whoever looks at
// it: a dead letter with what is known of its death. l is nil for others.
func ShownHeader(m *queue.Message, l *dlq.Letter) []byte {
	if l == nil {
		return m.Header
	}
	return append(appendLetter(openHeader(nil, m.Header), l, m.Subject), crlf...)
}

// appendLetter adds the facts of a dead letter.
func appendLetter(dst []byte, l *dlq.Letter, subject []byte) []byte {
	dst = appendHeader(dst, "Dsend-Dead-Reason", l.Reason.String())
	if l.Error != "" {
		dst = appendHeader(dst, "Dsend-Dead-Error", l.Error)
	}
	dst = appendHeader(dst, "Dsend-Dead-At", stamp(l.DiedAt))
	dst = appendHeader(dst, "Dsend-Origin-Queue", l.OriginQueue)
	dst = appendHeader(dst, "Dsend-Origin-Subject", string(subject))
	dst = appendHeader(dst, "Dsend-Origin-Seq", strconv.FormatUint(l.OriginSeq, 10))
	dst = appendHeader(dst, "Dsend-Published-At", stamp(l.PublishedAt))
	dst = appendHeader(dst, "Dsend-Attempts", strconv.FormatUint(uint64(l.Attempts), 10))
	return appendHeader(dst, "Dsend-Replays", strconv.FormatUint(uint64(l.Replays), 10))
}
