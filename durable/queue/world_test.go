package queue

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// choice is where random decisions come from: rapid, or a seed.
type choice interface {
	n(limit int) int // from 0, below limit
}

// world is the machine, its log, a second machine that is told the same, and
// the model, side by side.
//
//	world_test.go        a turn, and what is compared after it
//	world_log_test.go    commits, crashes, compaction
//	world_ops_test.go    random ops
//	world_rapid_test.go  the tests
type world struct {
	t       tester
	*rig           // the machine
	twin    *State // another, which has to say the same
	twinOut *Out
	model   *model

	states     []snapshot       // of each commit that a crash may go back to
	needed     map[uint64]int64 // bytes of each commit, by what the machine held and freed
	said       said             // by the model since the last commit
	steps      int
	inboxes    int
	deliveries []delivered // the newest
	story      []string    // the newest, for whoever has to find a fault
}

// delivered is a delivery, and the commit that made it durable.
type delivered struct {
	Speech
	commit uint64
}

type said struct {
	replies []Reply
	speech  []Speech
	events  []Event
}

func newWorld(t tester) *world {
	cfg := testConfig()
	cfg.Defaults.VisibilityTimeout = 3 * time.Second
	cfg.Defaults.MaxAttempts = 2
	cfg.Defaults.Backoff.Jitter = 0.5
	cfg.Defaults.DedupeWindow = 5 * time.Second
	cfg.MaxWaiting = 6
	w := &world{t: t, rig: newRig(t, cfg), model: newModel(cfg), twinOut: &Out{}}
	w.needed = map[uint64]int64{}
	w.twin = w.recovered(t, w.log)
	w.twin.Begin(w.last+1, w.now, w.twinOut)
	w.keep()
	return w
}

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	story := ""
	for _, line := range w.story {
		story += line + "\n"
	}
	w.t.Fatalf("step %d at %s: %s\nbefore:\n%s", w.steps, short(w.now-epoch), fmt.Sprintf(format, args...), story)
}

func (w *world) tellf(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%s ", short(w.now-epoch))+fmt.Sprintf(format, args...))
	if len(w.story) > 40 {
		w.story = w.story[1:]
	}
}

// do is a turn of the loop: machine, twin and model.
func (w *world) do(ops ...Op) {
	w.t.Helper()
	for _, op := range ops {
		if carry, ok := op.(*Carry); ok {
			w.tellf("carry %d messages through %d, finish %t", len(carry.found), carry.Through, carry.Finish)
		} else {
			w.tellf("%s", opText(op))
		}
	}
	w.rig.turn(w.t, ops...)
	w.twin.Tick(w.now, w.twinOut)
	for _, op := range ops {
		w.twin.Step(op, w.now, w.twinOut)
	}
	w.twin.Match(w.now, w.twinOut)
	w.model.tick(w.now)
	for _, op := range ops {
		w.sizes() // a death, a replay, a pull: the machine knows how large a message has become
		w.model.step(op, w.now)
	}
	w.model.match(w.now)
	w.hear()
	w.sizes()
	w.agree()
}

// sizes takes over from the machine how large its messages are.
func (w *world) sizes() {
	for _, q := range w.model.queues {
		for _, x := range q.messages {
			if e, err := w.state.Entry(q.name, x.seq); err == nil && e.QueueID == q.id {
				x.size = int64(e.Size)
			}
		}
	}
}

// hear takes what the model has said.
func (w *world) hear() {
	w.said.replies = append(w.said.replies, w.model.replies...)
	w.said.speech = append(w.said.speech, w.model.speech...)
	w.said.events = append(w.said.events, w.model.events...)
	w.model.replies, w.model.speech, w.model.events = nil, nil, nil
}

