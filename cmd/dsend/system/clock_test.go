package system

import (
	"fmt"
	"testing"
	"time"
)

// What the tests of the clock wait for, all about as long.
const clockWait = 4 * time.Second

// Every attempt has 4 s, and every wait is 4 s.
const clockConfig = `
defaults:
  visibility_timeout: 4s
  backoff: {list: [4s], jitter: 0}
  dedupe_window: 4s
queues:
- name: orders
- name: mortal
- name: spare
`

// timed is messages that wait for something, each known by what that is, with the
// time when it is due.
type timed struct {
	c    *client
	due  map[string]time.Time
	came diary
}

// set makes one of each: in flight, given back, published with a delay, by an id
// that is remembered, mortal.
func (w *timed) set(t *testing.T) {
	t.Helper()
	w.c.putMany(t, "orders", "message", 2)
	held := w.c.take(t, "orders", 2)
	begin := time.Now() // the answer to an answer is later than its effect, on a busy machine by much
	held[1].must(t, nakFor(clockWait), "ok")
	w.due = map[string]time.Time{
		string(held[0].Data): held[0].deadline().Add(clockWait), // the backoff
		string(held[1].Data): begin.Add(clockWait),
		"delayed":            time.Now().Add(clockWait),
	}
	w.c.put(t, plain("orders", "delayed").with("Dsend-Delay", clockWait.String()))
	w.c.put(t, plain("spare", "known").with("Nats-Msg-Id", "an id"))
	w.c.put(t, plain("mortal", "mortal").with("Nats-TTL", "4s"))
}

// pull has a worker take and ack what comes.
func (w *timed) pull(t *testing.T, s *server) {
	s.connect(t).pulls(t, "orders", 10, func(d *delivery) {
		d.check(t, ack, "ok")
		w.came.add(d)
	})
}

// check checks that each came once, when it was due.
func (w *timed) check(t *testing.T) {
	t.Helper()
	w.came.wait(t, len(w.due))
	for _, d := range w.came.all() {
		due, known := w.due[string(d.Data)]
		if !known {
			t.Errorf("%v came", d)
			continue
		}
		checkDue(t, fmt.Sprint(d), due, d.at, clockWait)
		delete(w.due, string(d.Data))
	}
	for body := range w.due {
		t.Errorf("%s did not come", body)
	}
}

// duplicate tells whether the id is known still. The message that it was first
// published with is in the way of nobody.
func (w *timed) duplicate(t *testing.T) bool {
	t.Helper()
	got, err := w.c.publish(plain("spare", "known").with("Nats-Msg-Id", "an id"))
	if err != nil {
		t.Fatal(err)
	}
	return got.Duplicate
}

// forgotten waits until what lives for 4 s is over, and checks that it was not
// before.
func (w *timed) forgotten(t *testing.T, since time.Time) {
	t.Helper()
	eventually(t, "the mortal one has died", func() error { return equal(w.c.info(t, "mortal").counts, counts{Dead: 1}) })
	if lived := time.Since(since); lived < clockWait-early {
		t.Errorf("the mortal one died after %s", lived)
	}
	eventually(t, "the id is forgotten", func() error { return equal(w.duplicate(t), false) })
	if known := time.Since(since); known < clockWait-early {
		t.Errorf("the id was forgotten after %s", known)
	}
}

// The wall clock jumps by a day while the server runs: nothing comes early or
// late for it, nor lives longer or shorter. A schedule is by the clock as it is
// now.
func TestClock_JumpsWhileRunning(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]time.Duration{"ahead": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, clock := startSteered(t, setup{config: clockConfig})
			w := timed{c: s.connect(t)}
			began := time.Now()
			w.set(t)
			clock.set(jump)
			clock.shown(s, w.c)
			w.pull(t, s)
			if time.Since(began) < clockWait/2 && !w.duplicate(t) { // else the machine is too busy to tell
				t.Error("the id was forgotten with the jump")
			}
			w.due["scheduled"] = time.Now().Add(clockWait)
			w.c.put(t, plain("orders", "scheduled").with("Nats-Schedule", "@at "+clock.now().Add(clockWait).Format(time.RFC3339Nano)))
			w.forgotten(t, began)
			w.check(t)
			clock.set(0)
			clock.shown(s, w.c)
		})
	}
}

// The server is down while its wall clock is set. Set back, its own time goes on
// from where it was; set ahead, what is due by then comes at once. Nothing is
// stranded.
func TestClock_SetWhileDown(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, clock := startSteered(t, setup{config: clockConfig})
			w := timed{c: s.connect(t)}
			began := time.Now()
			w.set(t)
			s.kill()
			clock.set(off)
			s.start()
			w.c.back(t)
			clock.shown(s, w.c)
			if off > 0 { // a day has passed for all of them
				began = began.Add(-clockWait)
				for body := range w.due {
					w.due[body] = time.Now().Add(-early)
				}
			}
			w.pull(t, s)
			w.forgotten(t, began)
			w.check(t)
		})
	}
}
