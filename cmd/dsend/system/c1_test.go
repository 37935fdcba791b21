package system

import "testing"

// C1: the attempt count survives a restart. A has failed three times, B was never
// delivered, C is in flight when the server is killed.
func TestC1_AttemptsSurviveRestart(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 5s", "max_attempts: 5", "backoff: {list: [50ms], jitter: 0}")})
	c := s.connect(t)
	c.put(t, plain("orders", "A"))
	for range 2 {
		c.one(t, "orders").must(t, nak, "ok")
	}
	c.one(t, "orders").must(t, nakFor(700*1e6), "ok")
	c.put(t, plain("orders", "C"))
	c.one(t, "orders")
	c.put(t, plain("orders", "B"))
	s.restart()
	c.back(t)

	got := map[string][]uint64{}
	for range 4 {
		d := c.one(t, "orders")
		body := string(d.Data)
		got[body] = append(got[body], d.attempt)
		answer := ack
		if body == "A" {
			answer = nak
		}
		d.must(t, answer, "ok")
	}
	for body, want := range map[string][]uint64{"A": {4, 5}, "B": {1}, "C": {2}} {
		if len(got[body]) != len(want) || got[body][0] != want[0] || got[body][len(want)-1] != want[len(want)-1] {
			t.Errorf("attempts of %s after the restart: %v, want %v", body, got[body], want)
		}
	}
	c.rest(t, "orders", counts{Dead: 1})
	letters := c.look(t, "orders-dlq")
	if len(letters) != 1 || letters[0].Letter == nil || string(letters[0].Data) != "A" ||
		letters[0].Letter.Attempts != 5 || letters[0].Letter.Reason != "max_attempts" {
		t.Errorf("the dead letter is %+v", letters)
	}
}

const c1Config = `
queues:
  - name: orders
    visibility_timeout: 1s
    max_attempts: 5
    backoff: {list: [50ms], jitter: 0}
`

// A kill after every single delivery resets nothing: five deliveries in all.
func TestC1_KilledAfterEveryDelivery(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: c1Config})
	c := s.connect(t)
	c.put(t, plain("orders", "poison"))
	for attempt := range 5 {
		if d := c.one(t, "orders"); d.attempt != uint64(attempt+1) {
			t.Fatalf("attempt %d, want %d", d.attempt, attempt+1)
		}
		s.restart()
		c.back(t)
	}
	c.rest(t, "orders", counts{Dead: 1})
	c.none(t, "orders")
	if letters := c.look(t, "orders-dlq"); len(letters) != 1 || letters[0].Letter.Attempts != 5 {
		t.Errorf("the dead letter is %+v", letters)
	}
}
