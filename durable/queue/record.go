package queue

import (
	"encoding/json"
	"fmt"

	"dsend/dlq"
)

// Kinds of record. A kind is never given a new meaning.
const (
	kindStore   = 1 + iota // the store's identity
	kindQueue              // a queue, its settings and counters
	kindDrop               // a queue is removed
	kindMessage            // a publish, or a message carried forward
	kindDeliver            // a message was handed out
	kindExtend             // its deadline moved
	kindFail               // an attempt failed
	kindRemove             // a message is done
	kindPurge              // all messages up to a number are removed
	kindDie                // a message moved to a dead-letter queue
	kindReplay             // a dead message moved back
	kindID                 // a message id, carried forward
	kindClock              // the time of the commit
)

// A record is a change that must survive. encode appends it, apply makes it.
type record interface {
	encode(dst []byte) []byte
	apply(s *State, place Place, out *Out)
}

// emit writes a record of a live op and applies it.
func emit[R record](s *State, out *Out, r R) {
	out.date(s.now)
	offset := len(out.Records)
	out.Records = r.encode(out.Records)
	r.apply(s, Place{s.commit, uint32(offset)}, out)
}

// decode gives the record of a kind.
func decode(kind byte, body []byte, size int) (record, error) {
	f := fields{b: body}
	var r record
	switch kind {
	case kindStore:
		r = decodeStore(&f)
	case kindQueue:
		r = decodeQueue(&f)
	case kindDrop:
		r = dropRecord{f.uint32()}
	case kindMessage:
		m, err := decodeMessage(body)
		return messageRecord{&m, uint32(size)}, err
	case kindDeliver:
		r = decodeDeliver(&f)
	case kindExtend:
		r = extendRecord{decodeIdentity(&f), f.time()}
	case kindFail:
		r = decodeFail(&f)
	case kindRemove:
		r = removeRecord{decodeIdentity(&f)}
	case kindPurge:
		r = purgeRecord{decodeIdentity(&f)}
	case kindDie:
		r = decodeDie(&f)
	case kindReplay:
		r = replayRecord{decodeIdentity(&f), decodeIdentity(&f), f.time()}
	case kindClock:
		r = clockRecord{f.time()}
	case kindID:
		r = idRecord{decodeIdentity(&f), f.text(), f.time()}
	default:
		return nil, fmt.Errorf("queue: unknown kind of record %d", kind)
	}
	return r, f.done()
}

// identity names a message: its queue's id and its number there.
type identity struct {
	queue uint32
	seq   uint64
}

func (id identity) encode(dst []byte) []byte {
	return appendUint(appendUint(dst, uint64(id.queue)), id.seq)
}

func decodeIdentity(f *fields) identity { return identity{f.uint32(), f.seq()} }

// holder is who a message was handed to.
type holder struct {
	consumer string // the pull's consumer, or "work"
	peer     string // the client process of a pull; empty for a push
	group    string // the queue group of a push; empty for a pull
}

func (h holder) encode(dst []byte) []byte {
	return appendText(appendText(appendText(dst, h.consumer), h.peer), h.group)
}

func decodeHolder(f *fields) holder { return holder{f.text(), f.text(), f.text()} }

func (h holder) String() string {
	if h.group != "" {
		return h.group
	}
	if h.peer == "" {
		return h.consumer
	}
	return h.consumer + "@" + h.peer
}

type storeRecord struct {
	key [16]byte
}

func (r storeRecord) encode(dst []byte) []byte {
	start := len(dst)
	return end(append(begin(dst, kindStore), r.key[:]...), start)
}

func decodeStore(f *fields) (r storeRecord) {
	if len(f.b) != len(r.key) {
		f.fail(errShort)
		return r
	}
	copy(r.key[:], f.b)
	f.b = nil
	return r
}

type queueRecord struct {
	id         uint32
	name       string
	source     Source
	created    int64
	paused     bool
	orphan     bool
	next       uint64 // the next number
	deliveries uint64
	settings   Settings
}

