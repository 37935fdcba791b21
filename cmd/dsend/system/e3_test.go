package system

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// E3: no cap on the dead-letter queue, and every letter can be listed, got by its
// number, removed and replayed; what was there all the time is in the listing once,
// whatever comes and goes beside it.
func TestE3_ManyDeadLetters(t *testing.T) {
	t.Parallel()
	const many = 25_000
	s := start(t, setup{config: settings("orders", "max_attempts: 1", "max_in_flight: 100000")})
	c := s.connect(t)
	begin := time.Now()
	c.dieMany(t, "orders", many)
	t.Logf("died in %s", time.Since(begin))

	c.rest(t, "orders", counts{Dead: many})
	c.rest(t, "orders-dlq", counts{Ready: many, Letters: many})
	begin = time.Now()
	all, err := c.letters("orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("listed in %s", time.Since(begin))
	listed(t, all, many, nil)
	for _, seq := range []uint64{1, 1000, 1001, many / 2, many} {
		var d deadLetter
		s.json(t, &d, "dlq", "show", "orders", fmt.Sprint(seq))
		if d.Seq != seq || string(d.Data) != fmt.Sprintf("m%d", d.OriginSeq) {
			t.Errorf("letter %d: %+v", seq, d)
		}
	}
	if err := c.api("msg.rm", args{"queue": "orders-dlq", "seq": 7}, nil); err != nil {
		t.Fatal(err)
	}
	c.replayed(t, "orders", 8)

	s.restart()
	c.back(t)
	c.rest(t, "orders", counts{Ready: 1, Dead: many - 2})
	all = nil
	s.json(t, &all, "dlq", "ls", "orders")
	listed(t, all, many-2, map[uint64]bool{7: true, 8: true})
}

// listed checks a listing of all letters: n, each of them once, in order, whole, and
// none of those that are gone.
func listed(t *testing.T, all []deadLetter, n int, gone map[uint64]bool) {
	t.Helper()
	last := uint64(0)
	for _, d := range all {
		if d.Seq <= last || gone[d.Seq] || d.OriginSeq == 0 || len(d.Data) > 0 && string(d.Data) != fmt.Sprintf("m%d", d.OriginSeq) {
			t.Fatalf("letter %d behind letter %d: %q of message %d", d.Seq, last, d.Data, d.OriginSeq)
		}
		last = d.Seq
	}
	if len(all) != n {
		t.Fatalf("%d letters are listed, want %d", len(all), n)
	}
}

// dieMany publishes n messages with the bodies m1 to mN and terminates them.
func (c *client) dieMany(t testing.TB, queue string, n int) {
	t.Helper()
	const atOnce = 5000
	for done := 0; done < n; done += atOnce {
		outs := make([]out, min(atOnce, n-done))
		for i := range outs {
			outs[i] = plain(queue, fmt.Sprintf("m%d", done+i+1))
		}
		c.putAll(t, outs)
		msgs := c.take(t, queue, len(outs))
		for _, d := range msgs[1:] {
			if err := d.say(term); err != nil {
				t.Fatal(err)
			}
		}
		msgs[0].must(t, term, "ok")
	}
}

// A listing while letters come, are removed and are replayed: those that stay are
// in it, once.
func TestE3_ListingWhileLettersComeAndGo(t *testing.T) {
	t.Parallel()
	const many = 4000
	s := start(t, setup{config: settings("orders", "max_attempts: 1", "max_in_flight: 100000")})
	c, other := s.connect(t), s.connect(t)
	c.dieMany(t, "orders", many)

	var busy sync.WaitGroup
	stop, changes := make(chan struct{}), 0
	busy.Go(func() { // every third letter goes, and new ones come
		for seq := uint64(3); seq <= many; seq += 3 {
			select {
			case <-stop:
				return
			default:
			}
			endpoint, request := "msg.rm", args{"queue": "orders-dlq", "seq": seq}
			if seq%2 == 0 {
				endpoint, request = "dlq.replay", args{"queue": "orders", "filter": args{"first_seq": seq, "last_seq": seq}}
			}
			if err := other.api(endpoint, request, nil); err != nil {
				t.Errorf("%s of letter %d: %v", endpoint, seq, err)
			}
			if ack, err := other.publish(plain("orders", "new")); err != nil {
				t.Error(err)
			} else if err := other.api("msg.kill", args{"queue": "orders", "seq": ack.Seq}, nil); err != nil {
				t.Error(err)
			}
			changes++
		}
	})
	for round := range 3 {
		seen := map[uint64]int{}
		all, err := c.letters("orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			seen[d.Seq]++
			if string(d.Data) != "new" && string(d.Data) != fmt.Sprintf("m%d", d.OriginSeq) {
				t.Errorf("letter %d is %q", d.Seq, d.Data)
			}
		}
		for seq := uint64(1); seq <= many; seq++ {
			if seen[seq] != 1 && seq%3 != 0 || seen[seq] > 1 {
				t.Fatalf("round %d: letter %d is %d times in the listing", round, seq, seen[seq])
			}
		}
	}
	close(stop)
	busy.Wait()
	t.Logf("%d letters went and came meanwhile", changes)
	if changes == 0 {
		t.Error("nothing changed while letters were listed")
	}
}

// A cap that is configured refuses loudly and trims nothing: the dying waits.
func TestE3_CapIsLoudAndTrimsNothing(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "max_attempts: 1") + "- name: orders-dlq\n  max_messages: 3\n"})
	c := s.connect(t)
	heard := c.events(t, "orders")
	c.putMany(t, "orders", "m", 5)
	mustAll(t, c.take(t, "orders", 5), term, "ok")
	c.rest(t, "orders", counts{Delayed: 2, Dead: 3})
	if e := heard.next("dlq_full"); e.DLQ != "orders-dlq" || e.Queue != "orders" {
		t.Errorf("%+v", e)
	}
	eventually(t, "the log says so", func() error {
		if len(s.err.with("dead-letter queue is full", "orders-dlq")) == 0 {
			return fmt.Errorf("it does not: %s", s.err.last(5))
		}
		return nil
	})
	c.none(t, "orders") // they are dying: nobody gets them again
	s.restart()
	c.back(t)
	c.rest(t, "orders", counts{Delayed: 2, Dead: 3})
	mustAll(t, c.take(t, "orders-dlq", 3), ack, "ok")
	c.rest(t, "orders", counts{Dead: 2}) // by themselves, when there is room
	if all, err := c.letters("orders", nil); err != nil || len(all) != 2 || all[0].Reason != "terminated" {
		t.Errorf("%+v, %v", all, err)
	}
}
