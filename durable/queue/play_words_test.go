package queue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dsend/retry"
)

// words are a command: its name, what it is about, and its options.
type words struct {
	st      *stage
	plain   []string
	options map[string]string
}

// command does one line of a play.
//
//	config auto_create=false grace=2s max_waiting=2
//	at 10s | tick 5s               time passes; "at 10s publish …" does it then
//	declare Q visibility=2s …      undeclare Q    remove Q    pause Q    resume Q
//	publish Q body=x id= key= …    n=3 is three of them
//	pull Q inbox=i batch=3 …       members Q GROUP N
//	lost P INBOX    back P INBOX    gone P    here P
//	ack #1    nak #1 delay=1s error="…" uncounted    progress #1    term #1 error=…    invalid #1    next #1 batch=2
//	consumer Q C attempts=2 in_flight=1 waiting=2 visibility=2s backoff=1s,5s inactive=5s
//	         batch=2 expires=1s bytes=9 create exist
//	hold Q C 10s    release Q C    dismiss Q C
//	purge Q keep=2 upto=5    delete Q 3    kill Q 3 error=…    replay DLQ 1 to=Q
//	space low    space ok    stop
//	crash lose=1    carry n=2 (and drop)
//	info Q    list Q    consumers Q
func (st *stage) command(line string) {
	w := parse(st, line)
	if w.plain[0] == "at" {
		st.until(epoch + int64(w.duration(w.plain[1])))
		w.plain = w.plain[2:]
		if len(w.plain) == 0 {
			return
		}
	}
	if st.happens(w) || st.shows(w) {
		return
	}
	if op := w.op(); op != nil {
		for range w.number("n", 1) {
			st.perform("", op)
		}
		return
	}
	st.failf("what is %q?", w.plain[0])
}

func parse(st *stage, line string) *words {
	w := &words{st: st, options: map[string]string{}}
	var word strings.Builder
	quoted := false
	end := func() {
		if word.Len() == 0 {
			return
		}
		if key, value, ok := strings.Cut(word.String(), "="); ok {
			w.options[key] = value
		} else {
			w.plain = append(w.plain, word.String())
		}
		word.Reset()
	}
	for _, r := range line + " " {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted:
			end()
		default:
			word.WriteRune(r)
		}
	}
	return w
}

// happens does what is no op.
func (st *stage) happens(w *words) bool {
	switch w.plain[0] {
	case "config":
		st.cfg.AutoCreate = w.text("auto_create", "true") == "true"
		st.cfg.Grace = w.time("grace", st.cfg.Grace)
		st.cfg.MaxWaiting = w.number("max_waiting", 0)
		st.cfg.Defaults = w.settings(st.cfg.Defaults)
		st.perform("", &Configure{st.cfg})
	case "tick":
		st.until(st.now + int64(w.duration(w.plain[1])))
	case "crash":
		st.crash(st.t, w.number("lose", 0))
	case "carry":
		n := min(w.number("n", len(st.log)-1), len(st.log)-1)
		st.carry(st.t, n, 3, false, func() {})
		st.drop(n)
	default:
		return false
	}
	return true
}

// shows says how things are.
func (st *stage) shows(w *words) bool {
	switch w.plain[0] {
	case "info":
		st.info(w.plain[1])
	case "list":
		st.list(w.plain[1])
	case "consumers":
		st.consumers(w.plain[1])
	default:
		return false
	}
	return true
}

