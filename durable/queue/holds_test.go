package queue

import (
	"testing"
	"time"

	"dsend/retry"
)

// shift is a queue "q" whose pushed messages are answered after given times.
type shift struct {
	*rig
	t *testing.T
}

func newShift(t *testing.T, change func(*Settings)) *shift {
	cfg := testConfig()
	cfg.Defaults.MaxAttempts = 0
	change(&cfg.Defaults)
	s := &shift{newRig(t, cfg), t}
	s.done(t, &Declare{Name: "q", Settings: cfg.Defaults, Source: FromAPI})
	s.do(t, &Members{Queue: "q", Group: "g", Count: 1000})
	return s
}

// publish gives the delivery of a new message.
func (s *shift) publish(p Publish) Speech {
	s.t.Helper()
	p.Queue, p.MaxAttempts = "q", -1
	out := s.do(s.t, &p)
	if len(out.Speech) != 1 {
		s.t.Fatalf("a publish is followed by %+v", out.Speech)
	}
	return out.Speech[0]
}

func (s *shift) answer(sp Speech, a Answer) *Out {
	a.QueueID, a.Seq, a.Delivery = sp.QueueID, sp.Seq, sp.Delivery
	return s.do(s.t, &a)
}

func (s *shift) after(d time.Duration) *shift {
	s.now += int64(d)
	return s
}

// work has n messages acked, each after a time.
func (s *shift) work(n int, hold time.Duration) (events []Event) {
	s.t.Helper()
	for range n {
		sp := s.publish(Publish{})
		out := s.after(hold).answer(sp, Answer{Verb: Ack})
		events = append(events, out.Events...)
	}
	return events
}

func (s *shift) advice() retry.Advice {
	s.t.Helper()
	a, err := s.state.Advice("q")
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *shift) visibility() time.Duration {
	s.t.Helper()
	i, err := s.state.Info("q")
	if err != nil {
		s.t.Fatal(err)
	}
	return i.Visibility
}

// holds tells whether all that was learned is n holds of about a time.
func (s *shift) holds(about string, n uint64, hold time.Duration) {
	s.t.Helper()
	a := s.advice()
	if a.Answered != n || n > 0 && (a.P50 < hold || a.P50 > hold*9/8 || a.P999 > hold*9/8) {
		s.t.Errorf("%s: %d holds, %s to %s; not %d of %s", about, a.Answered, a.P50, a.P999, n, hold)
	}
}

func fixed(*Settings) {}

// Any answer ends a hold, but for one that says that nothing was done.
func TestWhatCountsAsAHold(t *testing.T) {
	for _, c := range []struct {
		about   string
		publish Publish
		answer  Answer
		n       uint64
	}{
		{"an ack", Publish{}, Answer{Verb: Ack}, 1},
		{"a nak", Publish{}, Answer{Verb: Nak}, 1},
		{"a term", Publish{}, Answer{Verb: Term}, 1},
		{"given back", Publish{}, Answer{Verb: Nak, Uncounted: true}, 0},
		{"no answer", Publish{}, Answer{Verb: Invalid}, 0},
		{"a timeout of its own", Publish{Visibility: time.Minute}, Answer{Verb: Ack}, 0},
	} {
		s := newShift(t, fixed)
		sp := s.publish(c.publish)
		s.after(10*time.Second).answer(sp, c.answer)
		s.holds(c.about, c.n, 10*time.Second)
	}
}

// The hold of a worker that says "in progress" is its longest silence.
func TestInProgressPartsAHold(t *testing.T) {
	s := newShift(t, fixed)
	sp := s.publish(Publish{})
	for _, silence := range []time.Duration{5, 20, 8} {
		s.after(silence*time.Second).answer(sp, Answer{Verb: InProgress})
	}
	s.holds("at work", 0, 0)
	s.after(6*time.Second).answer(sp, Answer{Verb: Ack})
	s.holds("done", 1, 20*time.Second)

	sp = s.publish(Publish{})
	s.after(time.Second).answer(sp, Answer{Verb: InProgress})
	s.after(30 * time.Second).do(t) // times out
	s.after(10*time.Second).answer(sp, Answer{Verb: Ack})
	if a := s.advice(); a.Expired != 1 || a.Late != 1 || a.P99 < 40*time.Second || a.P99 > 44*time.Second {
		t.Errorf("late after a word: %+v", a)
	}
}

