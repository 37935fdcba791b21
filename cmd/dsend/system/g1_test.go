package system

import (
	"fmt"
	"testing"
	"time"
)

// G1: members of a group go away with work in hand: one is killed, one
// unsubscribes and answers later, one drains. The server is killed in between.
func TestG1_MembersLeaveWithWorkInHand(t *testing.T) {
	t.Parallel()
	const all, visibility = 300, 3 * time.Second
	s := start(t, setup{config: settings("orders", "visibility_timeout: 3s", "max_attempts: 10", "push: {max_in_flight_per_worker: 10}", "backoff: {list: [10ms], jitter: 0}")})
	c := s.connect(t)
	l := newLedger(dice(t), visibility)
	l.put(t, c, "orders", all)

	killed, leaving, draining := s.connect(t), s.connect(t), s.connect(t)
	var inKilled, inLeaving, done diary
	killed.work(t, "orders", "team", inKilled.add)
	leave := leaving.work(t, "orders", "team", inLeaving.add)
	works := func(d *delivery) {
		l.saw(d)
		if result, err := l.answer(d, ack); err == nil && (result == "ok" || result == "late") {
			done.add(d)
		}
	}
	drain := draining.work(t, "orders", "team", works)
	inKilled.wait(t, 5)
	inLeaving.wait(t, 5)
	if n := c.info(t, "orders").InFlight; n > 30 {
		t.Errorf("%d messages are in flight, 3 workers may hold 10 each", n)
	}

	killed.nc.Close()
	if err := leave.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	leaving.flush(t)
	if err := drain.Drain(); err != nil {
		t.Fatal(err)
	}
	c.restWorkers(t, "orders", 0)
	eventually(t, "the worker has drained", func() error { return equal(drain.IsValid(), false) })
	s.restart()
	leaving.back(t)
	c.back(t)

	// The one that has left answers what it had: that still counts.
	if err := l.ackAll(inLeaving.all()); err != nil {
		t.Fatal(err)
	}
	// Somebody new gets the rest, those of the killed one soon after their timeout.
	s.connect(t).work(t, "orders", "team", works)
	c.rest(t, "orders", counts{})
	lost := map[string]*delivery{}
	for _, d := range inKilled.all() {
		lost[string(d.Data)] = d
	}
	for _, d := range done.all() {
		if first := lost[string(d.Data)]; first != nil {
			checkDue(t, fmt.Sprint(d), first.deadline().Add(10*time.Millisecond), d.at, visibility)
			if d.attempt != 2 {
				t.Errorf("%v: a second delivery is attempt %d", d, d.attempt)
			}
			delete(lost, string(d.Data))
		}
	}
	if len(lost) > 0 {
		t.Errorf("%d messages of the killed worker did not come again", len(lost))
	}
	l.drain(t, c)
}

// restWorkers waits until a queue has so many push workers.
func (c *client) restWorkers(t testing.TB, queue string, n int) {
	t.Helper()
	eventually(t, "workers of "+queue, func() error { return equal(c.info(t, queue).Workers, n) })
}
