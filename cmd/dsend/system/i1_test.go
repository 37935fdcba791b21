package system

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// I1: a producer that has no answer publishes again, and the message is there once:
// also if the answer was lost, and across a kill, an ack and a purge. The window is
// fixed: it begins with the first publish, and repeats do not prolong it.
func TestI1_RepeatedPublishIsStoredOnce(t *testing.T) {
	t.Parallel()
	const window = 8 * time.Second
	s := start(t, setup{config: settings("orders", "dedupe_window: 8s")})
	c := s.connect(t)
	o := plain("orders", "x").with("Nats-Msg-Id", "order-1")
	other := plain("orders", "y").with("Nats-Msg-Id", "order-2")

	lost := s.wire(t) // it is gone before the answer can come
	lost.publish("dsend.publish.orders", "inbox.nobody.hears", []byte("NATS/1.0\r\nNats-Msg-Id: order-1\r\n\r\n"), []byte("x"))
	lost.flush()
	_ = lost.conn.Close()
	c.rest(t, "orders", counts{Ready: 1})
	var first struct {
		Seq         uint64
		PublishedAt time.Time `json:"published_at"`
	}
	if err := c.api("msg.get", args{"queue": "orders", "seq": 1}, &first); err != nil {
		t.Fatal(err)
	}
	repeat := func(when string, o out, seq uint64) {
		t.Helper()
		ack, err := c.publish(o)
		if err != nil || !ack.Duplicate || ack.Seq != seq || ack.Stream != "orders" {
			t.Errorf("%s: %+v, %v; want a duplicate of %d", when, ack, err, seq)
		}
	}
	repeat("after a lost answer", o, first.Seq)
	second := c.put(t, other)
	s.restart()
	c.back(t)
	repeat("after a kill", o, first.Seq)
	c.one(t, "orders").must(t, ack, "ok")
	repeat("after the ack", o, first.Seq)
	if err := c.api("queue.purge", args{"queue": "orders"}, nil); err != nil {
		t.Fatal(err)
	}
	repeat("after the purge", other, second)
	s.restart()
	c.back(t)
	repeat("after the ack and a kill", o, first.Seq)
	repeat("after the purge and a kill", other, second)
	if q := c.info(t, "orders"); q.Messages != 0 || q.total(t, "duplicates") != 2 {
		t.Errorf("%+v", q)
	}

	over := first.PublishedAt.Add(window)
	var again pubAck
	eventually(t, "the window is over", func() (err error) {
		if again, err = c.publish(o); err == nil && again.Duplicate {
			return fmt.Errorf("still a duplicate of %d", again.Seq)
		}
		return err
	})
	checkDue(t, "the end of the window", over, time.Now(), window)
	if again.Seq <= second || again.Duplicate {
		t.Errorf("the first publish after the window: %+v", again)
	}
	repeat("in the new window", o, again.Seq)
}

// 1,000 ids with a kill in the middle of the burst; all are published again. What
// was answered is a duplicate of what was answered, and there is one of each.
func TestI1_BurstOfIdsWithAKill(t *testing.T) {
	t.Parallel()
	const many = 1000
	rng := dice(t)
	s := start(t, setup{})
	c, crew := s.connect(t), newCrew(t, s, 1)
	c.putMany(t, "orders", "warm", 1)
	outs := make([]out, many)
	for i := range outs {
		id := fmt.Sprintf("id-%d", i)
		outs[i] = plain("orders", id).with("Nats-Msg-Id", id)
	}
	answered := map[string]uint64{}
	crew.begin(func(c *client) error {
		for _, o := range outs {
			ack, err := c.publish(o)
			if err != nil {
				return err
			}
			answered[string(o.body)] = ack.Seq
		}
		return nats.ErrTimeout // all done: once is enough
	})
	eventually(t, "some are answered", func() error {
		if n := c.info(t, "orders").Ready; n < 20 {
			return equal(n, 20)
		}
		return nil
	})
	time.Sleep(aMoment(rng) / 4)
	s.kill()
	crew.end()
	s.start()
	c.back(t)
	answers, err := c.publishAll(outs)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		seq, known := answered[string(outs[i].body)]
		if a.err != nil || known && (!a.ack.Duplicate || a.ack.Seq != seq) {
			t.Errorf("%s, answered with %d before the kill: %+v, %v", outs[i].body, seq, a.ack, a.err)
		}
	}
	found := map[string]int{}
	for _, m := range c.look(t, "orders") {
		found[string(m.Data)]++
	}
	for _, o := range outs {
		if found[string(o.body)] != 1 {
			t.Errorf("%s is there %d times", o.body, found[string(o.body)])
		}
	}
	t.Logf("%d of %d were answered before the kill", len(answered), many)
}

// The server is stopped (SIGSTOP) before it can answer: the producer gives up and
// repeats; when it goes on there is one message.
func TestI1_AnswerThatComesTooLate(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	o := plain("orders", "x").with("Nats-Msg-Id", "1")
	c.flush(t)
	s.signal(syscall.SIGSTOP)
	for range 3 {
		if _, err := c.nc.RequestMsg(o.msg(), 100*time.Millisecond); err == nil {
			t.Error("a stopped server answered")
		}
	}
	s.signal(syscall.SIGCONT)
	ack, err := c.publish(o)
	if err != nil || !ack.Duplicate || ack.Seq != 1 {
		t.Errorf("%+v, %v", ack, err)
	}
	c.rest(t, "orders", counts{Ready: 1})
}

// An id belongs to a queue, and a publish that was refused leaves none behind.
func TestI1_IdsAreOfOneQueueAndOfWhatWasStored(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "max_messages: 1") + "- name: bills\n- name: without\n  dedupe_window: 0s\n"})
	c := s.connect(t)
	c.put(t, plain("orders", "x").with("Nats-Msg-Id", "1"))
	c.put(t, plain("bills", "x").with("Nats-Msg-Id", "1"))
	c.put(t, plain("without", "x").with("Nats-Msg-Id", "1"))
	c.put(t, plain("without", "x").with("Nats-Msg-Id", "1"))
	refused := plain("orders", "x").with("Nats-Msg-Id", "2")
	if _, err := c.publish(refused); err == nil {
		t.Error("a full queue took a message")
	}
	if ack, err := c.publish(plain("orders", "x").with("Nats-Msg-Id", "1")); err != nil || !ack.Duplicate {
		t.Errorf("a repeat to a full queue: %+v, %v", ack, err)
	}
	c.one(t, "orders").must(t, ack, "ok")
	if ack, err := c.publish(refused); err != nil || ack.Duplicate {
		t.Errorf("it was refused before, and is now: %+v, %v", ack, err)
	}
}
