package system

import (
	"testing"
	"time"
)

const d2Config = `
defaults:
  visibility_timeout: 4s
  backoff: {list: [50ms], jitter: 0}
auto_create: true
queues:
  - {name: bounded, max_hold: 12s}
`

const d2Visibility, d2Backoff = 4 * time.Second, 50 * time.Millisecond

// D2: "still working" extends the deadline: the message stays with its worker for
// three visibility timeouts, while another one idles.
func TestD2_InProgressExtends(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: d2Config})
	c, idle := s.connect(t), s.connect(t)
	c.put(t, plain("orders", "long work"))
	d := c.one(t, "orders")
	var came diary
	idle.pulls(t, "orders", 1, came.add)
	beat(t, d, 3*d2Visibility, d2Visibility/8, inProgress)
	d.must(t, ack, "ok")
	c.rest(t, "orders", counts{})
	if msgs := came.all(); len(msgs) > 0 {
		t.Errorf("the idle worker got %v", msgs)
	}
}

// beat answers again and again for a time. The pauses are the worker's: what it
// does between is to work.
func beat(t *testing.T, d *delivery, long, pause time.Duration, answer string) {
	t.Helper()
	end, tick := time.After(long), time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
			d.must(t, answer, "ok")
		}
	}
}

// And only while it is sent: after the last one the message is somebody else's
// when the visibility timeout is over, and who is late is told so.
func TestD2_SilenceAfterProgress(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: d2Config})
	c, other := s.connect(t), s.connect(t)
	c.put(t, plain("orders", "work"))
	d := c.one(t, "orders")
	beat(t, d, 3*d2Visibility/2, d2Visibility/8, inProgress)
	last := time.Now()
	d.must(t, inProgress, "ok")
	again := other.one(t, "orders")
	checkDue(t, "the second try", last.Add(d2Visibility+d2Backoff), again.at, d2Visibility)
	if again.attempt != 2 {
		t.Errorf("%v: want attempt 2", again)
	}
	d.must(t, inProgress, "stale") // the claim is gone
	again.must(t, ack, "ok")
	d.must(t, inProgress, "gone")
	c.rest(t, "orders", counts{})
}

// A flood of them does no harm, and a restart in between loses nothing.
func TestD2_FloodOfProgress(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: d2Config})
	c := s.connect(t)
	c.put(t, plain("orders", "work"))
	d := c.one(t, "orders")
	flood := func() {
		end, tick := time.After(3*d2Visibility/2), time.NewTicker(10*time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				if err := d.say(inProgress); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	flood()
	c.rest(t, "orders", counts{InFlight: 1})
	s.restart()
	c.back(t)
	flood()
	if result, err := d.ask(ack); result != "ok" && result != "late" { // a slow start is a timeout
		t.Errorf("the ack was %q (%v)", result, err)
	}
	c.rest(t, "orders", counts{})
}

// max_hold is the most that they can add up to.
func TestD2_MaxHold(t *testing.T) {
	t.Parallel()
	const hold = 3 * d2Visibility
	s := start(t, setup{config: d2Config})
	c, other := s.connect(t), s.connect(t)
	c.put(t, plain("bounded", "work without end"))
	d := c.one(t, "bounded")
	handed := d.deadline().Add(-d2Visibility)
	var came diary
	other.pulls(t, "bounded", 1, came.add)
	tick := time.NewTicker(d2Visibility / 8)
	defer tick.Stop()
	for range tick.C {
		result, err := d.ask(inProgress)
		if err != nil {
			t.Fatal(err)
		}
		if result != "ok" {
			break
		}
	}
	again := came.wait(t, 1)[0]
	checkDue(t, "the second try", handed.Add(hold+d2Backoff), again.at, hold)
	again.must(t, ack, "ok")
}
