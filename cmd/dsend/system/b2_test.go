package system

import (
	"testing"
	"time"
)

// B2: a long timer does not hide a shorter one. A waits for 30 s and D for an hour
// while B and C have their own, shorter times.
func TestB2_LongTimerHidesNoShorterOne(t *testing.T) {
	t.Parallel()
	const visibility = 3 * time.Second
	s := start(t, setup{config: `
queues:
  - name: orders
    visibility_timeout: 3s
    max_attempts: 0
    backoff: {list: [200ms, 1s, 30s], jitter: 0}
`})
	c := s.connect(t)
	var came diary
	c.pulls(t, "orders", 1, func(d *delivery) {
		answer := map[string]string{"A": nak, "C": nakFor(time.Second), "D": nakFor(time.Hour)}[string(d.Data)]
		if string(d.Data) == "C" && d.attempt == 2 {
			answer = ack
		}
		if answer != "" {
			d.check(t, answer, "ok")
		}
		came.add(d)
	})
	wait := func(body string, attempts int) []*delivery {
		eventually(t, "attempts of "+body, func() error { return equal(len(came.of(body)), attempts) })
		return came.of(body)
	}

	c.put(t, plain("orders", "A"))
	wait("A", 3)
	c.put(t, plain("orders", "B"))
	c.put(t, plain("orders", "D"))
	wait("D", 1)
	c.put(t, plain("orders", "C"))

	cs := wait("C", 2)
	checkDue(t, "C", cs[0].at.Add(time.Second), cs[1].at, time.Second)
	bs := wait("B", 3)
	checkDue(t, "B's second try", bs[0].deadline().Add(200*time.Millisecond), bs[1].at, visibility+200*time.Millisecond)
	checkDue(t, "B's third try", bs[1].deadline().Add(time.Second), bs[2].at, visibility+time.Second)
	if len(came.of("A")) != 3 || len(came.of("D")) != 1 {
		t.Errorf("A came %d times, D %d times", len(came.of("A")), len(came.of("D")))
	}
	for _, m := range c.look(t, "orders") {
		if body := string(m.Data); body == "A" && time.Until(*m.ReadyAt) < 10*time.Second || body == "D" && time.Until(*m.ReadyAt) < 50*time.Minute {
			t.Errorf("%s is due at %v", body, m.ReadyAt)
		}
	}
}