// agreeOnWords compares what machine, twin and model have said in a commit.
func (w *world) agreeOnWords(out, twin *Out) {
	w.t.Helper()
	if !bytes.Equal(out.Records, twin.Records) {
		w.fatalf("twin: other records\n%s", difference(recordsText(out.Records), recordsText(twin.Records)))
	}
	for _, two := range [][2]any{{out.Speech, twin.Speech}, {out.Replies, twin.Replies}, {out.Events, twin.Events},
		{out.Freed, twin.Freed}, {out.Held, twin.Held}, {out.Changed, twin.Changed}} {
		if !reflect.DeepEqual(two[0], two[1]) {
			w.fatalf("the twin says something else: %s", difference(listed(two[0]), listed(two[1])))
		}
	}
	same(w, "replies", out.Replies, w.said.replies, replyText)
	same(w, "events", out.Events, w.said.events, eventText)
	ours, theirs := byListener(out.Speech), byListener(w.said.speech)
	for _, who := range slices.Sorted(keysOf(ours, theirs)) {
		same(w, "speech to "+who, ours[who], theirs[who], speechText)
	}
	w.said = said{}
}

// listed writes a list down, one line for each.
func listed(list any) (text string) {
	for v, i := reflect.ValueOf(list), 0; i < v.Len(); i++ {
		switch x := v.Index(i).Interface().(type) {
		case Event:
			text += eventText(x) + fmt.Sprintf(" %v %d\n", x.Place, x.Size)
		default:
			text += fmt.Sprintf("%+v\n", x)
		}
	}
	return text
}

func recordsText(records []byte) (text string) {
	for len(records) > 0 {
		kind, body, size, err := split(records)
		if err != nil {
			return text + err.Error()
		}
		text += fmt.Sprintf("%d %x\n", kind, body)
		records = records[size:]
	}
	return text
}

// agree compares all that can be seen of machine and model.
func (w *world) agree() {
	w.t.Helper()
	if got, want := w.state.Holders(), w.model.holders(); !slices.Equal(got, want) {
		w.fatalf("%v hold messages, and %v in the model", got, want)
	}
	infos := w.state.Infos()
	if len(infos) != len(w.model.queues) {
		w.fatalf("%d queues, and %d in the model", len(infos), len(w.model.queues))
	}
	for _, i := range infos {
		q := w.model.named(i.Name)
		if q == nil {
			w.fatalf("the model has no queue %s", i.Name)
		}
		if got, want := face(i), w.model.info(q); !reflect.DeepEqual(got, want) {
			w.fatalf("queue %s is\n%+v\nand in the model\n%+v", i.Name, got, want)
		}
		w.agreeOnConsumers(q)
		entries := w.pages(i.Name)
		sorted := q.sorted()
		if len(entries) != len(sorted) {
			w.fatalf("queue %s has %d messages, and %d in the model", i.Name, len(entries), len(sorted))
		}
		for k, got := range entries {
			if want := w.model.entry(q, sorted[k]); !sameEntry(got, want) {
				w.fatalf("there is\n%s\nand in the model\n%s", entryText(got), entryText(want))
			}
		}
	}
}

// agreeOnConsumers compares what can be seen of the consumers of a queue.
func (w *world) agreeOnConsumers(q *mQueue) {
	w.t.Helper()
	infos, _, _ := w.state.Consumers(q.name)
	if len(infos) != len(q.consumers) {
		w.fatalf("queue %s has %d consumers, and %d in the model", q.name, len(infos), len(q.consumers))
	}
	for k, got := range infos {
		got.Created = 0
		if want := w.model.consumerInfo(q, q.consumers[k]); !reflect.DeepEqual(got, want) {
			w.fatalf("consumer %s of %s is\n%+v\nand in the model\n%+v", got.Name, q.name, got, want)
		}
	}
}

// pages reads a queue in pages.
func (w *world) pages(name string) (all []Entry) {
	size := 1 + w.steps%5
	for from := uint64(0); ; from = all[len(all)-1].Seq + 1 {
		page, _ := w.state.List(List{Queue: name, From: from, Limit: size})
		if all = append(all, page...); len(page) < size {
			return all
		}
	}
}

// same compares two lists, one text at a time.
func same[T any](w *world, what string, got, want []T, text func(T) string) {
	w.t.Helper()
	for i := range max(len(got), len(want)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(got) {
			a = text(got[i])
		}
		if i < len(want) {
			b = text(want[i])
		}
		if a != b {
			w.fatalf("%s, number %d: the machine says\n%s\nand the model\n%s", what, i, a, b)
		}
	}
}
