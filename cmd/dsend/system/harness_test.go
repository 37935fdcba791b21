package system

import (
	"testing"
	"time"
)

// The harness itself: a server that is started, used, looked at from all sides,
// killed, started again and stopped.
func TestHarness(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	l := newLedger(dice(t), 30*time.Second)

	l.put(t, c, "orders", 20)
	held := c.take(t, "orders", 5)
	if err := l.ackAll(held[:2]); err != nil {
		t.Fatal(err)
	}
	l.saw(held[2])
	if _, err := l.answer(held[2], term+" no use"); err != nil {
		t.Fatal(err)
	}
	want := counts{Ready: 15, InFlight: 2, Dead: 1}
	if got := s.views(t, c, "orders"); got != want {
		t.Fatalf("counts are %+v, want %+v", got, want)
	}
	l.balance(t, c)

	s.restart()
	c.back(t)
	if got := s.views(t, c, "orders"); got != want {
		t.Fatalf("counts after the restart are %+v, want %+v", got, want)
	}
	done := make(chan bool, 1)
	c.work(t, "orders", "workers", func(d *delivery) { l.saw(d); _, err := l.answer(d, ack); done <- err == nil })
	if !next(t, "a delivery", done) {
		t.Fatal("the push worker's ack was not confirmed")
	}
	t.Logf("stopped in %s", s.stop())
}
