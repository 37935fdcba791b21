package system

import (
	"fmt"
	"testing"
	"time"
)

// b4Config has a queue for each message that waits, and one for those who ask for
// too much.
const b4Config = `
queues:
- name: day
- name: days25
- name: days50
- name: days400
- name: spare
- name: greedy
  visibility_timeout: 100h
`

// distant is delays at which timers are known to overflow: in 31 and in 32 bits
// of milliseconds.
var distant = []struct {
	queue string
	delay time.Duration
}{
	{"day", 24 * time.Hour},
	{"days25", 1<<31*time.Millisecond + time.Second},
	{"days50", 1<<32*time.Millisecond + time.Second},
	{"days400", 400 * 24 * time.Hour},
}

// greedy is delays above the longest one: ten years and a nanosecond, 290 years,
// the largest number of 64 bits, and those that do not fit in them.
var greedy = []string{
	`-NAK {"delay":315619200000000001}`, `-NAK 87672h0m0.000000001s`,
	`-NAK {"delay":9145440000000000000}`, `-NAK 2540400h`,
	`-NAK {"delay":9223372036854775807}`, `-NAK 9223372036854775807ns`,
	`-NAK {"delay":9223372036854775808}`, `-NAK 9223372036854775808ns`,
	`-NAK {"delay":18446744073709551616}`, `-NAK 18446744073709551616ns`,
	`-NAK {"delay":-1}`, `-NAK -1s`, `-NAK {"delay":1e300}`,
}

// waiting is the messages that wait, and when they are due.
type waiting struct {
	*server
	*wallClock
	c   *client
	due map[string]time.Time
}

// B4: a long delay is neither cut nor taken for none: it is over when its time has
// come by the clock, which passes while the server is down, and not a minute
// before. What is too long is refused, and the message stays with its worker.
func TestB4_LongDelays(t *testing.T) {
	t.Parallel()
	s, clock := startSteered(t, setup{config: b4Config})
	w := waiting{s, clock, s.connect(t), map[string]time.Time{}}
	for _, d := range distant {
		w.c.put(t, plain(d.queue, d.queue))
		held := w.c.one(t, d.queue)
		before := time.Now()
		held.must(t, nakFor(d.delay), "ok")
		w.due[d.queue] = before.Add(d.delay)
		w.shows(t, d.queue, time.Since(before))
	}
	w.c.put(t, plain("greedy", "mine"))
	held := w.c.one(t, "greedy")
	for _, answer := range greedy {
		held.must(t, answer, "invalid")
	}
	w.refuses(t)
	w.again(t, 0)
	if got := w.c.info(t, "greedy").counts; got != (counts{InFlight: 1}) {
		t.Errorf("the queue of who asked for too much: %+v, want one message in flight", got)
	}
	for k, d := range distant {
		w.again(t, d.delay-time.Minute)
		for _, later := range distant[k:] {
			w.shows(t, later.queue, patience)
			w.c.none(t, later.queue)
		}
		w.again(t, d.delay+time.Minute)
		if m := w.c.one(t, d.queue); string(m.Data) != d.queue || m.attempt != 2 {
			t.Errorf("%v, want attempt 2 of %s", m, d.queue)
		} else {
			m.must(t, ack, "ok")
		}
	}
}

// again stops the server, and starts it with its clock set ahead.
func (w *waiting) again(t *testing.T, ahead time.Duration) {
	t.Helper()
	w.stop()
	w.set(ahead)
	w.start()
	w.c.back(t)
	w.shown(w.server, w.c)
}

// shows checks when the only message of a queue is said to be due.
func (w *waiting) shows(t *testing.T, queue string, slack time.Duration) {
	t.Helper()
	all := w.c.look(t, queue)
	if len(all) != 1 || all[0].State != "delayed" || all[0].ReadyAt == nil {
		t.Fatalf("queue %s: %+v, want one that is delayed", queue, all)
	}
	if off := all[0].ReadyAt.Sub(w.due[queue]); off < -early || off > slack+early {
		t.Errorf("%s is due %s after its time (%v)", queue, off, all[0].ReadyAt)
	}
}

// refuses checks that a publish with a delay that is too long is refused, in
// whatever way it is asked for.
func (w *waiting) refuses(t *testing.T) {
	t.Helper()
	for _, header := range [][2]string{
		{"Dsend-Delay", "87672h0m0.000000001s"}, {"Dsend-Delay", "2540400h"}, {"Dsend-Delay", "9223372036854775808ns"},
		{"Nats-Schedule", "@at " + time.Now().AddDate(290, 0, 0).Format(time.RFC3339)},
		{"Nats-Schedule", "@at 9999-12-31T23:59:59Z"},
	} {
		ack, err := w.c.publish(plain("greedy", "never").with(header[0], header[1]))
		if _, refused := err.(*refusal); !refused {
			t.Errorf("a publish with %s: %+v, %v, want it refused", fmt.Sprint(header), ack, err)
		}
	}
}
