package system

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

const b3Config = `
defaults: {max_attempts: 0}
queues:
  - {name: quick, backoff: {initial: 1ms, factor: 2, max: 5ms, jitter: 0.2}}
  - {name: ages, backoff: {initial: 1s, factor: 2, max: 87600h, jitter: 0.2}}
  - {name: crowd, backoff: {initial: 2s, factor: 2, max: 1m, jitter: 0.5}}
  - {name: none, backoff: {initial: 0s, factor: 1, max: 1m}}
  - {name: flat, backoff: {initial: 7ms, factor: 1, max: 1m, jitter: 0}}
  - {name: steep, backoff: {initial: 1ms, factor: 1e9, max: 9ms, jitter: 0}}
`

// retried is the event of a message that waits for its next attempt.
type retried struct {
	Queue   string        `json:"queue"`
	Seq     uint64        `json:"seq"`
	Attempt uint32        `json:"attempt"`
	Delay   time.Duration `json:"delay_ns"`
}

// retries listens to the retries of a queue.
func (c *client) retries(t *testing.T, queue string) func() retried {
	t.Helper()
	sub, err := c.nc.SubscribeSync("dsend.event." + queue + ".retried")
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		t.Fatal(err)
	}
	c.flush(t)
	return func() (e retried) {
		t.Helper()
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatalf("no event of a retry: %v", err)
		}
		if err := json.Unmarshal(m.Data, &e); err != nil {
			t.Fatalf("event %s: %v", m.Data, err)
		}
		return e
	}
}

// B3: the backoff does not overflow; cap and jitter hold at every attempt.
func TestB3_BackoffHoldsItsBounds(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: b3Config})
	attempts := 400 // a doubled delay wraps around after 35 to 65
	if storm() {
		attempts = 5000
	}
	for _, q := range []struct {
		name        string
		attempts    int
		first, most time.Duration
		factor      float64
		jitter      float64
	}{
		{"quick", attempts, time.Millisecond, 5 * time.Millisecond, 2, 0.2},
		{"none", 200, 0, 0, 1, 0},
		{"flat", 20, 7 * time.Millisecond, 7 * time.Millisecond, 1, 0},
		{"steep", 100, time.Millisecond, 9 * time.Millisecond, 1e9, 0},
	} {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			c := s.connect(t)
			next := c.retries(t, q.name)
			c.put(t, plain(q.name, "again"))
			for n := range q.attempts {
				d := c.one(t, q.name)
				if d.attempt != uint64(n+1) {
					t.Fatalf("attempt %d, want %d", d.attempt, n+1)
				}
				d.must(t, nak, "ok")
				e, full := next(), min(float64(q.first)*math.Pow(q.factor, float64(n)), float64(q.most))
				if delay := float64(e.Delay); delay > full || delay < full*(1-q.jitter)-1 || e.Attempt != uint32(n+1) {
					t.Fatalf("the wait after attempt %d is %s (%+v), want %s less a jitter of %v", n+1, e.Delay, e, time.Duration(full), q.jitter)
				}
			}
		})
	}
}

// Ten years are the longest wait, at any attempt.
func TestB3_TenYearsAreTheMost(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: b3Config})
	c := s.connect(t)
	next := c.retries(t, "ages")
	const most = 87600 * time.Hour
	waits := map[uint64]time.Duration{}
	for _, attempt := range []uint64{1, 2, 20, 29, 30, 33, 34, 35, 62, 63, 64, 65, 66, 128} {
		c.put(t, plain("ages", "patience"))
		d := c.one(t, "ages")
		for ; d.attempt < attempt; d = c.one(t, "ages") {
			d.must(t, nakFor(1), "ok")
			next()
		}
		full := time.Duration(min(float64(time.Second)*math.Pow(2, float64(attempt-1)), float64(most)))
		d.must(t, nak, "ok")
		e := next()
		if e.Delay > full || e.Delay < full/5*4 || e.Attempt != uint32(attempt) {
			t.Errorf("the wait after attempt %d is %s (%+v), want %s at the most", attempt, e.Delay, e, full)
		}
		waits[e.Seq] = e.Delay
	}
	for range 2 {
		for _, m := range c.look(t, "ages") {
			if m.State == "delayed" && m.Attempt > 20 && time.Until(*m.ReadyAt) < waits[m.Seq]-time.Hour {
				t.Errorf("message %d, which waits for %s, is due at %v", m.Seq, waits[m.Seq], m.ReadyAt)
			}
		}
		s.restart()
		c.back(t)
	}
}

// A thousand that fail at the same moment come back spread over the jitter's
// range, none early, and not all at once.
func TestB3_JitterSpreads(t *testing.T) {
	t.Parallel()
	const full, least = 2 * time.Second, time.Second
	s := start(t, setup{config: b3Config})
	c := s.connect(t)
	next := c.retries(t, "crowd")
	c.putMany(t, "crowd", "m", 1000)
	held := c.take(t, "crowd", 1000)
	failed := time.Now()
	for _, d := range held {
		if err := d.say(nak); err != nil {
			t.Fatal(err)
		}
	}
	var spread [10]int
	for range held {
		e := next()
		if e.Delay < least || e.Delay > full {
			t.Fatalf("a wait of %s, want %s to %s", e.Delay, least, full)
		}
		spread[min(9, int((e.Delay-least)*10/(full-least)))]++
	}
	for _, n := range spread {
		if n < 50 || n > 200 {
			t.Errorf("the waits are not even: %v in tenths of the range", spread)
			break
		}
	}
	var came diary
	c.pulls(t, "crowd", 50, func(d *delivery) {
		came.add(d)
		if err := d.say(ack); err != nil && err != nats.ErrConnectionClosed {
			t.Error(err)
		}
	})
	first := came.wait(t, 1000)[0]
	if first.at.Before(failed.Add(least - early)) {
		t.Errorf("the first one came %s after it failed", first.at.Sub(failed))
	}
	c.rest(t, "crowd", counts{})
}
