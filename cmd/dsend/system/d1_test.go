package system

import (
	"testing"
	"time"
)

const d1Config = `
queues:
  - name: orders
    visibility_timeout: 5s
    max_attempts: 2
    backoff: {list: [20ms], jitter: 0}
`

// D1: a late ack is bound to its own delivery: the message is done once, each
// worker is told, and nobody else is hurt.
func TestD1_LateAckAndDoubleAck(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: d1Config})
	first, second := s.connect(t), s.connect(t)
	var others []*delivery
	for range 10 {
		first.put(t, plain("orders", "other").with("Dsend-Visibility-Timeout", "1h"))
	}
	others = first.take(t, "orders", 10)

	first.put(t, plain("orders", "M"))
	one := first.one(t, "orders")
	two := second.one(t, "orders") // when the first worker's time is over
	if one.attempt != 1 || two.attempt != 2 || one.seq != two.seq {
		t.Fatalf("deliveries are %v and %v", one, two)
	}
	for _, answer := range []string{nak, inProgress, term + " too late", nakFor(time.Hour)} {
		one.must(t, answer, "stale") // the message is somebody else's now
	}
	first.rest(t, "orders", counts{InFlight: 11})
	one.must(t, ack, "late")
	two.must(t, ack, "gone")
	for range 5 {
		two.must(t, ack, "gone")
		one.must(t, ack, "gone")
		two.must(t, nak, "gone")
	}
	info := first.info(t, "orders")
	if info.counts != (counts{InFlight: 10}) || info.total(t, "acked") != 1 || info.total(t, "late") != 1 {
		t.Errorf("after all these answers: %+v", info)
	}

	s.restart()
	first.back(t)
	second.back(t)
	one.must(t, ack, "gone")
	two.must(t, ack, "gone")
	mustAll(t, others, ack, "ok") // over the same connection
	first.rest(t, "orders", counts{})
	first.none(t, "orders")
}

// An ack that comes when the message has died takes it out of the dead-letter
// queue: the work was done. Nothing is both acked and dead.
func TestD1_AckOfTheDead(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: d1Config})
	c := s.connect(t)
	c.put(t, plain("orders", "M"))
	one := c.one(t, "orders")
	two := c.one(t, "orders")
	c.rest(t, "orders", counts{Dead: 1})
	two.must(t, nak, "stale")
	two.must(t, term, "stale")
	s.restart()
	c.back(t)
	one.must(t, ack, "late")
	two.must(t, ack, "gone")
	c.rest(t, "orders", counts{})
	c.rest(t, "orders-dlq", counts{})
	c.none(t, "orders-dlq")
}

// Only who got a delivery can answer it.
func TestD1_ForgedAnswers(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	c.putMany(t, "orders", "m", 2)
	msgs := c.take(t, "orders", 2)
	mine, other := msgs[0], msgs[1]
	token := func(d *delivery) int { return len(d.Reply) - 22 }
	for name, reply := range map[string]string{
		"another message's token": mine.Reply[:token(mine)] + other.Reply[token(other):],
		"a token of nothing":      mine.Reply[:token(mine)] + "AAAAAAAAAAAAAAAAAAAAAA",
		"a short token":           mine.Reply[:len(mine.Reply)-1],
		"a token too much":        mine.Reply + ".x",
		"no token":                mine.Reply[:token(mine)-1],
		"JetStream's old form":    "$JS.ACK.dsend.orders.1.1.1.1.0",
	} {
		forged := &delivery{Msg: mine.Msg, c: c}
		m := *mine.Msg
		m.Reply = reply
		forged.Msg = &m
		for _, answer := range []string{ack, term, nak} {
			if result, err := forged.ask(answer); err != nil || result != "invalid" {
				t.Errorf("%s, %s: the result is %q (%v), want invalid", name, answer, result, err)
			}
		}
	}
	c.rest(t, "orders", counts{InFlight: 2})
	mustAll(t, msgs, ack, "ok")
	c.rest(t, "orders", counts{})
}
