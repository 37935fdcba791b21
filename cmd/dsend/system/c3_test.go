package system

import (
	"testing"
	"time"
)

// C3: a bare nak does not burn all attempts in a blink, however it is written. A
// worker who fails for a while finds the message again when it has recovered.
func TestC3_BareNakWaitsTheBackoff(t *testing.T) {
	t.Parallel()
	const initial = 400 * time.Millisecond
	s := start(t, setup{config: `
defaults:
  max_attempts: 5
  backoff: {initial: 400ms, factor: 2, jitter: 0.2}
auto_create: true
`})
	for queue, answer := range map[string]string{
		"bare": "-NAK", "space": "-NAK ", "zero": `-NAK {"delay":0}`, "zerotext": "-NAK 0s",
		"empty": "-NAK {}", "error": `-NAK {"error":"the database is away"}`,
	} {
		t.Run(queue, func(t *testing.T) {
			t.Parallel()
			c := s.connect(t)
			c.put(t, plain(queue, "order"))
			recovered := time.Now().Add(4 * initial)
			var came diary
			worker := c.work(t, queue, "workers", func(d *delivery) {
				came.add(d)
				if d.at.After(recovered) {
					d.check(t, ack, "ok")
				} else {
					d.check(t, answer, "ok")
				}
			})
			c.rest(t, queue, counts{})
			leave(t, worker)
			msgs := came.all()
			if len(msgs) < 3 || len(msgs) > 4 {
				t.Errorf("%d deliveries in %s", len(msgs), 4*initial)
			}
			for n := 1; n < len(msgs); n++ {
				full := initial << (n - 1)
				if gap := msgs[n].at.Sub(msgs[n-1].at); gap < full/5*4-early {
					t.Errorf("attempt %d came %s after the one before, want %s less the jitter", n+1, gap, full)
				}
			}
		})
	}
}

// An immediate retry is to be had, by asking for it.
func TestC3_AtOnceWhenAskedFor(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: `
defaults: {backoff: {initial: 1h, max: 1h}}
auto_create: true
`})
	c := s.connect(t)
	c.put(t, plain("orders", "order"))
	for attempt := range 4 {
		d := c.one(t, "orders")
		if d.attempt != uint64(attempt+1) {
			t.Errorf("%v: want attempt %d", d, attempt+1)
		}
		d.must(t, nakFor(1), "ok")
	}
	c.one(t, "orders").must(t, ack, "ok")
	c.rest(t, "orders", counts{})
}
