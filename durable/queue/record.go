package queue

import (
	"encoding/json"
	"fmt"
	"time"
	"unique"

	"dsend/dlq"
)

// Kinds of record. A kind is never given a new meaning.
const (
	kindStore        = 1 + iota // the store's identity
	kindQueue                   // a queue, its settings and counters
	kindDrop                    // a queue is removed
	kindMessage                 // a publish, or a message carried forward
	kindDeliver                 // a message was handed out
	kindExtend                  // its deadline moved
	kindFail                    // an attempt failed
	kindRemove                  // a message is done
	kindPurge                   // all messages up to a number are removed
	kindDie                     // a message moved to a dead-letter queue
	kindReplay                  // a dead message moved back
	kindID                      // a message id, carried forward
	kindClock                   // the time of the commit
	kindConsumer                // a consumer, its settings and counters
	kindDropConsumer            // a consumer is removed
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

// redo reads a record of a kind and applies it.
func (s *State) redo(kind byte, body []byte, size int, place Place, out *Out) error {
	f := fields{b: body}
	switch kind {
	case kindStore:
		return redo(s, &f, decodeStore(&f), place, out)
	case kindQueue:
		return redo(s, &f, decodeQueue(&f), place, out)
	case kindDrop:
		return redo(s, &f, dropRecord{f.uint32()}, place, out)
	case kindMessage:
		return s.redoMessage(body, size, place, out)
	case kindDeliver:
		return redo(s, &f, decodeDeliver(&f), place, out)
	case kindExtend:
		return redo(s, &f, extendRecord{decodeIdentity(&f), f.time()}, place, out)
	case kindFail:
		return redo(s, &f, decodeFail(&f), place, out)
	case kindRemove:
		return redo(s, &f, removeRecord{decodeIdentity(&f)}, place, out)
	case kindPurge:
		return redo(s, &f, purgeRecord{decodeIdentity(&f)}, place, out)
	case kindDie:
		return redo(s, &f, decodeDie(&f), place, out)
	case kindReplay:
		return redo(s, &f, replayRecord{decodeIdentity(&f), decodeIdentity(&f), f.time()}, place, out)
	case kindClock:
		return redo(s, &f, clockRecord{f.time()}, place, out)
	case kindConsumer:
		return redo(s, &f, decodeConsumer(&f), place, out)
	case kindDropConsumer:
		return redo(s, &f, dropConsumerRecord{f.uint32(), f.text()}, place, out)
	case kindID:
		return redo(s, &f, idRecord{decodeIdentity(&f), f.text(), f.time()}, place, out)
	}
	return fmt.Errorf("queue: unknown kind of record %d", kind)
}

// redo applies a record, if it was read whole.
func redo[R record](s *State, f *fields, r R, place Place, out *Out) error {
	if err := f.done(); err != nil {
		return err
	}
	r.apply(s, place, out)
	return nil
}

func (s *State) redoMessage(body []byte, size int, place Place, out *Out) (err error) {
	if s.draft, err = decodeMessage(body); err != nil {
		return err
	}
	messageRecord{&s.draft, uint32(size)}.apply(s, place, out)
	s.draft = Message{} // the log's bytes are not ours to keep
	return nil
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

func decodeHolder(f *fields) hand { return unique.Make(holder{f.text(), f.text(), f.text()}) }

// hand is a holder that is shared by all messages it has: 8 bytes, whatever it
// is called. The zero value is nobody's.
type hand = unique.Handle[holder]

func inHand(h hand) holder {
	if h == (hand{}) {
		return holder{}
	}
	return h.Value()
}

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
	auto       time.Duration // the automatic visibility timeout; 0 before it was changed
}

// queueJSON is what a queue record says in JSON.
type queueJSON struct {
	Settings
	Auto time.Duration `json:"visibility_now,omitempty"`
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
	settings, err := json.Marshal(queueJSON{r.settings, r.auto})
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
	var kept queueJSON
	if err := json.Unmarshal(f.b, &kept); err != nil {
		f.fail(fmt.Errorf("queue: settings of %s: %w", r.name, err))
	}
	r.settings, r.auto = kept.Settings, kept.Auto
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
	holder   hand
}

func (r deliverRecord) encode(dst []byte) []byte {
	start := len(dst)
	dst = r.identity.encode(begin(dst, kindDeliver))
	dst = appendUint(dst, uint64(r.attempt))
	dst = appendUint(dst, r.delivery)
	dst = appendTime(dst, r.at)
	dst = appendTime(dst, r.deadline-r.at)
	return end(inHand(r.holder).encode(dst), start)
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
