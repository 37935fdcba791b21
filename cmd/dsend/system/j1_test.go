package system

import (
	"fmt"
	"testing"
	"time"
)

// J1: a purge while 10 messages are in flight (which is all that may be), 5 are
// delayed and 100 ready. It takes all of them; old answers change nothing, all
// places are free, and nothing purged is ever seen again.
func TestJ1_PurgeWithMessagesInFlight(t *testing.T) {
	t.Parallel()
	const visibility = 2 * time.Second
	s := start(t, setup{config: settings("orders", "max_in_flight: 10", "visibility_timeout: 2s", "backoff: {list: [1ms], jitter: 0}")})
	c := s.connect(t)
	l := newLedger(dice(t), visibility)
	for range 5 {
		i := l.draw("orders")
		i.out = i.out.with("Dsend-Delay", "1s")
		if err := l.publish(c, i); err != nil {
			t.Fatal(err)
		}
	}
	l.put(t, c, "orders", 110)
	held := c.take(t, "orders", 10)
	for _, d := range held {
		l.saw(d)
	}
	want := counts{Ready: 100, InFlight: 10, Delayed: 5}
	if got := c.info(t, "orders"); got.counts != want {
		t.Logf("counts are %+v, not %+v: a busy machine?", got.counts, want)
	}
	if err := l.purge(c, "orders", 115); err != nil {
		t.Fatal(err)
	}
	if got := s.views(t, c, "orders"); got != (counts{}) {
		t.Fatalf("counts after the purge are %+v", got)
	}
	mustAll(t, held[:5], ack, "gone")
	s.restart()
	c.back(t)
	mustAll(t, held[5:8], nak, "gone")
	mustAll(t, held[:1], inProgress, "gone")
	if got := s.views(t, c, "orders"); got != (counts{}) {
		t.Fatalf("counts after the answers are %+v", got)
	}

	l.put(t, c, "orders", 100)
	now := c.take(t, "orders", 10) // all places are free
	c.none(t, "orders")            // and no more than there are
	if err := l.ackAll(now); err != nil {
		t.Fatal(err)
	}
	for done := 10; done < 100; done += 10 {
		if err := l.ackAll(c.take(t, "orders", 10)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the deadlines of the old ones are over", func() error {
		if left := time.Until(held[9].deadline()); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	c.rest(t, "orders", counts{})
	l.drain(t, c)
}

// Single messages are removed whatever their state; so are the newest but a few.
func TestJ1_RemoveInAnyState(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "max_in_flight: 2")})
	c := s.connect(t)
	seqs := c.putMany(t, "orders", "m", 6)
	late := c.put(t, plain("orders", "late").with("Dsend-Delay", "1h"))
	dying := c.put(t, plain("orders", "dying").with("Dsend-Priority", "9"))
	d := c.one(t, "orders")
	d.must(t, term, "ok")
	if d.seq != dying {
		t.Fatalf("%v came before the one of the highest priority", d)
	}
	held := c.take(t, "orders", 2)
	for _, row := range []struct {
		queue string
		seq   uint64
	}{{"orders", held[0].seq}, {"orders", late}, {"orders", seqs[5]}, {"orders-dlq", 1}} {
		var gone struct{ Removed int }
		s.json(t, &gone, "msg", "rm", row.queue, fmt.Sprint(row.seq), "--force")
		if gone.Removed != 1 {
			t.Errorf("%s/%d: %+v", row.queue, row.seq, gone)
		}
		if r := s.dsend(t, "msg", "rm", row.queue, fmt.Sprint(row.seq), "--force"); r.code != 1 {
			t.Errorf("%s/%d was removed twice: %+v", row.queue, row.seq, r)
		}
	}
	d.must(t, ack, "gone") // its letter was removed
	held[0].must(t, ack, "gone")
	c.rest(t, "orders", counts{Ready: 3, InFlight: 1})
	next := c.one(t, "orders") // its place is free
	if next.seq != seqs[2] {
		t.Errorf("%v came next", next)
	}
	held[1].must(t, ack, "ok")
	next.must(t, ack, "ok")
	if err := c.api("queue.purge", args{"queue": "orders", "keep": 1}, nil); err != nil {
		t.Fatal(err)
	}
	s.restart()
	c.back(t)
	if all := c.look(t, "orders"); len(all) != 1 || all[0].Seq != seqs[4] {
		t.Errorf("a purge that keeps the newest left %v", all)
	}
}

// A queue that was removed and comes again starts anew: nothing of the old one is
// in it, and an answer to the old one does it no harm.
func TestJ1_RemoveAndMakeAgain(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	c.putMany(t, "orders", "old", 5)
	held := c.take(t, "orders", 2)
	held[0].must(t, term, "ok")
	if err := c.api("queue.rm", args{"queue": "orders"}, nil); err != nil {
		t.Fatal(err)
	}
	held[1].must(t, ack, "gone")
	c.putMany(t, "orders", "new", 3)
	held[1].must(t, ack, "gone")
	s.restart()
	c.back(t)
	held[1].must(t, nak, "gone")
	c.rest(t, "orders", counts{Ready: 3})
	msgs := c.take(t, "orders", 3)
	for k, d := range msgs {
		if string(d.Data) != fmt.Sprintf("new%d", k+1) || d.attempt != 1 {
			t.Errorf("%v", d)
		}
	}
	d := c.dead(t, "orders") // letters go by the name of their queue, counts do not
	if string(d.Data) != "old1" {
		t.Errorf("the letter of the old queue: %+v", d)
	}
	if seq := c.replayed(t, "orders", d.Seq); seq != 4 {
		t.Errorf("the letter of the old queue is message %d of the new one", seq)
	}
}
