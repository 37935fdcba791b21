package queue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Record is a record of the log as people read it: its kind, and its fields in
// order. As JSON it is one object.
type Record struct {
	Offset int // byte in the data of its commit
	Kind   string
	Fields []Field
}

// Field is a number, a text, a time in RFC 3339, or a JSON value.
type Field struct {
	Name  string
	Value any
}

// MarshalJSON keeps the fields in their order.
func (r Record) MarshalJSON() ([]byte, error) {
	b := fmt.Appendf(nil, `{"kind":%q`, r.Kind)
	for _, f := range r.Fields {
		var value bytes.Buffer
		e := json.NewEncoder(&value)
		e.SetEscapeHTML(false)
		if err := e.Encode(f.Value); err != nil {
			return nil, err
		}
		b = fmt.Appendf(b, `,%q:%s`, f.Name, bytes.TrimSpace(value.Bytes()))
	}
	return append(b, '}'), nil
}

// String is the record in one line: kind name=value name=value.
func (r Record) String() string {
	var b strings.Builder
	b.WriteString(r.Kind)
	for _, f := range r.Fields {
		switch v := f.Value.(type) {
		case string:
			if v == "" || strings.ContainsFunc(v, func(c rune) bool { return c <= ' ' || c == '"' || c == utf8.RuneError || c > '~' }) {
				fmt.Fprintf(&b, " %s=%q", f.Name, v)
				continue
			}
			fmt.Fprintf(&b, " %s=%s", f.Name, v)
		case json.RawMessage:
			fmt.Fprintf(&b, " %s=%s", f.Name, v)
		default:
			fmt.Fprintf(&b, " %s=%v", f.Name, v)
		}
	}
	return b.String()
}

// ReadRecords gives the records in the data of a commit to fn, in order. Bodies
// are told by their length.
func ReadRecords(data []byte, fn func(Record) error) error {
	return eachRecord(data, func(offset, _ int, kind byte, body []byte) error {
		r, err := describe(kind, body)
		if err != nil {
			return err
		}
		r.Offset = offset
		return fn(r)
	})
}

// telling is a Record that is being written.
type telling struct{ Record }

func (t *telling) add(name string, value any) *telling {
	t.Fields = append(t.Fields, Field{name, value})
	return t
}

// some adds a field unless it is its zero value.
func some[T comparable](t *telling, name string, value T) {
	if value != *new(T) {
		t.add(name, value)
	}
}

func (t *telling) message(id identity) *telling {
	return t.add("queue", id.queue).add("seq", id.seq)
}

func (t *telling) at(name string, ns int64) *telling {
	if ns == 0 {
		return t
	}
	return t.add(name, time.Unix(0, ns).UTC().Format(time.RFC3339Nano))
}

// kinds are the kinds of record for people. A number of a queue is not its name:
// which it was is said by the queue's record, which may be elsewhere.
var kinds = map[byte]struct {
	word string
	tell func(t *telling, f *fields)
}{
	kindStore:    {"store", func(_ *telling, f *fields) { decodeStore(f) }}, // its secret is not shown
	kindQueue:    {"queue", func(t *telling, f *fields) { t.queue(decodeQueue(f)) }},
	kindDrop:     {"drop", func(t *telling, f *fields) { t.add("queue", f.uint32()) }},
	kindMessage:  {"publish", (*telling).content},
	kindDeliver:  {"deliver", func(t *telling, f *fields) { t.delivery(decodeDeliver(f)) }},
	kindExtend:   {"extend", func(t *telling, f *fields) { t.message(decodeIdentity(f)).at("deadline", f.time()) }},
	kindFail:     {"fail", func(t *telling, f *fields) { t.failure(decodeFail(f)) }},
	kindRemove:   {"remove", func(t *telling, f *fields) { t.message(decodeIdentity(f)) }},
	kindPurge:    {"purge", func(t *telling, f *fields) { t.add("queue", f.uint32()).add("upto", f.seq()) }},
	kindDie:      {"die", func(t *telling, f *fields) { t.death(decodeDie(f)) }},
	kindReplay:   {"replay", func(t *telling, f *fields) { t.message(decodeIdentity(f)).to(decodeIdentity(f)).at("at", f.time()) }},
	kindID:       {"id", func(t *telling, f *fields) { t.message(decodeIdentity(f)).add("id", f.text()).at("expires", f.time()) }},
	kindClock:    {"clock", func(t *telling, f *fields) { t.at("now", f.time()) }},
	kindConsumer: {"consumer", func(t *telling, f *fields) { t.consumer(decodeConsumer(f)) }},
	kindDropConsumer: {"drop_consumer", func(t *telling, f *fields) {
		t.add("queue", f.uint32()).add("name", f.text())
	}},
}

// describe reads a record.
func describe(kind byte, body []byte) (Record, error) {
	k, ok := kinds[kind]
	if !ok {
		return Record{}, fmt.Errorf("queue: unknown kind of record %d", kind)
	}
	t, f := &telling{Record{Kind: k.word}}, &fields{b: body}
	k.tell(t, f)
	return t.Record, f.done()
}

func (t *telling) to(id identity) *telling { return t.add("to_queue", id.queue).add("to_seq", id.seq) }

func (t *telling) delivery(r deliverRecord) {
	t.message(r.identity).add("attempt", r.attempt).add("delivery", r.delivery)
	t.at("at", r.at).at("deadline", r.deadline).add("to", inHand(r.holder).String())
}

func (t *telling) failure(r failRecord) {
	t.message(r.identity).add("outcome", r.outcome.String()).add("attempts", r.attempt).at("at", r.at).at("due", r.due)
	some(t, "error", r.error)
	if r.doom != 0 {
		t.add("doomed", r.doom.String())
	}
}

func (t *telling) death(r dieRecord) {
	t.message(r.identity).to(r.to).add("origin", r.origin).add("reason", r.reason.String()).at("at", r.at)
	some(t, "error", r.error)
}

func (t *telling) consumer(r consumerRecord) {
	t.add("queue", r.queue).add("name", r.name).add("delivered", r.delivered).at("created", r.created)
}

func (t *telling) queue(r queueRecord) {
	t.add("queue", r.id).add("name", r.name).add("next", r.next).add("deliveries", r.deliveries).at("created", r.created)
	some(t, "paused", r.paused)
	some(t, "undeclared", r.orphan)
	if settings, err := json.Marshal(r.settings); err == nil {
		t.add("settings", json.RawMessage(settings))
	}
}

// content reads a message, which proves itself.
func (t *telling) content(f *fields) {
	m, err := decodeMessage(f.b)
	f.b = nil
	if err != nil {
		f.fail(err)
		return
	}
	if m.life != nil {
		t.Kind = "carried"
	}
	t.message(identity{m.QueueID, m.Seq}).at("at", m.At).add("subject", string(m.Subject)).add("bytes", len(m.Body))
	some(t, "headers", len(m.Header))
	some(t, "id", m.ID)
	some(t, "key", m.Key)
	if m.Priority != DefaultPriority {
		t.add("priority", m.Priority)
	}
	t.at("due", m.Due).at("expires", m.Expires)
	if l := m.life; l != nil {
		t.add("phase", [...]string{"", "ready", "ready", "delayed", "in_flight"}[min(l.phase, phaseInFlight)])
		t.add("attempts", l.attempt).at("until", l.deadline)
		some(t, "replays", l.replays)
		if l.letter != nil {
			t.add("dead", l.letter.Reason.String()).add("origin", l.letter.OriginQueue)
		}
	}
}
