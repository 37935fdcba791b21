package queue

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"dsend/dlq"
)

// Message is a message as the log holds it. Its slices are part of the data it
// was decoded from.
type Message struct {
	QueueID uint32
	Seq     uint64
	At      int64 // publish time, ns

	ID          string        // message id; empty if none
	IDExpires   int64         // until when the id is remembered
	Key         string        // empty if none
	Priority    uint8         // 0 to 9
	Due         int64         // when it is ready first; 0 is at once
	Expires     int64         // 0 is never
	MaxAttempts int           // -1 is the queue's
	Visibility  time.Duration // 0 is the queue's
	Subject     []byte
	Header      []byte
	Body        []byte

	life *life // of a message carried forward; nil for a publish
}

// life is what a message has been through, for one that is carried forward.
type life struct {
	phase    phase
	attempt  uint32
	delivery uint64
	deadline int64 // of delayed and in flight
	since    int64 // start of this life after a replay; 0 is its publish
	replays  uint32
	doom     dlq.Reason // given up, waiting for room in the dead-letter queue
	handed   int64
	holder   hand
	history  dlq.History
	origin   identity    // of a letter: the life that ended
	letter   *dlq.Letter // nil of another
}

// Flags of a message record.
const (
	hasID = 1 << iota
	hasKey
	hasPriority
	hasDue
	hasExpires
	hasMaxAttempts
	hasVisibility
	hasHeader
	hasLife
	hasLetter
	allFlags = 1<<iota - 1
)

func (m *Message) flags() (flags uint64) {
	set := func(bit uint64, on bool) {
		if on {
			flags |= bit
		}
	}
	set(hasID, m.ID != "")
	set(hasKey, m.Key != "")
	set(hasPriority, m.Priority != DefaultPriority)
	set(hasDue, m.Due != 0)
	set(hasExpires, m.Expires != 0)
	set(hasMaxAttempts, m.MaxAttempts >= 0)
	set(hasVisibility, m.Visibility != 0)
	set(hasHeader, m.Header != nil)
	set(hasLife, m.life != nil)
	set(hasLetter, m.life != nil && m.life.letter != nil)
	return flags
}

// plain tells whether a message needs no object of its own while it waits.
func (m *Message) plain() bool {
	return m.flags()&^(hasID|hasPriority|hasHeader) == 0
}

func (m *Message) encode(dst []byte) []byte {
	start := len(dst)
	dst = begin(dst, kindMessage)
	sum := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	flags := m.flags()
	dst = appendUint(dst, flags)
	dst = appendUint(dst, uint64(m.QueueID))
	dst = appendUint(dst, m.Seq)
	dst = appendTime(dst, m.At)
	if flags&hasID != 0 {
		dst = appendText(dst, m.ID)
		dst = appendTime(dst, m.IDExpires)
	}
	if flags&hasKey != 0 {
		dst = appendText(dst, m.Key)
	}
	if flags&hasPriority != 0 {
		dst = append(dst, m.Priority)
	}
	if flags&hasDue != 0 {
		dst = appendTime(dst, m.Due)
	}
	if flags&hasExpires != 0 {
		dst = appendTime(dst, m.Expires)
	}
	if flags&hasMaxAttempts != 0 {
		dst = appendUint(dst, uint64(m.MaxAttempts))
	}
	if flags&hasVisibility != 0 {
		dst = appendTime(dst, int64(m.Visibility))
	}
	if flags&hasLife != 0 {
		dst = m.life.encode(dst)
	}
	dst = appendText(dst, m.Subject)
	if flags&hasHeader != 0 {
		dst = appendText(dst, m.Header)
	}
	dst = append(dst, m.Body...)
	binary.LittleEndian.PutUint32(dst[sum:], crc32.Checksum(dst[sum+4:], castagnoli))
	return end(dst, start)
}