// However it is told that the work was done after all: late, stale, or gone as
// another was faster.
func TestLateAnswersAreHolds(t *testing.T) {
	s := newShift(t, fixed)
	slow := s.publish(Publish{})
	s.after(30 * time.Second).do(t) // times out
	if a := s.advice(); a.Answered != 0 || a.Expired != 1 || a.Connected != 1 || a.Open != 1 {
		t.Fatalf("expired: %+v", a)
	}
	again := s.after(time.Second).do(t)
	if len(again.Speech) != 1 || again.Speech[0].Attempt != 2 {
		t.Fatalf("it did not come again: %+v", again.Speech)
	}
	s.answer(again.Speech[0], Answer{Verb: Ack})
	s.holds("the second worker was fast", 0, 0)
	s.after(9*time.Second).answer(slow, Answer{Verb: Nak})
	s.holds("gone", 1, 40*time.Second)

	slow = s.publish(Publish{})
	s.after(40*time.Second).answer(slow, Answer{Verb: Ack})
	s.holds("late", 2, 40*time.Second)

	slow = s.publish(Publish{})
	s.after(31 * time.Second).do(t)
	s.after(9*time.Second).answer(slow, Answer{Verb: InProgress})
	s.holds("stale", 3, 40*time.Second)
	if a := s.advice(); a.Late != 3 || a.LateP50 < 10*time.Second || a.LateMost > 11*time.Second || a.Lost != 0 {
		t.Errorf("late: %+v", a)
	}
}

// A client that is gone, or a group without members, is not connected.
func TestExpiredWithoutAWorker(t *testing.T) {
	s := newShift(t, fixed)
	s.publish(Publish{})
	s.do(t, &Members{Queue: "q", Group: "g", Count: 0})
	s.after(30 * time.Second).do(t)
	if a := s.advice(); a.Expired != 1 || a.Connected != 0 {
		t.Errorf("a group without members: %+v", a)
	}

	s = newShift(t, fixed)
	s.do(t, &Members{Queue: "q", Group: "g", Count: 0}, &Publish{Queue: "q", MaxAttempts: -1}, &Publish{Queue: "q", MaxAttempts: -1},
		&Pull{Queue: "q", Inbox: "in", Peer: "p", Batch: 1}, &Pull{Queue: "q", Inbox: "in2", Peer: "p2", Batch: 1})
	s.after(20*time.Second).do(t, &Peer{Peer: "p", Grace: time.Hour})
	s.after(10 * time.Second).do(t)
	if a := s.advice(); a.Expired != 2 || a.Connected != 1 {
		t.Errorf("one of two clients is gone: %+v", a)
	}
}

// A worker that goes away did not time out: it would have taken longer.
func TestGoneWorkersAreCut(t *testing.T) {
	s := newShift(t, fixed)
	s.work(60, time.Second)
	slow := s.publish(Publish{})
	s.do(t, &Members{Queue: "q", Group: "g", Count: 0}, &Publish{Queue: "q", MaxAttempts: -1},
		&Pull{Queue: "q", Inbox: "in", Peer: "p", Batch: 1})
	s.after(2*time.Second).do(t, &Peer{Peer: "p"})
	s.after(time.Second).do(t)
	s.after(5*time.Second).answer(slow, Answer{Verb: Ack})
	a := s.advice()
	if a.Answered != 61 || a.Expired != 0 {
		t.Errorf("%+v", a)
	}
	if r := a.Repeated(4 * time.Second); r < 0.032 || r > 0.033 { // two of 62
		t.Errorf("%v take longer than what was cut", r)
	}
}

// What was handed out before a restart is measured by nobody's clock.
func TestARestartBeginsAnew(t *testing.T) {
	s := newShift(t, fixed)
	s.work(3, time.Second)
	sp := s.publish(Publish{})
	s.crash(t, 0)
	s.after(20*time.Second).answer(sp, Answer{Verb: Ack})
	if a := s.advice(); a.Answered != 0 || a.Since != 0 {
		t.Errorf("%+v", a)
	}
}

func TestAdviceOfNoQueue(t *testing.T) {
	if _, err := newRig(t, testConfig()).state.Advice("q"); err == nil || err.Code != NoQueue {
		t.Errorf("%v", err)
	}
}

func automatic(s *Settings) { s.VisibilityAuto = true }

