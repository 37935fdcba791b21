package system

import (
	"testing"
	"time"
)

// D3: a delayed message takes no place among those in flight, is not handed out by
// the visibility timeout, and comes once.
func TestD3_DelayedTakesNoPlace(t *testing.T) {
	t.Parallel()
	const visibility, delay = 5 * time.Second, 15 * time.Second
	s := start(t, setup{config: `
queues:
  - name: orders
    visibility_timeout: 5s
    max_in_flight: 10
    backoff: {list: [50ms], jitter: 0}
`})
	c := s.connect(t)
	l := newLedger(dice(t), visibility)
	l.put(t, c, "orders", 10)
	due := map[string]time.Time{}
	msgs := c.take(t, "orders", 10)
	for _, d := range msgs {
		due[l.saw(d).id] = time.Now().Add(delay)
	}
	mustAll(t, msgs, nakFor(delay), "ok")
	if got := s.views(t, c, "orders"); got != (counts{Delayed: 10}) {
		t.Errorf("counts are %+v, want 10 delayed", got)
	}

	l.put(t, c, "orders", 100)
	p, err := c.pull("orders", pull{Batch: 100, NoWait: true})
	if err != nil || len(p.msgs) != 10 {
		t.Fatalf("%d came at once (%v), want the 10 of the limit", len(p.msgs), err)
	}
	if got := c.info(t, "orders").counts; got.InFlight != 10 || got.Delayed != 10 || got.Ready != 90 {
		t.Errorf("counts are %+v, want 90 ready, 10 in flight, 10 delayed", got)
	}
	if err := l.ackAll(p.msgs); err != nil {
		t.Fatal(err)
	}
	for done := 10; done < 100; done += 10 {
		if err := l.ackAll(c.take(t, "orders", 10)); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range due {
		if time.Until(at) < 0 {
			t.Fatal("the hundred have not flowed at once")
		}
	}

	msgs = c.take(t, "orders", 10)
	for _, d := range msgs {
		checkDue(t, d.String(), due[idOf(d.Data)], d.at, delay)
		if d.attempt != 2 {
			t.Errorf("%v: want attempt 2", d)
		}
	}
	if err := l.ackAll(msgs); err != nil {
		t.Fatal(err)
	}
	l.drain(t, c)
	if n := c.info(t, "orders").total(t, "delivered"); n != 120 {
		t.Errorf("%d deliveries, want 120", n)
	}
}