// size is how many bytes a publish takes in the log.
func (m *Message) size() int64 {
	flags := m.flags()
	n := headSize + 4 + uintSize(flags) + uintSize(uint64(m.QueueID)) + uintSize(m.Seq) + timeSize(m.At)
	n += textSize(m.Subject) + len(m.Body)
	add := func(bit uint64, size int) {
		if flags&bit != 0 {
			n += size
		}
	}
	add(hasID, textSize(m.ID)+timeSize(m.IDExpires))
	add(hasKey, textSize(m.Key))
	add(hasPriority, 1)
	add(hasDue, timeSize(m.Due))
	add(hasExpires, timeSize(m.Expires))
	add(hasMaxAttempts, uintSize(uint64(m.MaxAttempts)))
	add(hasVisibility, timeSize(int64(m.Visibility)))
	add(hasHeader, textSize(m.Header))
	return int64(n)
}

func (l *life) encode(dst []byte) []byte {
	dst = append(dst, byte(l.phase), byte(l.doom))
	dst = appendUint(dst, uint64(l.attempt))
	dst = appendUint(dst, l.delivery)
	dst = appendTime(dst, l.deadline)
	dst = appendTime(dst, l.since)
	dst = appendUint(dst, uint64(l.replays))
	dst = appendTime(dst, l.handed)
	dst = inHand(l.holder).encode(dst)
	dst = dlq.AppendHistory(dst, l.history)
	if l.letter != nil {
		dst = l.origin.encode(dst)
		dst = dlq.AppendLetter(dst, l.letter)
	}
	return dst
}

// DecodeMessage reads a message record (kind and length included) and proves
// its checksum. The slices of the result are part of data.
func DecodeMessage(data []byte) (Message, error) {
	kind, body, size, err := split(data)
	if err != nil {
		return Message{}, err
	}
	if kind != kindMessage || size != len(data) {
		return Message{}, fmt.Errorf("queue: not a message record (kind %d, %d of %d bytes)", kind, size, len(data))
	}
	return decodeMessage(body)
}

func decodeMessage(body []byte) (Message, error) {
	if len(body) < 4 {
		return Message{}, errShort
	}
	if binary.LittleEndian.Uint32(body) != crc32.Checksum(body[4:], castagnoli) {
		return Message{}, fmt.Errorf("queue: checksum of a message does not match")
	}
	f := fields{b: body[4:]}
	flags := f.uint()
	if flags&^allFlags != 0 {
		f.fail(fmt.Errorf("queue: unknown flags %#x of a message", flags))
	}
	m := Message{QueueID: f.uint32(), Seq: f.seq(), At: f.time(), Priority: DefaultPriority, MaxAttempts: -1}
	if flags&hasID != 0 {
		m.ID, m.IDExpires = f.text(), f.time()
	}
	if flags&hasKey != 0 {
		m.Key = f.text()
	}
	if flags&hasPriority != 0 {
		m.Priority = min(f.byte(), maxPriority)
	}
	if flags&hasDue != 0 {
		m.Due = f.time()
	}
	if flags&hasExpires != 0 {
		m.Expires = f.time()
	}
	if flags&hasMaxAttempts != 0 {
		m.MaxAttempts = int(f.uint32())
	}
	if flags&hasVisibility != 0 {
		m.Visibility = time.Duration(f.time())
	}
	if flags&hasLife != 0 {
		m.life = decodeLife(&f, flags&hasLetter != 0)
	}
	m.Subject = f.bytes()
	if flags&hasHeader != 0 {
		m.Header = f.bytes()
	}
	m.Body = f.b
	return m, f.err
}

func decodeLife(f *fields, letter bool) *life {
	l := &life{phase: phase(f.byte()), doom: dlq.Reason(f.byte())}
	l.attempt, l.delivery = f.uint32(), f.uint()
	l.deadline, l.since, l.replays, l.handed = f.time(), f.time(), f.uint32(), f.time()
	l.holder = decodeHolder(f)
	if f.err != nil {
		return l
	}
	var err error
	if l.history, f.b, err = dlq.ReadHistory(f.b); err != nil {
		f.fail(err)
		return l
	}
	if letter {
		l.origin = decodeIdentity(f)
		var read dlq.Letter
		if f.err == nil {
			if read, f.b, err = dlq.ReadLetter(f.b); err != nil {
				f.fail(err)
			}
		}
		l.letter = &read
	}
	return l
}

// maxPriority goes first.
const maxPriority = 9