func (r queueRecord) encode(dst []byte) []byte {
	start := len(dst)
	dst = begin(dst, kindQueue)
	dst = appendUint(dst, uint64(r.id))
	dst = appendText(dst, r.name)
	dst = append(dst, byte(r.source), flag(r.paused), flag(r.orphan))
	dst = appendTime(dst, r.created)
	dst = appendUint(dst, r.next)
	dst = appendUint(dst, r.deliveries)
	settings, err := json.Marshal(r.settings)
	if err != nil { // Settings hold nothing that JSON cannot say
		panic("queue: settings of " + r.name + ": " + err.Error())
	}
	return end(append(dst, settings...), start)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func decodeQueue(f *fields) (r queueRecord) {
	r.id, r.name = f.uint32(), f.text()
	r.source, r.paused, r.orphan = Source(f.byte()), f.byte() == 1, f.byte() == 1
	r.created, r.next, r.deliveries = f.time(), f.seq(), f.uint()
	if f.err != nil {
		return r
	}
	if err := json.Unmarshal(f.b, &r.settings); err != nil {
		f.fail(fmt.Errorf("queue: settings of %s: %w", r.name, err))
	}
	f.b = nil
	return r
}

type dropRecord struct{ id uint32 }

func (r dropRecord) encode(dst []byte) []byte {
	start := len(dst)
	return end(appendUint(begin(dst, kindDrop), uint64(r.id)), start)
}

type messageRecord struct {
	m    *Message
	size uint32 // of the record when it was read; 0 when it is being made
}

func (r messageRecord) encode(dst []byte) []byte { return r.m.encode(dst) }

// deliverRecord: attempt is the number of this attempt.
type deliverRecord struct {
	identity
	attempt  uint32
	delivery uint64
	at       int64
	deadline int64
	holder   holder
}

func (r deliverRecord) encode(dst []byte) []byte {
	start := len(dst)
	dst = r.identity.encode(begin(dst, kindDeliver))
	dst = appendUint(dst, uint64(r.attempt))
	dst = appendUint(dst, r.delivery)
	dst = appendTime(dst, r.at)
	dst = appendTime(dst, r.deadline-r.at)
	return end(r.holder.encode(dst), start)
}

func decodeDeliver(f *fields) (r deliverRecord) {
	r.identity = decodeIdentity(f)
	r.attempt, r.delivery = f.uint32(), f.uint()
	r.at = f.time()
	r.deadline = r.at + f.time()
	r.holder = decodeHolder(f)
	return r
}

type extendRecord struct {
	identity
	deadline int64
}

func (r extendRecord) encode(dst []byte) []byte {
	start := len(dst)
	return end(appendTime(r.identity.encode(begin(dst, kindExtend)), r.deadline), start)
}

// failRecord: the attempt ended, the message is delayed until due.
type failRecord struct {
	identity
	outcome dlq.Outcome
	attempt uint32 // counted from now on (one less than before if given back)
	at      int64
	due     int64
	doom    dlq.Reason // given up, waiting for room in the dead-letter queue; 0 if not
	error   string
}

func (r failRecord) encode(dst []byte) []byte {
	start := len(dst)
	dst = r.identity.encode(begin(dst, kindFail))
	dst = append(dst, byte(r.outcome), byte(r.doom))
	dst = appendUint(dst, uint64(r.attempt))
	dst = appendTime(dst, r.at)
	dst = appendTime(dst, r.due)
	return end(appendText(dst, r.error), start)
}

func decodeFail(f *fields) (r failRecord) {
	r.identity = decodeIdentity(f)
	r.outcome, r.doom = dlq.Outcome(f.byte()), dlq.Reason(f.byte())
	r.attempt, r.at, r.due, r.error = f.uint32(), f.time(), f.time(), f.text()
	return r
}

type removeRecord struct{ identity }

func (r removeRecord) encode(dst []byte) []byte {
	start := len(dst)
	return end(r.identity.encode(begin(dst, kindRemove)), start)
}

// purgeRecord removes all messages with numbers up to seq.
type purgeRecord struct{ identity }

func (r purgeRecord) encode(dst []byte) []byte {
	start := len(dst)
	return end(r.identity.encode(begin(dst, kindPurge)), start)
}

// dieRecord moves a message to a dead-letter queue. outcome is 0 if no attempt
// ended with it (a waiting message expired or was killed).
type dieRecord struct {
	identity
	to      identity
	origin  string // the queue's name
	outcome dlq.Outcome
	reason  dlq.Reason
	at      int64
	error   string // of this attempt; if it has none the letter shows the last one before
}

func (r dieRecord) encode(dst []byte) []byte {
	start := len(dst)
	dst = r.to.encode(r.identity.encode(begin(dst, kindDie)))
	dst = appendText(dst, r.origin)
	dst = append(dst, byte(r.outcome), byte(r.reason))
	dst = appendTime(dst, r.at)
	return end(appendText(dst, r.error), start)
}

func decodeDie(f *fields) (r dieRecord) {
	r.identity, r.to = decodeIdentity(f), decodeIdentity(f)
	r.origin = f.text()
	r.outcome, r.reason = dlq.Outcome(f.byte()), dlq.Reason(f.byte())
	r.at, r.error = f.time(), f.text()
	return r
}

type replayRecord struct {
	identity
	to identity
	at int64
}

func (r replayRecord) encode(dst []byte) []byte {
	start := len(dst)
	return end(appendTime(r.to.encode(r.identity.encode(begin(dst, kindReplay))), r.at), start)
}

// idRecord: a message id and the number of its first publish.
type idRecord struct {
	identity
	id      string
	expires int64
}

func (r idRecord) encode(dst []byte) []byte {
	start := len(dst)
	dst = appendText(r.identity.encode(begin(dst, kindID)), r.id)
	return end(appendTime(dst, r.expires), start)
}

// clockRecord begins every commit, so that time does not go back over a
// restart.
type clockRecord struct{ now int64 }

func (r clockRecord) encode(dst []byte) []byte {
	start := len(dst)
	return end(appendTime(begin(dst, kindClock), r.now), start)
}
