package queue

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// stage is where a play is performed: a rig, and the deliveries so far.
type stage struct {
	*rig
	t          *testing.T
	where      string
	said       strings.Builder
	deliveries []Speech
	bodies     map[identity]string // by where they were published
}

func newStage(t *testing.T) *stage {
	return &stage{rig: newRig(t, testConfig()), t: t, bodies: map[identity]string{}}
}

func (st *stage) failf(format string, args ...any) {
	st.t.Helper()
	st.t.Fatalf("%s: %s", st.where, fmt.Sprintf(format, args...))
}

func (st *stage) say(format string, args ...any) { fmt.Fprintf(&st.said, format+"\n", args...) }

// until lets time pass as the store does: it wakes the State when that wants
// to be woken, and says at which time.
func (st *stage) until(at int64) {
	for spins := 0; ; spins++ {
		if spins > 10_000 {
			st.failf("the State wants to be woken for ever: at %s it is for %s", short(st.now-epoch), short(st.state.Next()-epoch))
		}
		next := st.state.Next()
		if next > at || next == math.MaxInt64 {
			break
		}
		st.now = max(st.now, next)
		st.perform(fmt.Sprintf("%s: ", short(st.now-epoch)))
	}
	st.now = max(st.now, at)
	st.perform(fmt.Sprintf("%s: ", short(st.now-epoch)))
}

// perform does ops in a turn of their own and says what comes of it.
func (st *stage) perform(prefix string, ops ...Op) {
	st.turn(st.t, ops...)
	out := st.commit(st.t)
	for _, r := range out.Replies {
		st.say("%s%s", prefix, st.reply(r))
	}
	for _, sp := range out.Speech {
		st.say("%s%s", prefix, st.speech(sp))
	}
	for _, e := range out.Events {
		if text := event(e); text != "" {
			st.say("%s%s", prefix, text)
		}
	}
}

func short(d int64) string {
	s := time.Duration(d).String()
	if s != "0s" {
		if strings.HasSuffix(s, "m0s") {
			s = strings.TrimSuffix(s, "0s")
		}
		if strings.HasSuffix(s, "h0m") {
			s = strings.TrimSuffix(s, "0m")
		}
	}
	return s
}

func (st *stage) reply(r Reply) string {
	if r.Err != nil {
		return "refused: " + r.Err.Text
	}
	switch op := r.Op.(type) {
	case *Publish:
		if r.Duplicate {
			return fmt.Sprintf("duplicate of %s %d", r.Queue, r.Seq)
		}
		st.bodies[identity{st.state.byName[r.Queue].id, r.Seq}] = string(op.Body)
		return fmt.Sprintf("stored %s %d", r.Queue, r.Seq)
	case *Answer:
		return fmt.Sprintf("%s %s", op.Reply, r.Result)
	case *Replay:
		return fmt.Sprintf("replayed as %s %d", r.Queue, r.Seq)
	}
	if r.Count > 0 {
		return fmt.Sprintf("done: %d", r.Count)
	}
	return "done"
}

var statusWords = map[Status]string{
	StatusHeartbeat: "100 Idle Heartbeat", StatusBadRequest: "400 Bad Request", StatusNoMessages: "404 No Messages",
	StatusTimeout: "408 Request Timeout", StatusTooBig: "409 Message Size Exceeds MaxBytes",
	StatusMaxWaiting: "409 Exceeded MaxWaiting", StatusBatchCompleted: "409 Batch Completed",
	StatusRemoved: "409 Consumer Deleted", StatusShutdown: "409 Server Shutdown", StatusNoQueue: "404 Queue Not Found",
	StatusMaxBatch: "409 Exceeded MaxRequestBatch", StatusMaxExpires: "409 Exceeded MaxRequestExpires",
	StatusMaxBytes: "409 Exceeded MaxRequestMaxBytes",
}

func (st *stage) speech(sp Speech) string {
	if sp.Status != 0 {
		text := fmt.Sprintf("%s <- %s", sp.Inbox, statusWords[sp.Status])
		if sp.PendingMessages != 0 || sp.PendingBytes != 0 {
			text += fmt.Sprintf(" (%d messages, %d bytes left)", sp.PendingMessages, sp.PendingBytes)
		}
		return text
	}
	st.deliveries = append(st.deliveries, sp)
	to := sp.Inbox
	if to == "" {
		to = "group " + sp.Group
	}
	m := st.message(st.t, sp.Place, sp.Size)
	if born := (identity{m.QueueID, m.Seq}); sp.Letter == nil && string(m.Body) != st.bodies[born] && st.bodies[born] != "" {
		st.failf("body of %s %d is %q", sp.Queue, sp.Seq, m.Body)
	}
	text := fmt.Sprintf("#%d %s <- %s %d attempt %d until %s pending %d %q",
		len(st.deliveries), to, sp.Queue, sp.Seq, sp.Attempt, short(sp.Deadline-epoch), sp.Pending, m.Body)
	if sp.Letter != nil {
		text += " dead: " + sp.Letter.Reason.String()
	}
	return text
}

func event(e Event) string {
	switch e.Kind {
	case EventRetried:
		text := fmt.Sprintf("! %s %d attempt %d failed (%s), again in %s", e.Queue, e.Seq, e.Attempt, e.Outcome, short(int64(e.Delay)))
		if e.Error != "" {
			text += ": " + e.Error
		}
		return text
	case EventDied:
		return strings.TrimSuffix(fmt.Sprintf("! %s %d died (%s) after attempt %d, is %s %d: %s",
			e.Queue, e.Seq, e.Letter.Reason, e.Attempt, e.DLQ, e.DLQSeq, e.Error), ": ")
	case EventDropped:
		return strings.TrimSuffix(fmt.Sprintf("! %s %d dropped after attempt %d: %s: %s", e.Queue, e.Seq, e.Attempt, e.Reason, e.Error), ": ")
	case EventDLQFull:
		return fmt.Sprintf("! %s %d cannot die, %s is full", e.Queue, e.Seq, e.DLQ)
	case EventLateAck:
		return fmt.Sprintf("! %s %d acked late", e.Queue, e.Seq)
	case EventFull:
		return fmt.Sprintf("! %s is full", e.Queue)
	case EventCreated:
		return fmt.Sprintf("! %s created", e.Queue)
	}
	return "" // told by the reply
}
