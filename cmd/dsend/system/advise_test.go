package system

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A visibility timeout that is too short for the work grows when the work is done
// after all, says so, and is still what it has become after a kill.
func TestVisibilityFollowsTheWork(t *testing.T) {
	t.Parallel()
	const begins, work = 2 * time.Second, 6 * time.Second // longer than two looks at the timeout lie apart
	s := start(t, setup{config: `
defaults: {visibility_timeout: 2s, max_attempts: 0, backoff: {list: [1h], jitter: 0}}
queues:
- name: orders
  visibility_timeout: auto
  visibility_timeout_min: 100ms
`})
	c := s.connect(t)
	events := make(chan *nats.Msg, 100)
	if _, err := c.nc.ChanSubscribe("dsend.event.orders.visibility", events); err != nil {
		t.Fatal(err)
	}
	c.flush(t)
	if got := visibility(t, s); got != begins {
		t.Fatalf("begins with %s", got)
	}
	c.put(t, plain("orders", "hard work"))
	hard := c.one(t, "orders")
	c.putMany(t, "orders", "easy", 60)
	for _, d := range c.take(t, "orders", 60) {
		if err := d.say(ack); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the easy work is done", func() error { return equal(c.info(t, "orders").total(t, "acked"), 60) })
	<-time.After(work) // it is at work
	hard.must(t, ack, "late")

	var e struct {
		Type string        `json:"type"`
		From time.Duration `json:"from_ns"`
		To   time.Duration `json:"to_ns"`
	}
	select {
	case m := <-events:
		if err := json.Unmarshal(m.Data, &e); err != nil {
			t.Fatalf("%s: %v", m.Data, err)
		}
	case <-time.After(patience):
		t.Fatal("no event")
	}
	if e.Type != "dsend.event.v1.visibility" || e.From != begins || e.To <= work {
		t.Errorf("event %+v", e)
	}
	if got := visibility(t, s); got != e.To {
		t.Errorf("%s in force, the event says %s", got, e.To)
	}
	r := s.dsend(t, "queue", "advise", "orders")
	if r.code != 0 || !strings.Contains(r.stdout, "61 answers") || !strings.Contains(r.stdout, e.To.String()+" now, automatic") {
		t.Errorf("queue advise: %+v", r)
	}

	s.kill()
	s.restart()
	if got := visibility(t, s); got != e.To {
		t.Errorf("%s after a kill", got)
	}
	c = s.connect(t)
	before := time.Now()
	c.put(t, plain("orders", "more"))
	d := c.one(t, "orders")
	if d.deadline().Before(before.Add(e.To-early)) || d.deadline().After(d.at.Add(e.To+early)) {
		t.Errorf("a delivery between %v and %v has until %v, with %s", before, d.at, d.deadline(), e.To)
	}
}

// visibility is the timeout in force.
func visibility(t *testing.T, s *server) time.Duration {
	t.Helper()
	r := s.dsend(t, "queue", "info", "orders", "--json")
	var q struct {
		Timeout time.Duration `json:"visibility_timeout"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &q); err != nil {
		t.Fatalf("queue info: %+v: %v", r, err)
	}
	return q.Timeout
}
