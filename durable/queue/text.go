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

// describe reads a record. A number of a queue is not its name: which it was is
// said by the queue's record, which may be elsewhere.
func describe(kind byte, body []byte) (Record, error) {
	t, f := &telling{}, &fields{b: body}
	switch kind {
	case kindStore:
		t.Kind = "store"
		decodeStore(f) // its secret is not shown
	case kindQueue:
		t.Kind = "queue"
		t.queue(decodeQueue(f))
	case kindDrop:
		t.Kind = "drop"
		t.add("queue", f.uint32())
	case kindMessage:
		m, err := decodeMessage(body)
		if err != nil {
			return Record{}, err
		}
		f.b = nil
		t.content(&m)
	case kindDeliver:
		t.Kind = "deliver"
		r := decodeDeliver(f)
		t.message(r.identity).add("attempt", r.attempt).add("delivery", r.delivery)
		t.at("at", r.at).at("deadline", r.deadline).add("to", inHand(r.holder).String())
	case kindExtend:
		t.Kind = "extend"
		t.message(decodeIdentity(f)).at("deadline", f.time())
	case kindFail:
		t.Kind = "fail"
		r := decodeFail(f)
		t.message(r.identity).add("outcome", r.outcome.String()).add("attempts", r.attempt).at("at", r.at).at("due", r.due)
		some(t, "error", r.error)
		if r.doom != 0 {
			t.add("doomed", r.doom.String())
		}
	case kindRemove:
		t.Kind = "remove"
		t.message(decodeIdentity(f))
	case kindPurge:
		t.Kind = "purge"
		id := decodeIdentity(f)
		t.add("queue", id.queue).add("upto", id.seq)
	case kindDie:
		t.Kind = "die"
		r := decodeDie(f)
		t.message(r.identity).add("to_queue", r.to.queue).add("to_seq", r.to.seq).add("origin", r.origin)
		t.add("reason", r.reason.String()).at("at", r.at)
		some(t, "error", r.error)
	case kindReplay:
		t.Kind = "replay"
		t.message(decodeIdentity(f))
		to := decodeIdentity(f)
		t.add("to_queue", to.queue).add("to_seq", to.seq).at("at", f.time())
	case kindID:
		t.Kind = "id"
		t.message(decodeIdentity(f)).add("id", f.text()).at("expires", f.time())
	case kindClock:
		t.Kind = "clock"
		t.at("now", f.time())
	case kindConsumer:
		t.Kind = "consumer"
		r := decodeConsumer(f)
		t.add("queue", r.queue).add("name", r.name).add("delivered", r.delivered).at("created", r.created)
	case kindDropConsumer:
		t.Kind = "drop_consumer"
		t.add("queue", f.uint32()).add("name", f.text())
	default:
		return Record{}, fmt.Errorf("queue: unknown kind of record %d", kind)
	}
	return t.Record, f.done()
}

func (t *telling) queue(r queueRecord) {
	t.add("queue", r.id).add("name", r.name).add("next", r.next).add("deliveries", r.deliveries).at("created", r.created)
	some(t, "paused", r.paused)
	some(t, "undeclared", r.orphan)
	if settings, err := json.Marshal(r.settings); err == nil {
		t.add("settings", json.RawMessage(settings))
	}
}

func (t *telling) content(m *Message) {
	t.Kind = "publish"
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
