package system

import (
	"fmt"
	"testing"
	"time"
)

// E2: a replayed message starts a fresh life: attempts from 1, all of them, and
// the first backoff again. The server is killed between the steps.
func TestE2_ReplayStartsAFreshLife(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 3} {
		t.Run(fmt.Sprintf("max_attempts %d", most), func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{config: settings("orders", fmt.Sprintf("max_attempts: %d", most), "backoff: {list: [200ms, 400ms], jitter: 0}")})
			c := s.connect(t)
			heard := c.events(t, "orders")
			l := newLedger(dice(t), 30*time.Second)
			l.put(t, c, "orders", 1)

			for life := range 3 {
				l.liveAndDie(t, c, heard, most)
				s.restart()
				c.back(t)
				l.balance(t, c)
				d := c.dead(t, "orders")
				if d.Reason != "max_attempts" || int(d.Attempts) != most || len(d.History) != most || int(d.Replays) != life {
					t.Fatalf("after %d replays: %s after %d attempts (%v), %d replays", life, d.Reason, d.Attempts, d.outcomes(), d.Replays)
				}
				c.replayed(t, "orders", d.Seq)
				s.restart()
				c.back(t)
				if left, err := c.letters("orders", nil); err != nil || len(left) != 0 {
					t.Fatalf("the dead letter is still there after its replay: %v, %v", left, err)
				}
				l.balance(t, c)
			}

			d := c.one(t, "orders")
			if d.attempt != 1 {
				t.Errorf("the attempt after the last replay is %d", d.attempt)
			}
			if m := c.look(t, "orders")[0]; m.Replays != 3 {
				t.Errorf("replays are %d, want 3", m.Replays)
			}
			if err := l.ackAll([]*delivery{d}); err != nil {
				t.Fatal(err)
			}
			l.drain(t, c)
		})
	}
}

// liveAndDie fails all attempts of the one message of a queue, and checks that
// they are counted from 1 and wait as the queue says.
func (l *ledger) liveAndDie(t *testing.T, c *client, heard *listener, most int) {
	t.Helper()
	waits := []time.Duration{200 * time.Millisecond, 400 * time.Millisecond}
	var failed time.Time
	for n := 1; n <= most; n++ {
		d := c.one(t, "orders")
		if d.attempt != uint64(n) {
			t.Fatalf("attempt %d of a new life says %d", n, d.attempt)
		}
		if n > 1 {
			checkDue(t, fmt.Sprintf("attempt %d", n), failed.Add(waits[n-2]), d.at, waits[n-2])
		}
		failed = time.Now()
		l.fail(t, d)
		if n < most {
			if e := heard.next("retried"); e.Delay != waits[n-1] || e.Attempt != uint32(n) || e.Outcome != "nak" {
				t.Errorf("failed attempt %d waits %s (%+v), want %s", n, e.Delay, e, waits[n-1])
			}
		}
	}
	heard.next("died")
}
