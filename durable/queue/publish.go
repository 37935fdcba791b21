package queue

import (
	"fmt"
	"time"
)

// publish stores a message, unless its id was stored before or a limit
// refuses it.
func (s *State) publish(op *Publish, out *Out) Reply {
	q, err := s.publishedTo(op.Queue, out)
	if err != nil {
		return Reply{Op: op, Queue: op.Queue, Err: err}
	}
	if seq, ok := q.ids.find(op.ID, s.now); ok && op.ID != "" {
		q.totals.Duplicates++
		return Reply{Op: op, Queue: q.name, Seq: seq, Duplicate: true}
	}
	if err := s.admit(q, op); err != nil {
		q.totals.Refused++
		if err.Code == FullMessages || err.Code == FullBytes {
			out.tell(Event{Kind: EventFull, At: s.now, Queue: q.name, Error: err.Text})
		}
		return Reply{Op: op, Queue: q.name, Err: err}
	}
	m := s.compose(q, op)
	emit(s, out, messageRecord{m: &m})
	q.totals.Published++
	s.touch(q)
	return Reply{Op: op, Queue: q.name, Seq: m.Seq}
}

// publishedTo finds the queue of a publish, or makes it.
func (s *State) publishedTo(name string, out *Out) (*queue, *Error) {
	q := s.byName[name]
	switch {
	case s.stopping:
		return nil, refuse(Stopping, "the server is shutting down")
	case q == nil && !ValidName(name):
		return nil, refuse(BadName, fmt.Sprintf("%q is not a queue name: [A-Za-z0-9_-]{1,64}", name))
	case q == nil && !s.cfg.AutoCreate:
		return nil, refuse(NoQueue, "queue "+name+" is not declared")
	case q == nil:
		return s.create(name, s.cfg.Defaults, FromUse, out), nil
	case q.orphan:
		return nil, refuse(Undeclared, "queue "+name+" was taken out of the configuration")
	}
	return q, nil
}

// admit refuses what a limit forbids or what is out of range.
func (s *State) admit(q *queue, op *Publish) *Error {
	size := int64(len(op.Header) + len(op.Body))
	limit := q.settings.MaxMessageSize
	switch {
	case s.lowSpace:
		return refuse(NoSpace, "insufficient storage: the disk is nearly full")
	case limit > 0 && size > limit:
		return refuse(TooLarge, fmt.Sprintf("message of %d bytes is above max_message_size %d", size, limit))
	case op.Delay < 0 || op.Delay > MaxDelay || op.DueAt > s.now+int64(MaxDelay):
		return refuse(BadOption, "delay is above 10 years")
	}
	return q.full(size + int64(len(op.Subject)))
}

// full refuses a message of a size in bytes if the queue has no room for it.
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
func (s *State) compose(q *queue, op *Publish) Message {
	m := Message{
		QueueID: q.id, Seq: q.next, At: s.now,
		Key: op.Key, Priority: DefaultPriority, MaxAttempts: op.MaxAttempts, Visibility: op.Visibility,
		Subject: op.Subject, Header: op.Header, Body: op.Body,
	}
	if op.HasPriority {
		m.Priority = min(op.Priority, maxPriority)
	}
	if op.ID != "" && q.settings.DedupeWindow > 0 {
		m.ID, m.IDExpires = op.ID, window(s.now, q.settings.DedupeWindow)
	}
	if op.Delay > 0 {
		m.Due = s.now + int64(op.Delay)
	}
	if op.DueAt > s.now {
		m.Due = op.DueAt
	}
	if op.TTL > 0 {
		m.Expires = s.now + int64(min(op.TTL, MaxDelay))
	}
	return m
}

// window is until when an id is remembered that was first published at.
func window(at int64, w time.Duration) int64 { return at + int64(w) }
