package queue

import (
	"fmt"
	"iter"
	"reflect"
	"slices"

	"dsend/dlq"
)

// What machine and model say, as texts that must be equal. Where a message lies
// in the log, and the words of a refusal, are the machine's alone.

// opText is an op without what is not set.
func opText(op Op) string {
	v := reflect.ValueOf(op).Elem()
	text := v.Type().Name()
	for i := range v.NumField() {
		field := v.Field(i)
		switch {
		case !v.Type().Field(i).IsExported() || field.IsZero():
		case field.Kind() == reflect.Pointer:
			text += fmt.Sprintf(" %s={%s}", v.Type().Field(i).Name, opText(field.Interface().(Op)))
		case field.Kind() == reflect.Slice:
			text += fmt.Sprintf(" %s=%s", v.Type().Field(i).Name, field.Bytes())
		default:
			text += fmt.Sprintf(" %s=%+v", v.Type().Field(i).Name, field.Interface())
		}
	}
	return text
}

func replyText(r Reply) string {
	code := Code(0)
	if r.Err != nil {
		code = r.Err.Code
	}
	if _, carried := r.Op.(*Carry); carried {
		r.Count = 0 // the model does not know
	}
	return fmt.Sprintf("%T refused %d, %s %d duplicate %t result %d count %d", r.Op, code, r.Queue, r.Seq, r.Duplicate, r.Result, r.Count)
}

func speechText(sp Speech) string {
	letter := ""
	if sp.Letter != nil {
		letter = letterText(sp.Letter)
	}
	sp.Letter, sp.Place, sp.Size = nil, Place{}, 0
	return fmt.Sprintf("%+v %s", sp, letter)
}

func eventText(e Event) string {
	letter := ""
	if e.Letter != nil {
		letter = letterText(e.Letter)
	}
	if e.Kind == EventFull {
		e.Error = ""
	}
	e.Letter, e.Place, e.Size, e.At = nil, Place{}, 0, 0
	return fmt.Sprintf("%+v %s", e, letter)
}

// byListener sorts speech by who hears it in order: a queue's workers, or an
// inbox.
func byListener(speech []Speech) map[string][]Speech {
	by := map[string][]Speech{}
	for _, sp := range speech {
		who := "queue " + sp.Queue
		if sp.Status != 0 {
			who = sp.Inbox
		}
		by[who] = append(by[who], sp)
	}
	return by
}

func keysOf(maps ...map[string][]Speech) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range maps {
			for k := range m {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// face is what can be seen of a queue and must be as the model has it.
func face(i Info) Info {
	i.Settings, i.Created, i.ID = Settings{}, 0, 0
	return i
}

// info is what the model says of a queue.
func (m *model) info(q *mQueue) Info {
	i := Info{
		Name: q.name, Visibility: q.visibility(), Source: q.source, Paused: q.paused || q.settings.Paused, Orphan: q.orphan,
		Ready: q.count(phaseReady), Delayed: q.count(phaseDelayed), InFlight: q.count(phaseInFlight),
		Consumers: len(q.consumers),
		Bytes:     q.bytes(), LastSeq: q.next - 1, Deliveries: q.deliveries, Totals: q.totals,
	}
	oldest := map[uint8]*mMessage{}
	for _, x := range q.sorted() {
		if i.FirstSeq == 0 {
			i.FirstSeq, i.FirstAt = x.seq, x.at
		}
		if x.seq == i.LastSeq {
			i.LastAt = x.at
		}
		if x.letter != nil {
			i.Letters++
		}
		if x.phase == phaseReady && !q.blocked(x) && oldest[x.priority] == nil {
			oldest[x.priority] = x
		}
	}
	for _, x := range oldest {
		if i.OldestReady == 0 || x.since < i.OldestReady {
			i.OldestReady = x.since
		}
	}
	for _, o := range m.queues {
		for _, x := range o.messages {
			if x.letter != nil && x.origin.queue == q.id {
				i.Dead++
			}
		}
	}
	for _, p := range m.pulls {
		if p.queue == q {
			i.WaitingPulls++
		}
	}
	for _, g := range q.groups {
		i.Workers += g.members
	}
	return i
}

// entry is what the model says of a message.
func (m *model) entry(q *mQueue, x *mMessage) Entry {
	e := Entry{
		Queue: q.name, QueueID: q.id, Seq: x.seq, Phase: Ready, Attempt: x.attempt, At: x.at, Expires: x.expires,
		Priority: x.priority, Key: x.key, Replays: x.replays, Size: uint32(x.size), Letter: x.letter, History: x.history,
	}
	switch x.phase {
	case phaseDelayed:
		e.Phase, e.Due = Delayed, x.due
	case phaseInFlight:
		e.Phase, e.Due, e.Worker = InFlight, x.due, x.holder.String()
	default:
		e.Blocked = q.blocked(x)
	}
	return e
}

// sameEntry compares all but the place, which the model does not know.
func sameEntry(a, b Entry) bool {
	if !sameLetter(a.Letter, b.Letter) || !sameHistory(a.History, b.History) {
		return false
	}
	a.Place, a.Letter, a.History = Place{}, nil, dlq.History{}
	b.Letter, b.History = nil, dlq.History{}
	return reflect.DeepEqual(a, b)
}

func sameLetter(a, b *dlq.Letter) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.History, y.History = dlq.History{}, dlq.History{}
	return sameHistory(a.History, b.History) && reflect.DeepEqual(x, y)
}

func sameHistory(a, b dlq.History) bool {
	return slices.Equal(slices.Collect(a.All()), slices.Collect(b.All()))
}

func entryText(e Entry) string {
	letter := ""
	if e.Letter != nil {
		letter = letterText(e.Letter)
	}
	return fmt.Sprintf("%s %d %s attempt %d at %d due %d expires %d with %q priority %d key %q replays %d blocked %t size %d %s history%s",
		e.Queue, e.Seq, e.Phase, e.Attempt, since(e.At), since(e.Due), since(e.Expires), e.Worker, e.Priority, e.Key,
		e.Replays, e.Blocked, e.Size, letter, historyText(e.History))
}