func (st *stage) info(name string) {
	i, err := st.state.Info(name)
	if err != nil {
		st.say("refused: %s", err.Text)
		return
	}
	text := fmt.Sprintf("%s: %d ready, %d delayed, %d in flight, %d dead, %d letters, seq %d to %d",
		name, i.Ready, i.Delayed, i.InFlight, i.Dead, i.Letters, i.FirstSeq, i.LastSeq)
	if i.OldestReady != 0 {
		text += fmt.Sprintf(", oldest since %s", short(i.OldestReady-epoch))
	}
	for _, more := range []struct {
		n    int
		what string
	}{{i.WaitingPulls, "pulls wait"}, {i.Workers, "workers"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	if i.Paused {
		text += ", paused"
	}
	if i.Orphan {
		text += ", orphan"
	}
	st.say("%s", text)
}

func (st *stage) list(name string) {
	page, err := st.state.List(List{Queue: name})
	if err != nil {
		st.say("refused: %s", err.Text)
		return
	}
	for _, e := range page {
		text := fmt.Sprintf("%d %s attempt %d", e.Seq, e.Phase, e.Attempt)
		switch {
		case e.Blocked:
			text += " behind its key"
		case e.Due != 0:
			text += " until " + short(e.Due-epoch)
		}
		if e.Worker != "" {
			text += " with " + e.Worker
		}
		if l := e.Letter; l != nil {
			text += fmt.Sprintf(" dead: %s %q from %s %d, died %s, published %s, attempts %d, replays %d",
				l.Reason, l.Error, l.OriginQueue, l.OriginSeq, short(l.DiedAt-epoch), short(l.PublishedAt-epoch), l.Attempts, l.Replays)
		}
		for a := range e.History.All() {
			text += fmt.Sprintf("\n    %s to %s %s %s", short(a.At-epoch), short(a.Ended-epoch), a.Worker, a.Outcome)
			if a.Error != "" {
				text += ": " + a.Error
			}
		}
		if m := st.message(st.t, e.Place, e.Size); len(m.Body) > 0 {
			text += fmt.Sprintf(" %q", m.Body)
		}
		st.say("%s", text)
	}
}

// op makes the op of a command; nil if it is none.
func (w *words) op() Op {
	name := ""
	if len(w.plain) > 1 {
		name = w.plain[1]
	}
	switch w.plain[0] {
	case "publish":
		return w.publish(name)
	case "pull":
		return w.pull(name)
	case "ack", "nak", "progress", "term", "invalid", "next":
		return w.answer(name)
	case "members":
		return &Members{Queue: name, Group: w.plain[2], Count: int(w.count(3))}
	case "lost", "back":
		return &Interest{Peer: name, Inbox: w.plain[2], Present: w.plain[0] == "back"}
	case "gone", "here":
		return &Peer{Peer: name, Present: w.plain[0] == "here"}
	case "declare":
		settings := Defaults()
		settings.Backoff.Jitter = 0
		return &Declare{Name: name, Settings: w.settings(settings), Source: FromAPI, MustCreate: w.has("create"), MustExist: w.has("exist")}
	case "undeclare":
		return &Undeclare{name}
	case "remove":
		return &Remove{name}
	case "pause", "resume":
		return &Pause{name, w.plain[0] == "pause"}
	case "purge":
		return &Purge{Name: name, Keep: uint64(w.number("keep", 0)), Upto: uint64(w.number("upto", 0))}
	case "delete":
		return &Delete{name, w.count(2)}
	case "kill":
		return &Kill{name, w.count(2), w.text("error", "")}
	case "replay":
		return &Replay{name, w.count(2), w.text("to", "")}
	case "consumer", "hold", "release", "dismiss":
		return w.consumer(name, w.plain[2])
	case "space":
		return &Space{Low: name == "low"}
	case "stop":
		return &Stop{}
	}
	return nil
}

func (w *words) publish(name string) Op {
	return &Publish{
		Queue: name, Subject: []byte(w.text("subject", "dsend.publish."+name)), Body: []byte(w.text("body", "")),
		ID: w.text("id", ""), Delay: w.time("delay", 0), TTL: w.time("ttl", 0), Key: w.text("key", ""),
		MaxAttempts: w.number("attempts", -1), Visibility: w.time("visibility", 0),
		Priority: uint8(w.number("priority", 0)), HasPriority: w.has("priority"),
	}
}

func (w *words) pull(name string) *Pull {
	inbox := w.text("inbox", "in")
	return &Pull{
		Queue: name, Consumer: w.text("consumer", PullConsumer), Inbox: inbox, Peer: w.text("peer", inbox), Batch: w.number("batch", 1),
		Expires: w.time("expires", 0), NoWait: w.has("no_wait"), MaxBytes: w.number("max_bytes", 0), Heartbeat: w.time("heartbeat", 0),
	}
}

// answer is about a delivery that was said, by its number.
func (w *words) answer(handle string) Op {
	n, err := strconv.Atoi(strings.TrimPrefix(handle, "#"))
	if err != nil || n < 1 || n > len(w.st.deliveries) {
		w.st.failf("there is no delivery %s", handle)
	}
	sp := w.st.deliveries[n-1]
	a := &Answer{
		QueueID: sp.QueueID, Seq: sp.Seq, Delivery: sp.Delivery, Reply: []byte(handle),
		Delay: w.time("delay", 0), Error: w.text("error", ""), Uncounted: w.has("uncounted"),
	}
	switch w.plain[0] {
	case "ack":
		a.Verb = Ack
	case "next":
		a.Verb = Ack
		a.Next = w.pull("")
	case "nak":
		a.Verb = Nak
	case "progress":
		a.Verb = InProgress
	case "term":
		a.Verb = Term
	case "invalid":
		a.Verb = Invalid
	}
	return a
}

func (w *words) settings(s Settings) Settings {
	s.VisibilityTimeout = w.time("visibility", s.VisibilityTimeout)
	s.MaxHold = w.time("hold", s.MaxHold)
	s.MaxAttempts = w.number("attempts", s.MaxAttempts)
	s.MaxInFlight = w.number("in_flight", s.MaxInFlight)
	s.Push.MaxInFlightPerWorker = w.number("per_worker", s.Push.MaxInFlightPerWorker)
	s.Push.Subject = w.text("push", s.Push.Subject)
	s.DedupeWindow = w.time("window", s.DedupeWindow)
	s.MaxMessages = int64(w.number("messages", int(s.MaxMessages)))
	s.MaxBytes = int64(w.number("bytes", int(s.MaxBytes)))
	s.MaxMessageSize = int64(w.number("size", int(s.MaxMessageSize)))
	s.MaxAge = w.time("age", s.MaxAge)
	s.Paused = w.has("paused")
	if subjects := w.text("subjects", ""); subjects != "" {
		s.Subjects = strings.Split(subjects, ",")
	}
	switch dlq := w.text("dlq", ""); dlq {
	case "":
	case "off":
		s.DeadLetter.Enabled = false
	default:
		s.DeadLetter.Queue = dlq
	}
	if backoff := w.text("backoff", ""); backoff != "" {
		s.Backoff = w.backoff(backoff)
	}
	return s
}

// backoff is a list, 1s,5s,1m, or JSON.
func (w *words) backoff(text string) (p retry.Policy) {
	if strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "'", `"`)), &p); err != nil {
			w.st.failf("%v", err)
		}
		return p
	}
	for _, d := range strings.Split(text, ",") {
		p.List = append(p.List, w.duration(d))
	}
	return p
}

func (w *words) text(key, otherwise string) string {
	if v, ok := w.options[key]; ok {
		return v
	}
	return otherwise
}

// has tells whether an option is there, as a word or with a value.
func (w *words) has(key string) bool {
	_, ok := w.options[key]
	for _, word := range w.plain {
		ok = ok || word == key
	}
	return ok
}

func (w *words) number(key string, otherwise int) int {
	v, ok := w.options[key]
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		w.st.failf("%v", err)
	}
	return n
}

// count is the i-th plain word as a number.
func (w *words) count(i int) uint64 {
	n, err := strconv.ParseUint(w.plain[i], 10, 64)
	if err != nil {
		w.st.failf("%v", err)
	}
	return n
}

func (w *words) time(key string, otherwise time.Duration) time.Duration {
	if v, ok := w.options[key]; ok {
		return w.duration(v)
	}
	return otherwise
}

func (w *words) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		w.st.failf("%v", err)
	}
	return d
}
