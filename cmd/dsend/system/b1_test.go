package system

import (
	"fmt"
	"testing"
	"time"
)

// B1: a delay survives a restart: a message comes neither early nor late, by its
// original due time, whatever it waits for.
//
//	50  were given back with a delay
//	30  are with a worker who never answers
//	20  were published with a delay
func TestB1_DelaySurvivesRestart(t *testing.T) {
	t.Parallel()
	const (
		visibility = 8 * time.Second
		backoff    = 200 * time.Millisecond
		delay      = 10 * time.Second
	)
	s := start(t, setup{config: `
queues:
  - name: orders
    visibility_timeout: 8s
    backoff: {list: [200ms], jitter: 0}
`})
	c := s.connect(t)
	l := newLedger(dice(t), visibility)
	due, wait := map[string]time.Time{}, map[string]time.Duration{}

	l.put(t, c, "orders", 80)
	held := c.take(t, "orders", 80)
	for k, d := range held {
		id := l.saw(d).id
		if k < 50 {
			due[id], wait[id] = time.Now().Add(delay), delay
		} else {
			due[id], wait[id] = d.deadline().Add(backoff), visibility+backoff
		}
	}
	mustAll(t, held[:50], nakFor(delay), "ok")
	for range 20 {
		i := l.draw("orders", func(o out) out { return o.with("Dsend-Delay", delay.String()) })
		due[i.id], wait[i.id] = time.Now().Add(delay), delay
		if err := l.publish(c, i); err != nil {
			t.Fatal(err)
		}
	}
	c.rest(t, "orders", counts{InFlight: 30, Delayed: 70})
	s.restart()
	c.back(t)
	if got := c.info(t, "orders").counts; got != (counts{InFlight: 30, Delayed: 70}) {
		t.Errorf("counts after the restart are %+v", got)
	}

	var came diary
	for range 3 {
		worker := s.connect(t)
		worker.pulls(t, "orders", 10, func(d *delivery) {
			came.add(d)
			l.saw(d)
			if _, err := l.answer(d, ack); err != nil {
				t.Error(err)
			}
		})
	}
	came.wait(t, 100)
	l.drain(t, c)
	if n := len(came.all()); n != 100 {
		t.Errorf("%d deliveries of 100 messages", n)
	}
	for _, d := range came.all() {
		id := idOf(d.Data)
		checkDue(t, fmt.Sprint(d), due[id], d.at, wait[id])
	}
}
