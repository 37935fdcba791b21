package queue

import (
	"fmt"
	"math"
	"time"
)

// publish stores a message, unless its id was stored before or a limit
// refuses it. A queue that is made for it is not made for what is refused.
func (s *State) publish(op *Publish, out *Out) Reply {
	q := s.byName[op.Queue]
	if q != nil {
		if seq, ok := q.seenBefore(op.ID, s.now); ok && !q.orphan && !s.stopping {
			q.totals.Duplicates++
			return Reply{Op: op, Queue: q.name, Seq: seq, Duplicate: true}
		}
	}
	if err := s.admit(q, op); err != nil {
		return s.refused(q, op, err, out)
	}
	if q == nil {
		q = s.create(op.Queue, s.cfg.Defaults, FromUse, out)
	}
	m := &s.draft
	s.compose(q, op, m)
	if err := q.full(m.size()); err != nil {
		return s.refused(q, op, err, out)
	}
	emit(s, out, messageRecord{m: m})
	q.totals.Published++
	s.touch(q)
	seq := m.Seq
	*m = Message{} // the op's bytes are not ours to keep
	return Reply{Op: op, Queue: q.name, Seq: seq}
}

// seenBefore finds the first publish of a message id.
func (q *queue) seenBefore(id string, now int64) (seq uint64, ok bool) {
	if id == "" || q.settings.DedupeWindow == 0 {
		return 0, false
	}
	return q.ids.find(id, now)
}

// refused answers a publish that is not stored. q is nil if there is no queue.
func (s *State) refused(q *queue, op *Publish, err *Error, out *Out) Reply {
	if q != nil && !q.orphan && !s.stopping {
		q.totals.Refused++
	}
	if err.Code == FullMessages || err.Code == FullBytes {
		out.tell(Event{Kind: EventFull, At: s.now, Queue: op.Queue, Error: err.Text})
	}
	return Reply{Op: op, Queue: op.Queue, Err: err}
}

// admit refuses a publish for which there is no queue, what a limit forbids,
// and what is out of range. q is nil if the queue is not there yet.
func (s *State) admit(q *queue, op *Publish) *Error {
	settings := &s.cfg.Defaults
	if err := s.open(q, op.Queue); err != nil {
		return err
	}
	if q != nil {
		settings = &q.settings
	}
	size := int64(len(op.Header) + len(op.Body))
	switch limit := settings.MaxMessageSize; {
	case s.lowSpace:
		return refuse(NoSpace, "insufficient storage: the disk is nearly full")
	case limit > 0 && size > limit:
		return refuse(TooLarge, fmt.Sprintf("message of %d bytes is above max_message_size %d", size, limit))
	}
	return s.inRange(op)
}

// open refuses a publish to a queue that takes none or cannot be made.
func (s *State) open(q *queue, name string) *Error {
	switch {
	case s.stopping:
		return refuse(Stopping, "the server is shutting down")
	case q != nil && q.orphan:
		return refuse(Undeclared, "queue "+name+" was taken out of the configuration")
	case q != nil:
		return nil
	case !ValidName(name):
		return badName(name)
	case !s.cfg.AutoCreate:
		return refuse(NoQueue, "queue "+name+" is not declared")
	}
	if err := s.cfg.Defaults.Validate(name); err != nil {
		return refuse(BadSettings, "queue "+name+" cannot have the default settings: "+err.Error())
	}
	return nil
}

func badName(name string) *Error {
	return refuse(BadName, fmt.Sprintf("%q is not a queue name: [A-Za-z0-9_-]{1,64}", name))
}

// inRange refuses options that are out of range.
func (s *State) inRange(op *Publish) *Error {
	switch {
	case op.Delay < 0 || op.TTL < 0 || op.Visibility < 0:
		return refuse(BadOption, "a time is negative")
	case op.Delay > MaxDelay:
		return refuse(BadOption, "delay is above 10 years")
	case op.Visibility > MaxDelay:
		return refuse(BadOption, "visibility timeout is above 10 years")
	case op.MaxAttempts > math.MaxInt32:
		return refuse(BadOption, "max attempts are above 2147483647")
	case op.HasPriority && op.Priority > maxPriority:
		return refuse(BadOption, "priority is above 9")
	}
	return nil
}

// full refuses a message of a size in the log if the queue has no room for it.
func (q *queue) full(size int64) *Error {
	if limit := q.settings.MaxMessages; limit > 0 && q.stored() >= limit {
		return refuse(FullMessages, fmt.Sprintf("queue %s is full: max_messages %d reached", q.name, limit))
	}
	if limit := q.settings.MaxBytes; limit > 0 && q.bytes+size > limit {
		return refuse(FullBytes, fmt.Sprintf("queue %s is full: max_bytes %d reached", q.name, limit))
	}
	return nil
}

// compose makes the message of a publish.
func (s *State) compose(q *queue, op *Publish, m *Message) {
	*m = Message{
		QueueID: q.id, Seq: q.next, At: s.now,
		Key: op.Key, Priority: DefaultPriority, MaxAttempts: op.MaxAttempts, Visibility: op.Visibility,
		Subject: op.Subject, Header: op.Header, Body: op.Body,
	}
	if op.HasPriority {
		m.Priority = op.Priority
	}
	if op.ID != "" && q.settings.DedupeWindow > 0 {
		m.ID, m.IDExpires = op.ID, window(s.now, q.settings.DedupeWindow)
	}
	if op.Delay > 0 {
		m.Due = s.now + int64(op.Delay)
	}
	if op.TTL > 0 {
		m.Expires = s.now + int64(min(op.TTL, MaxDelay))
	}
}

// window is until when an id is remembered that was first published at.
func window(at int64, w time.Duration) int64 { return at + int64(w) }
