package admin_test

import (
	"testing"
	"time"

	"dsend/bridge/admin"
	"dsend/durable/queue"
)

// work has n messages acked, each after a time.
func (h *harness) work(t *testing.T, n int, hold time.Duration) {
	t.Helper()
	for range n {
		h.publish(t, "orders", "x")
		d := h.take(t, "orders", 1)[0]
		h.pass(hold)
		h.answer(t, d, queue.Ack, "")
	}
}

func TestAdvise(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(s *queue.Settings) { s.MaxAttempts = 0 })
	a := get[admin.Advice](t, h, "queue.advise", `{"queue":"orders"}`)
	if a.Queue != "orders" || a.Auto || a.Since != nil || a.Answers != 0 || a.Advised != nil || a.Now.Repeated != nil || a.Now.Timeout != 30*time.Second {
		t.Errorf("of nothing: %+v", a)
	}

	h.work(t, 98, time.Second)
	h.work(t, 1, 29*time.Second)
	h.work(t, 1, 40*time.Second) // late
	a = get[admin.Advice](t, h, "queue.advise", `{"queue":"orders"}`)
	if a.Answers != 100 || a.Expired != 1 || a.Connected != 1 || a.Late != 1 || a.Lost != 0 || a.Open != 0 || a.Since == nil {
		t.Errorf("counts: %+v", a)
	}
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if got < want || float64(got) > 1.2*float64(want) {
			t.Errorf("%s: %s, not %s", what, got, want)
		}
	}
	near("p50", a.Hold50, time.Second)
	near("p99", a.Hold99, 29*time.Second)
	near("p99.9", a.Hold999, 40*time.Second)
	near("late", a.Late50, 10*time.Second)
	near("late at most", a.LateMost, 10*time.Second)
	if a.Advised == nil {
		t.Fatal("no advice")
	}
	near("advised", a.Advised.Timeout, 80*time.Second)
	if *a.Advised.Repeated != 0 || a.Advised.Redelivered != a.Advised.Timeout+time.Second {
		t.Errorf("advised: %+v", a.Advised)
	}
	// the one of 40 s, and perhaps that of 29 s, as it lies in the bucket of 30 s
	if r := *a.Now.Repeated; r < 0.0099 || r > 0.0201 || a.Now.Redelivered != 31*time.Second {
		t.Errorf("now: %v are repeated: %+v", r, a.Now)
	}
	refused(t, h, "queue.advise", `{"queue":"nowhere"}`, 404, "nowhere")
	refused(t, h, "queue.advise", `{}`, 400, "queue is missing")
}

// What is in force is shown, not only where it began.
func TestAnAutomaticTimeoutIsShown(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(s *queue.Settings) { s.VisibilityAuto, s.MaxAttempts = true, 0 })
	m := admin.NewMetrics("1.2.3")
	server := runHTTP(t, &admin.Health{}, m)
	m.Watch(h, func() int64 { return 0 })
	shown := func(want time.Duration) {
		t.Helper()
		q := get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`)
		if q.VisibilityTimeout != want || q.Settings.VisibilityTimeout != 30*time.Second || !q.Settings.VisibilityAuto {
			t.Errorf("%s, begins with %s; not %s", q.VisibilityTimeout, q.Settings.VisibilityTimeout, want)
		}
		if got := scrape(t, server)[`dsend_queue_visibility_timeout_seconds{queue="orders"}`]; got != want.Seconds() {
			t.Errorf("metrics: %v s, not %s", got, want)
		}
	}
	shown(30 * time.Second)
	h.work(t, 60, time.Second)
	h.pass(10 * time.Minute)
	h.work(t, 1, time.Second)
	shown(15 * time.Second)
}
