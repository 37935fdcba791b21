package system

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// E4: a death needs no client that waits, and the dead letter tells the story. A
// message is pulled twice and not answered, then all clients are gone.
func TestE4_DiesAloneAndTellsTheStory(t *testing.T) {
	t.Parallel()
	const visibility = 700 * time.Millisecond
	s := start(t, setup{config: settings("orders", "subjects: [shop.orders.>]", "visibility_timeout: 700ms", "max_attempts: 2", "backoff: {list: [50ms], jitter: 0}")})
	c := s.connect(t)
	o := out{subject: "shop.orders.new", body: []byte("\x00whole\r\n"), header: nats.Header{"Trace": {"a", "b"}, "empty": {""}, "Nats-Msg-Id": {"order-1"}}}
	before := time.Now()
	c.put(t, o)
	after := time.Now()
	c.one(t, "orders")
	last := c.one(t, "orders")
	c.nc.Close()

	eventually(t, "the log tells of the death", func() error {
		return equal(len(s.err.with("message died", "queue=orders", "sequence=1", "reason=max_attempts", "attempts=2")), 1)
	})
	checkSoon(t, "its death after the last timeout", last.deadline(), time.Second)

	var d deadLetter
	s.json(t, &d, "dlq", "show", "orders", "1")
	if d.DLQ != "orders-dlq" || d.OriginQueue != "orders" || d.OriginSubject != o.subject || d.OriginSeq != 1 || d.State != "ready" {
		t.Errorf("it is %d in %s (%s), from %d of %s by %s", d.Seq, d.DLQ, d.State, d.OriginSeq, d.OriginQueue, d.OriginSubject)
	}
	if string(d.Data) != string(o.body) || !sameHeader(d.header(), o.header) {
		t.Errorf("its body is %q, its headers are %v", d.Data, d.header())
	}
	if d.Reason != "max_attempts" || d.Attempts != 2 || !slices.Equal(d.outcomes(), []string{"timeout", "timeout"}) || d.Error == "" {
		t.Errorf("it died of %s (%s) after %d attempts: %v", d.Reason, d.Error, d.Attempts, d.outcomes())
	}
	if d.PublishedAt.Before(before.Add(-early)) || d.PublishedAt.After(after.Add(early)) {
		t.Errorf("it was published at %v, not between %v and %v", d.PublishedAt, before, after)
	}
	if off := d.DiedAt.Sub(last.deadline()); off < -early || off > late+allowed(last.deadline(), time.Now()) {
		t.Errorf("it died at %v, its last deadline was %v", d.DiedAt, last.deadline())
	}
	for k, a := range d.History {
		if a.Worker == "" || a.Ended.Sub(a.At) < visibility-early {
			t.Errorf("attempt %d: %+v", k+1, a)
		}
	}
}

// The three other ways to die are told apart, with the words of the worker.
func TestE4_ReasonsAndErrors(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 30s", "max_attempts: 1")})
	c := s.connect(t)
	for _, row := range []struct{ answer, reason, text, outcome string }{
		{`-NAK {"error":"no such customer"}`, "max_attempts", "no such customer", "nak"},
		{"-NAK", "max_attempts", "", "nak"},
		{"+TERM bad order", "terminated", "bad order", "terminated"},
		{"+TERM", "terminated", "", "terminated"},
		{"kill", "manual", "killed by the test", "manual"},
	} {
		seq := c.put(t, plain("orders", row.answer))
		d := c.one(t, "orders")
		if row.answer == "kill" {
			if err := c.api("msg.kill", args{"queue": "orders", "seq": seq, "error": row.text}, nil); err != nil {
				t.Fatal(err)
			}
		} else {
			d.must(t, row.answer, "ok")
		}
		dead := c.dead(t, "orders")
		if dead.Reason != row.reason || dead.Error != row.text || dead.Attempts != 1 || !slices.Equal(dead.outcomes(), []string{row.outcome}) {
			t.Errorf("%s: %s, %q after %d attempts: %v", row.answer, dead.Reason, dead.Error, dead.Attempts, dead.outcomes())
		}
		got := c.one(t, "orders-dlq")
		for key, want := range map[string]string{
			"Dsend-Dead-Reason": row.reason, "Dsend-Dead-Error": row.text, "Dsend-Origin-Queue": "orders", "Dsend-Origin-Subject": "dsend.publish.orders",
			"Dsend-Attempts": "1", "Dsend-Replays": "0", "Dsend-Queue": "orders-dlq", "Dsend-Attempt": "1",
			"Dsend-Dead-At": dead.DiedAt.Format(time.RFC3339Nano), "Dsend-Published-At": dead.PublishedAt.Format(time.RFC3339Nano),
		} {
			if got.Header.Get(key) != want {
				t.Errorf("%s: header %s of the dead letter is %q, want %q", row.answer, key, got.Header.Get(key), want)
			}
		}
		got.must(t, ack, "ok")
	}
}

// A dead-letter queue is a queue: what fails there stays there, without limit.
func TestE4_FailingInTheDeadLetterQueueKeepsItThere(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: "defaults: {max_attempts: 1, backoff: {list: [1ms], jitter: 0}}\nqueues:\n- name: orders\n"})
	c := s.connect(t)
	c.put(t, plain("orders", "x"))
	c.one(t, "orders").must(t, nak, "ok")
	for n := range 20 {
		d := c.one(t, "orders-dlq")
		if d.attempt != uint64(n+1) || d.Header.Get("Dsend-Dead-Reason") != "max_attempts" {
			t.Fatalf("%v, %v", d, d.Header)
		}
		if n%2 == 0 {
			d.must(t, nak, "ok")
		} else {
			d.must(t, term, "ok")
		}
	}
	c.rest(t, "orders-dlq", counts{Ready: 1, Letters: 1})
	if all, err := c.queues(); err != nil || len(all) != 2 {
		t.Errorf("there are %d queues, %v: a dead-letter queue has none of its own", len(all), err)
	}
}
