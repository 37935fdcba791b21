package system

import (
	"slices"
	"testing"
	"time"
)

// J2: each message expires at its own time, also behind one that lives longer, and
// goes to the dead-letter queue, where that time means nothing any more.
func TestJ2_EachExpiresAtItsOwnTime(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "max_in_flight: 100")})
	c := s.connect(t)
	heard := c.events(t, "orders")
	published := time.Now()
	c.put(t, plain("orders", "long").with("Nats-TTL", "1h"))
	c.put(t, plain("orders", "second").with("Nats-TTL", "2"))
	c.put(t, plain("orders", "first").with("Nats-TTL", "1s"))
	c.put(t, plain("orders", "never").with("Nats-TTL", "never"))
	for _, row := range []struct {
		body string
		ttl  time.Duration
	}{{"first", time.Second}, {"second", 2 * time.Second}} {
		e := heard.next("died")
		checkDue(t, row.body, published.Add(row.ttl), time.Now(), row.ttl)
		var d deadLetter
		if err := c.api("dlq.show", args{"queue": "orders", "seq": e.DLQSeq}, &d); err != nil {
			t.Fatal(err)
		}
		if string(d.Data) != row.body || d.Reason != "expired" || d.Attempts != 0 {
			t.Errorf("%+v", d)
		}
	}
	msgs := c.take(t, "orders", 2)
	if got := bodies(msgs); !slices.Equal(got, []string{"long", "never"}) {
		t.Errorf("%v are left", got)
	}
	mustAll(t, msgs, ack, "ok")
	c.rest(t, "orders", counts{Dead: 2})
	q := c.info(t, "orders")
	if n, err := s.metrics(); err != nil || n[`dsend_queue_deaths_total{queue="orders",reason="expired"}`] != 2 {
		t.Errorf("the metrics count %v expired, %v; %s", n, err, q.Totals)
	}
	s.restart()
	c.back(t)
	c.rest(t, "orders-dlq", counts{Ready: 2, Letters: 2}) // they do not expire there
}

// A message whose time ends in flight can still be acked, and does not come again
// if it is not; one that waits in backoff expires there; over a restart too.
func TestJ2_ExpiryInFlightDelayedAndStopped(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 3s", "max_in_flight: 10", "backoff: {list: [1h], jitter: 0}")})
	c := s.connect(t)
	heard := c.events(t, "orders")
	for _, body := range []string{"acked", "silent", "failed", "delayed"} {
		c.put(t, plain("orders", body).with("Nats-TTL", "1s"))
	}
	msgs := c.take(t, "orders", 4)
	msgs[3].must(t, nak, "ok") // waits an hour; its second is over before
	if e := heard.next("died"); e.Seq != msgs[3].seq || e.Reason != "expired" {
		t.Errorf("%+v", e)
	}
	msgs[0].must(t, ack, "ok")
	msgs[2].must(t, nak, "ok")
	if e := heard.next("died"); e.Seq != msgs[2].seq || e.Reason != "expired" {
		t.Errorf("%+v", e)
	}
	if e := heard.next("died"); e.Seq != msgs[1].seq || e.Reason != "expired" {
		t.Errorf("%+v", e)
	}
	c.rest(t, "orders", counts{Dead: 3})

	// 10 expire, and the 10 places are free.
	for range 10 {
		c.put(t, plain("orders", "old").with("Nats-TTL", "1s"))
	}
	c.rest(t, "orders", counts{Dead: 13})
	c.put(t, plain("orders", "short").with("Nats-TTL", "1s"))
	published := time.Now()
	s.stop()
	eventually(t, "its time is over", func() error { return equal(time.Since(published) > time.Second, true) })
	s.start()
	c.back(t)
	c.none(t, "orders")
	c.rest(t, "orders", counts{Dead: 14})
	c.putMany(t, "orders", "new", 10)
	if n := len(c.take(t, "orders", 10)); n != 10 {
		t.Errorf("%d places are free", n)
	}
}