// An automatic timeout begins where it is told to, follows what it sees, says
// so, and stays there over a restart and a compaction.
func TestAutomaticVisibility(t *testing.T) {
	s := newShift(t, automatic)
	if got := s.visibility(); got != 30*time.Second {
		t.Fatalf("begins with %s", got)
	}
	if e := s.work(200, time.Second); len(e) != 0 {
		t.Fatalf("too soon: %+v", e)
	}
	e := s.after(10*time.Minute).work(1, time.Second)
	if len(e) != 1 || e[0].Kind != EventVisibility || e[0].Queue != "q" || e[0].From != 30*time.Second || e[0].To != 15*time.Second {
		t.Fatalf("after a rest: %+v", e)
	}
	if sp := s.publish(Publish{}); sp.Deadline-s.now != int64(15*time.Second) {
		t.Errorf("a delivery has %s", time.Duration(sp.Deadline-s.now))
	}
	s.crash(t, 0)
	if got := s.visibility(); got != 15*time.Second {
		t.Errorf("%s after a restart", got)
	}
	n := len(s.log)
	s.carry(t, n, 3, false, func() {})
	s.drop(n)
	s.crash(t, 0)
	if got := s.visibility(); got != 15*time.Second {
		t.Errorf("%s after a compaction", got)
	}

	// What it is told anew goes before what it has learned.
	settings := s.cfg.Defaults
	settings.VisibilityMin = 20 * time.Second
	s.done(t, &Declare{Name: "q", Settings: settings, Source: FromAPI})
	if got := s.visibility(); got != 20*time.Second {
		t.Errorf("%s with at least 20 s", got)
	}
	settings.VisibilityAuto = false
	s.done(t, &Declare{Name: "q", Settings: settings, Source: FromAPI})
	if got := s.visibility(); got != 30*time.Second {
		t.Errorf("%s when it is not automatic", got)
	}
	settings.VisibilityAuto = true
	s.done(t, &Declare{Name: "q", Settings: settings, Source: FromAPI})
	if got := s.visibility(); got != 30*time.Second {
		t.Errorf("%s when it is automatic again", got)
	}
}

// Late answers make it longer at once; a fixed timeout stays what it is.
func TestLateAnswersRaiseAnAutomaticTimeout(t *testing.T) {
	for _, auto := range []bool{true, false} {
		s := newShift(t, func(s *Settings) { s.VisibilityAuto, s.Backoff.List = auto, []time.Duration{time.Hour} })
		s.work(50, time.Second)
		slow := s.publish(Publish{})
		s.after(time.Minute).do(t)
		out := s.answer(slow, Answer{Verb: Ack})
		raised := events(out, EventVisibility) == 1 && s.visibility() > time.Minute
		if raised != auto || !auto && s.visibility() != 30*time.Second {
			t.Errorf("automatic %t: %s, said %+v", auto, s.visibility(), out.Events)
		}
	}
}

// A consumer's own timeout stays its own, beside an automatic one; how long its
// workers take counts all the same.
func TestAConsumersOwnTimeoutIsNotAutomatic(t *testing.T) {
	s := newShift(t, automatic)
	s.done(t, &DeclareConsumer{Queue: "q", Name: "own", Settings: ConsumerSettings{VisibilityTimeout: 7 * time.Second}})
	s.done(t, &DeclareConsumer{Queue: "q", Name: "other"})
	s.do(t, &Members{Queue: "q", Group: "g", Count: 0})
	timeout := func(consumer string) time.Duration {
		t.Helper()
		out := s.do(t, &Publish{Queue: "q", MaxAttempts: -1}, &Pull{Queue: "q", Consumer: consumer, Inbox: "in", Peer: "p", Batch: 1})
		if len(out.Speech) != 1 {
			t.Fatalf("%s gets %+v", consumer, out.Speech)
		}
		sp := out.Speech[0]
		s.after(time.Second).answer(sp, Answer{Verb: Ack})
		return time.Duration(sp.Deadline-s.now) + time.Second
	}
	for range 60 {
		if own := timeout("own"); own != 7*time.Second {
			t.Fatalf("a delivery through it has %s", own)
		}
	}
	s.after(10 * time.Minute)
	timeout("own")
	if got := s.visibility(); got != 15*time.Second {
		t.Fatalf("%s in force: its holds have not counted", got)
	}
	if own, other := timeout("own"), timeout("other"); own != 7*time.Second || other != 15*time.Second {
		t.Errorf("deliveries have %s, and through a consumer without one %s", own, other)
	}
}
