package admin_test

import (
	"fmt"
	"testing"
	"time"

	"dsend/bridge/admin"
	"dsend/durable/queue"
)

func TestNoQueuesIsAnEmptyList(t *testing.T) {
	h := serve(t, nil)
	if got := get[map[string]any](t, h, "queue.ls", ``); fmt.Sprint(got) != "map[more:false queues:[]]" {
		t.Errorf("got %v", got)
	}
}

// One queue that has been through everything: each count is what was done.
func TestQueueInfoCounts(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(s *queue.Settings) { s.MaxAttempts = 2 })
	for range 6 {
		h.publish(t, "orders", "x")
	}
	ds := h.take(t, "orders", 4)
	h.answer(t, ds[0], queue.Ack, "")
	h.answer(t, ds[1], queue.Nak, "later")
	h.answer(t, ds[2], queue.Term, "never")
	h.pass(3 * time.Second) // the nak's delay is over: ready again
	h.publish(t, "orders", "y")

	q := get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`)
	type counts struct{ messages, ready, delayed, flying, dead, letters int64 }
	got := counts{q.Messages, q.Ready, q.Delayed, q.InFlight, q.Dead, q.Letters}
	if want := (counts{5, 4, 0, 1, 1, 0}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if q.OldestReadyAge != 3*time.Second || q.OldestReadyAt == nil {
		t.Errorf("oldest ready %v %v, want 3s", q.OldestReadyAge, q.OldestReadyAt)
	}
	tt := q.Totals
	if tt.Published != 7 || tt.Delivered != 4 || tt.Acked != 1 || tt.Naked != 1 || tt.Terminated != 1 || tt.Died["terminated"] != 1 {
		t.Errorf("totals %+v", tt)
	}
	if len(tt.Died) != 5 {
		t.Errorf("died by %v, want all five reasons", tt.Died)
	}
	if q.DeadLetterQueue != "orders-dlq" || q.Source != "file" || q.LastSeq != 7 || q.Settings.MaxAttempts != 2 {
		t.Errorf("queue %+v", q)
	}
	if d := get[admin.Queue](t, h, "queue.info", `{"queue":"orders-dlq"}`); d.Letters != 1 || d.Ready != 1 || d.Dead != 0 {
		t.Errorf("dead-letter queue %+v", d)
	}
}

// However many queues there are, each is in exactly one page.
func TestQueueLsPages(t *testing.T) {
	h := serve(t, nil)
	const n = 1300
	for i := range n {
		h.declare(t, fmt.Sprintf("queue-%04d", i), func(*queue.Settings) {})
	}
	var req admin.QueueLsRequest
	var names []string
	pages := 0
	for more := true; more; pages++ {
		page := get[admin.QueueLsAnswer](t, h, "queue.ls", req)
		for _, q := range page.Queues {
			names = append(names, q.Name)
		}
		more = page.More
		req.After = names[len(names)-1]
	}
	if pages < 2 {
		t.Errorf("%d pages: nothing was proven", pages)
	}
	if len(names) != n {
		t.Fatalf("%d queues listed, want %d", len(names), n)
	}
	for i, name := range names {
		if name != fmt.Sprintf("queue-%04d", i) {
			t.Fatalf("place %d has %s", i, name)
		}
	}
}

func TestPauseAndResume(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(*queue.Settings) {})
	if q := get[admin.Queue](t, h, "queue.pause", `{"queue":"orders"}`); !q.Paused {
		t.Error("not paused")
	}
	if q := get[admin.Queue](t, h, "queue.resume", `{"queue":"orders"}`); q.Paused {
		t.Error("still paused")
	}
	h.declare(t, "frozen", func(s *queue.Settings) { s.Paused = true })
	refused(t, h, "queue.resume", `{"queue":"frozen"}`, 409, "paused by its settings")
}

func TestPurgeAndRemove(t *testing.T) {
	h := serve(t, nil)
	for range 10 {
		h.publish(t, "orders", "x")
	}
	if r := get[admin.Removed](t, h, "queue.purge", `{"queue":"orders","upto":3}`); r.Removed != 3 {
		t.Errorf("purge up to 3 removed %d", r.Removed)
	}
	if r := get[admin.Removed](t, h, "queue.purge", `{"queue":"orders","keep":2}`); r.Removed != 5 {
		t.Errorf("purge but 2 removed %d", r.Removed)
	}
	if r := get[admin.Removed](t, h, "queue.rm", `{"queue":"orders"}`); r.Removed != 2 {
		t.Errorf("rm removed %d", r.Removed)
	}
	refused(t, h, "queue.rm", `{"queue":"orders"}`, 404, "orders")
}
