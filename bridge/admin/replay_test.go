package admin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dsend/bridge/admin"
	"dsend/dlq"
	"dsend/durable/queue"
)

// replay asks for all pages and adds them up.
func replay(t *testing.T, h *harness, req admin.ReplayRequest, between func()) (sum admin.ReplayAnswer) {
	t.Helper()
	for more := true; more; {
		page := get[admin.ReplayAnswer](t, h, "dlq.replay", req)
		sum.Picked += page.Picked
		sum.Replayed = append(sum.Replayed, page.Replayed...)
		sum.Skipped = append(sum.Skipped, page.Skipped...)
		sum.Stopped = page.Stopped
		if page.Stopped != nil {
			return sum
		}
		req.From, req.Through, req.Began, more = page.Next, page.Through, page.Began, page.More
		if between != nil {
			between()
		}
	}
	return sum
}

func all(name string) admin.ReplayRequest {
	return admin.ReplayRequest{Pick: admin.Pick{Queue: name}}
}

// A replayed message begins anew (scenario E2), and its letter is gone.
func TestReplayIsAFreshLife(t *testing.T) {
	h := serve(t, nil)
	h.publish(t, "orders", "body\x00", admin.Header{Name: "A", Value: "1"}, admin.Header{Name: "A", Value: "2"})
	for life := range uint32(3) {
		d := h.take(t, "orders", 1)[0]
		if d.Attempt != 1 {
			t.Errorf("life %d begins with attempt %d", life, d.Attempt)
		}
		h.answer(t, d, queue.Nak, "bad") // the only attempt
		letter := get[admin.DLQLsAnswer](t, h, "dlq.ls", `{"queue":"orders","max_data":-1}`).Letters[0]
		if letter.Replays != life || letter.Attempts != 1 || string(letter.Data) != "body\x00" || len(letter.Headers) != 2 {
			t.Errorf("life %d ended as %+v", life, letter)
		}
		sum := replay(t, h, all("orders"), nil)
		if len(sum.Replayed) != 1 || sum.Replayed[0].Queue != "orders" {
			t.Fatalf("life %d: %+v", life, sum)
		}
		m := get[admin.Message](t, h, "msg.get", admin.GetRequest{Queue: "orders", Seq: sum.Replayed[0].NewSeq})
		if string(m.Data) != "body\x00" || m.Attempt != 0 || m.Replays != life+1 || m.Letter != nil {
			t.Errorf("replayed as %+v", m)
		}
		if q := get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`); q.Dead != 0 || q.Ready != 1 {
			t.Errorf("dead %d, ready %d after the replay", q.Dead, q.Ready)
		}
	}
}

// "All" are those that were dead when it began: what dies again meanwhile stays,
// so a replay ends also when everything fails at once.
func TestReplayDoesNotChaseItsTail(t *testing.T) {
	h := serve(t, nil)
	for range 10 {
		h.die(t, "orders", "x", "bad")
	}
	req := all("orders")
	req.Limit = 3
	sum := replay(t, h, req, func() {
		for range get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`).Ready {
			h.answer(t, h.take(t, "orders", 1)[0], queue.Term, "bad again")
		}
	})
	if len(sum.Replayed) != 10 {
		t.Errorf("%d replayed, want the 10 that were dead", len(sum.Replayed))
	}
	for i, r := range sum.Replayed {
		if r.Seq != uint64(i+1) {
			t.Errorf("place %d has letter %d: not in order", i, r.Seq)
		}
	}
	if q := get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`); q.Dead != 10 {
		t.Errorf("%d dead, want the 10 that died again", q.Dead)
	}
}

func TestReplayToAnotherQueueAndDryRun(t *testing.T) {
	h := serve(t, nil)
	h.die(t, "orders", "x", "bad")
	h.declare(t, "second", func(*queue.Settings) {})
	req := all("orders")
	req.Target, req.DryRun = "second", true
	if sum := replay(t, h, req, nil); sum.Picked != 1 || len(sum.Replayed) != 0 {
		t.Errorf("dry run: %+v", sum)
	}
	req.DryRun = false
	if sum := replay(t, h, req, nil); len(sum.Replayed) != 1 || sum.Replayed[0].Queue != "second" {
		t.Errorf("%+v", sum)
	}
	h.die(t, "orders", "y", "bad")
	req.Target = "nowhere"
	if sum := replay(t, h, req, nil); sum.Stopped == nil || sum.Stopped.Kind != "no_queue" || sum.Picked != 0 {
		t.Errorf("to nowhere: %+v", sum)
	}
}

// A letter that a worker holds is left; a full queue stops the page, and what was
// done stands.
func TestReplayThatCannotDoAll(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(s *queue.Settings) { s.MaxMessages = 4 })
	for range 8 {
		h.die(t, "orders", "x", "bad")
	}
	h.take(t, "orders-dlq", 2)
	sum := replay(t, h, all("orders"), nil)
	if len(sum.Skipped) != 2 || !strings.Contains(sum.Skipped[0].Error, "with a worker") {
		t.Errorf("skipped %+v", sum.Skipped)
	}
	if len(sum.Replayed) != 4 || sum.Stopped == nil || sum.Stopped.Kind != "full_messages" || sum.Picked != 6 {
		t.Errorf("%+v, stopped %+v", sum, sum.Stopped)
	}
	if q := get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`); q.Ready != 4 || q.Dead != 4 {
		t.Errorf("ready %d, dead %d", q.Ready, q.Dead)
	}
}

// A letter that somebody else takes away between the look and the deed is
// skipped, and when the store fails in the middle the answer tells what is done.
func TestReplayUnderFire(t *testing.T) {
	h := serve(t, nil)
	for range 3 {
		h.die(t, "orders", "x", "bad")
	}
	n := 0
	h.set(func() {
		h.before = func(context.Context, queue.Op) {
			switch n++; n {
			case 1:
				h.must(t, &queue.Delete{Name: "orders-dlq", Seq: 1})
			case 3:
				h.set(func() { h.failed = errors.New("disk on fire") })
			}
		}
	})
	sum := replay(t, h, all("orders"), nil)
	if len(sum.Skipped) != 1 || len(sum.Replayed) != 1 || sum.Stopped == nil || sum.Stopped.Kind != "failed" {
		t.Errorf("%+v, stopped %+v", sum, sum.Stopped)
	}
}

func TestPurgeOfLetters(t *testing.T) {
	h := serve(t, nil)
	for i := range 6 {
		h.die(t, "orders", "x", fmt.Sprint("cause ", i%2))
		h.pass(time.Minute)
	}
	req := admin.DLQPurgeRequest{Pick: admin.Pick{Queue: "orders", Filter: dlq.Filter{Error: "cause 1"}}, DryRun: true}
	if a := get[admin.DLQPurgeAnswer](t, h, "dlq.purge", req); a.Picked != 3 || a.Removed != 0 {
		t.Errorf("dry run: %+v", a)
	}
	req.DryRun = false
	if a := get[admin.DLQPurgeAnswer](t, h, "dlq.purge", req); a.Removed != 3 || a.More {
		t.Errorf("%+v", a)
	}
	if q := get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`); q.Dead != 3 {
		t.Errorf("%d dead", q.Dead)
	}
}
