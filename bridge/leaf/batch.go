package leaf

import (
	"encoding/binary"
	"strconv"
)

const (
	// maxLineOut bounds subject, reply and group of one message together. The server takes 16 × max_control_line
	// (64 KiB by default) from a leaf and closes it beyond (server/parser.go:1276-1293); two subjects of the 4 KiB
	// a client may have and an ack subject fit well within.
	maxLineOut = 16 << 10
	// keepBatch is the buffer a Batch keeps for its next use: twice the largest message a server takes by default, so
	// that a backlog of such does not make as much garbage. What is larger is rare, and its buffer not kept.
	keepBatch = 2 << 20
)

// Batch collects messages to be sent together: a buffer of bytes in the form they travel in. The zero Batch is
// ready to use and refuses only what would break the protocol; one from Conn.NewBatch also refuses what the server
// would close the connection for. It belongs to one goroutine. Bytes are copied in; nothing is retained.
// Converting a string in the call, Publish([]byte(inbox), …), does not allocate.
type Batch struct {
	buf   []byte
	count int
	conn  *Conn
}

// Publish adds a message to everyone with a plain subscription on subject. Queue groups do not get it: the server
// gives a leaf's message only to the groups it names (server/client.go:5728). header is nil or a whole block
// "NATS/1.0\r\n…\r\n\r\n". After an error (ErrSubject, ErrTooLarge, ErrDenied) the batch is as before.
func (b *Batch) Publish(subject, reply, header, payload []byte) error {
	return b.add("", subject, reply, header, payload)
}

// PublishTo adds a message to one member of the queue group, of all subscriptions that match subject; plain
// subscriptions get it as well. Else it is like Publish.
func (b *Batch) PublishTo(group string, subject, reply, header, payload []byte) error {
	if group == "" || breaks([]byte(group)) {
		return ErrSubject
	}
	return b.add(group, subject, reply, header, payload)
}

// Len is the size of the batch in bytes, Count in messages.
func (b *Batch) Len() int   { return len(b.buf) }
func (b *Batch) Count() int { return b.count }

// Reset empties the batch.
func (b *Batch) Reset() {
	b.count = 0
	if cap(b.buf) > keepBatch {
		b.buf = nil
	}
	b.buf = b.buf[:0]
}

func (b *Batch) add(group string, subject, reply, header, payload []byte) error {
	size := len(header) + len(payload)
	if err := b.check(group, subject, reply, size); err != nil {
		return err
	}
	p := b.buf
	if header == nil {
		p = append(p, "LMSG "...)
	} else {
		p = append(p, "HMSG "...)
	}
	p = append(append(p, subject...), ' ')
	if group != "" && len(reply) > 0 {
		p = append(p, "+ "...)
	} else if group != "" {
		p = append(p, "| "...)
	}
	if len(reply) > 0 {
		p = append(append(p, reply...), ' ')
	}
	if group != "" {
		p = append(append(p, group...), ' ')
	}
	if header != nil {
		p = append(strconv.AppendUint(p, uint64(len(header)), 10), ' ')
	}
	p = append(strconv.AppendUint(p, uint64(size), 10), "\r\n"...)
	p = append(append(append(p, header...), payload...), "\r\n"...)
	b.buf = p
	b.count++
	return nil
}

func (b *Batch) check(group string, subject, reply []byte, size int) error {
	if len(subject) == 0 || len(group)+len(subject)+len(reply) > maxLineOut || breaks(subject) || breaks(reply) {
		return ErrSubject
	}
	if b.conn == nil {
		return nil
	}
	lim := b.conn.limits.Load()
	if lim == nil {
		return nil
	}
	if lim.maxPayload > 0 && size > lim.maxPayload {
		return ErrTooLarge
	}
	if lim.publish != nil && !lim.publish.allows(string(subject)) {
		return ErrDenied
	}
	return nil
}

// breaks tells whether p has a byte that would end or split its token: anything up to and including the space.
// Eight bytes at a time: (x - 0x21…) &^ x has a byte's top bit where that byte was below 0x21 (Hacker's Delight 6-1).
func breaks(p []byte) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	for len(p) >= 8 {
		x := binary.LittleEndian.Uint64(p)
		if (x-each*0x21)&^x&top != 0 {
			return true
		}
		p = p[8:]
	}
	for _, c := range p {
		if c <= ' ' {
			return true
		}
	}
	return false
}
