package admin_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"dsend/bridge/admin"
	"dsend/dlq"
	"dsend/durable/queue"
)

// list gives the sequences of all pages, each page with at most limit letters.
func list(t *testing.T, h *harness, req admin.DLQLsRequest, between func()) (seqs []uint64) {
	t.Helper()
	for more := true; more; {
		page := get[admin.DLQLsAnswer](t, h, "dlq.ls", req)
		for _, l := range page.Letters {
			seqs = append(seqs, l.Seq)
		}
		req.From, req.Through, req.Began, more = page.Next, page.Through, page.Began, page.More
		if between != nil {
			between()
		}
	}
	return seqs
}

func pick(queue string, f dlq.Filter) admin.DLQLsRequest {
	return admin.DLQLsRequest{Pick: admin.Pick{Queue: queue, Filter: f}}
}

// The letter tells the story of a message that was pulled twice and never
// answered, with nobody there to see it die (scenario E4).
func TestLetterTellsTheStory(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(s *queue.Settings) {
		s.MaxAttempts, s.VisibilityTimeout, s.Backoff.Initial = 2, time.Second, 100*time.Millisecond
	})
	published := h.Now()
	h.publish(t, "orders", "body\x00\xff", admin.Header{Name: "A", Value: "1"}, admin.Header{Name: "A", Value: "2"})
	h.take(t, "orders", 1)
	h.pass(time.Second)
	h.pass(time.Second)
	h.take(t, "orders", 1)
	h.pass(2 * time.Second)

	d := get[admin.Letter](t, h, "dlq.show", `{"queue":"orders","seq":1}`)
	if d.DLQ != "orders-dlq" || d.Seq != 1 || d.State != "ready" || d.Reason != dlq.ReasonMaxAttempts {
		t.Errorf("%+v", d)
	}
	if d.OriginQueue != "orders" || d.OriginSubject != "dsend.publish.orders" || d.OriginSeq != 1 || d.Attempts != 2 {
		t.Errorf("%+v", d.LetterView)
	}
	if !d.PublishedAt.Equal(published) || d.DiedAt.Before(published.Add(3*time.Second)) {
		t.Errorf("published %v, died %v", d.PublishedAt, d.DiedAt)
	}
	if len(d.History) != 2 || d.History[1].Outcome != dlq.OutcomeTimeout || d.History[0].Worker == "" {
		t.Errorf("history %+v", d.History)
	}
	if string(d.Data) != "body\x00\xff" || fmt.Sprint(d.Headers) != "[{A 1} {A 2}]" {
		t.Errorf("content %+v", d.Content)
	}
}

func TestLettersByEitherName(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(*queue.Settings) {})
	if got := get[map[string]any](t, h, "dlq.ls", `{"queue":"orders"}`); fmt.Sprint(got["letters"]) != "[]" || got["dlq"] != "orders-dlq" {
		t.Errorf("before any death: %v", got)
	}
	refused(t, h, "dlq.show", `{"queue":"orders","seq":1}`, 404, "orders-dlq")
	for range 3 {
		h.die(t, "orders", "x", "bad")
	}
	for _, name := range []string{"orders", "orders-dlq"} {
		if got := list(t, h, pick(name, dlq.Filter{}), nil); !reflect.DeepEqual(got, []uint64{1, 2, 3}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	h.must(t, &queue.Remove{Name: "orders"})
	if got := list(t, h, pick("orders", dlq.Filter{}), nil); len(got) != 3 {
		t.Errorf("after the queue was removed: %v", got)
	}
	refused(t, h, "dlq.ls", `{"queue":"nowhere"}`, 404, "nowhere")
	h.declare(t, "careless", func(s *queue.Settings) { s.DeadLetter.Enabled = false })
	refused(t, h, "dlq.ls", `{"queue":"careless"}`, 409, "keeps no dead letters")
}

// In a dead-letter queue that several queues share, each name means its own.
func TestSharedDeadLetterQueue(t *testing.T) {
	h := serve(t, nil)
	for _, name := range []string{"a", "b"} {
		h.declare(t, name, func(s *queue.Settings) { s.DeadLetter.Queue = "grave" })
	}
	h.die(t, "a", "x", "bad")
	h.die(t, "b", "x", "bad")
	h.die(t, "a", "x", "bad")
	h.publish(t, "grave", "not dead at all")
	for name, want := range map[string][]uint64{"a": {1, 3}, "b": {2}, "grave": {1, 2, 3}} {
		if got := list(t, h, pick(name, dlq.Filter{}), nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := list(t, h, pick("grave", dlq.Filter{OriginQueue: "b"}), nil); !reflect.DeepEqual(got, []uint64{2}) {
		t.Errorf("origin b: %v", got)
	}
	refused(t, h, "dlq.ls", `{"queue":"a","filter":{"origin_queue":"b"}}`, 400, "origin_queue is b")
	refused(t, h, "dlq.show", `{"queue":"a","seq":2}`, 409, "not a dead letter of a")
	refused(t, h, "dlq.show", `{"queue":"grave","seq":4}`, 409, "not a dead letter")
}

func TestFilters(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(s *queue.Settings) { s.Subjects = []string{"shop.>"} })
	for i, subject := range []string{"shop.new", "shop.paid", "shop.new"} {
		p := &queue.Publish{Queue: "orders", Subject: []byte(subject), MaxAttempts: -1, Priority: 4}
		h.must(t, p)
		h.answer(t, h.take(t, "orders", 1)[0], queue.Term, fmt.Sprintf("Cause %d", i))
		h.pass(time.Hour)
	}
	for _, c := range []struct {
		f    dlq.Filter
		want []uint64
	}{
		{dlq.Filter{}, []uint64{1, 2, 3}},
		{dlq.Filter{Subject: "shop.new"}, []uint64{1, 3}},
		{dlq.Filter{Subject: "*.paid"}, []uint64{2}},
		{dlq.Filter{Error: "cause 2"}, []uint64{3}},
		{dlq.Filter{Reasons: []dlq.Reason{dlq.ReasonTerminated}}, []uint64{1, 2, 3}},
		{dlq.Filter{Reasons: []dlq.Reason{dlq.ReasonExpired}}, nil},
		{dlq.Filter{OlderThan: 2 * time.Hour}, []uint64{1, 2}},
		{dlq.Filter{NewerThan: 2 * time.Hour}, []uint64{3}},
		{dlq.Filter{FirstSeq: 2}, []uint64{2, 3}},
		{dlq.Filter{FirstSeq: 2, LastSeq: 2}, []uint64{2}},
		{dlq.Filter{FirstSeq: 20}, nil},
	} {
		for _, limit := range []int{0, 1} {
			req := pick("orders", c.f)
			req.Limit = limit
			if got := list(t, h, req, nil); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v by %d: %v, want %v", c.f, limit, got, c.want)
			}
		}
	}
}

// Whatever comes and goes while one lists: what was there all the time is listed
// once (scenario E3). What died after the beginning is not.
func TestPagesWhileLettersComeAndGo(t *testing.T) {
	h := serve(t, nil)
	const n = 800
	for range n {
		h.die(t, "orders", "x", "bad")
	}
	gone := map[uint64]bool{}
	next := uint64(1)
	req := pick("orders", dlq.Filter{})
	req.Limit = 30
	got := list(t, h, req, func() {
		h.die(t, "orders", "late", "bad")
		for _, seq := range []uint64{next, n - next} { // one behind, one ahead, some twice
			if !gone[seq] {
				h.must(t, &queue.Delete{Name: "orders-dlq", Seq: seq})
				gone[seq] = true
			}
		}
		next += 29
	})
	seen := map[uint64]bool{}
	for _, seq := range got {
		if seen[seq] || seq > n {
			t.Errorf("%d is listed twice, or died after the beginning", seq)
		}
		seen[seq] = true
	}
	for seq := uint64(1); seq <= n; seq++ {
		if !seen[seq] && !gone[seq] {
			t.Errorf("%d was there all the time and is not listed", seq)
		}
	}
}

func TestBodiesOfAPageAreBounded(t *testing.T) {
	h := serve(t, nil)
	for range 5 {
		h.die(t, "orders", strings.Repeat("x", 400_000), "bad")
	}
	req := pick("orders", dlq.Filter{})
	if page := get[admin.DLQLsAnswer](t, h, "dlq.ls", req); len(page.Letters) != 5 || len(page.Letters[0].Data) != 0 || !page.Letters[0].More {
		t.Errorf("without bodies: %d letters", len(page.Letters))
	}
	req.MaxData = -1
	page := get[admin.DLQLsAnswer](t, h, "dlq.ls", req)
	if len(page.Letters) == 5 || len(page.Letters[0].Data) != 400_000 {
		t.Errorf("%d letters in a page of 1 MiB", len(page.Letters))
	}
	if got := list(t, h, req, nil); len(got) != 5 {
		t.Errorf("all pages: %v", got)
	}
}

func TestGroups(t *testing.T) {
	h := serve(t, nil)
	for i := range 5 {
		h.die(t, "orders", "x", fmt.Sprintf("no customer %d", i))
	}
	h.die(t, "orders", "x", "disk full")
	g := get[admin.DLQGroupsAnswer](t, h, "dlq.groups", `{"queue":"orders"}`)
	if g.Letters != 6 || len(g.Groups) != 2 || g.Groups[0].Count != 5 || g.Groups[0].Error != "no customer #" || g.More {
		t.Errorf("%+v", g)
	}
	if g = get[admin.DLQGroupsAnswer](t, h, "dlq.groups", `{"queue":"orders","limit":4}`); g.Letters != 4 || !g.More || g.Next != 5 {
		t.Errorf("of 4: %+v", g)
	}
}

// Groups whose texts are long end a page before it is too large to be sent.
func TestPageOfGroupsIsBounded(t *testing.T) {
	h := serve(t, nil)
	word := strings.Repeat("x", 900)
	for i := range 400 {
		h.die(t, "orders", "", fmt.Sprintf("%c%c%s", 'a'+i/20, 'a'+i%20, word))
	}
	letters, pages := 0, 0
	req := admin.Pick{Queue: "orders"}
	for more := true; more; pages++ {
		g := get[admin.DLQGroupsAnswer](t, h, "dlq.groups", req)
		letters += g.Letters
		req.From, req.Through, req.Began, more = g.Next, g.Through, g.Began, g.More
	}
	if letters != 400 || pages < 2 {
		t.Errorf("%d letters in %d pages", letters, pages)
	}
}

// A page that takes too long ends early, and the next one goes on.
func TestPageEndsInTime(t *testing.T) {
	const timeout = 2 * time.Second
	h := serve(t, func(c *admin.Config) { c.Timeout = timeout })
	for range 20 {
		h.die(t, "orders", "x", "bad")
	}
	reads := 0
	h.set(func() {
		h.reading = func(queue.Entry) {
			if reads++; reads == 5 {
				time.Sleep(timeout) // the disk is slow
			}
		}
	})
	first := get[admin.DLQLsAnswer](t, h, "dlq.ls", pick("orders", dlq.Filter{}))
	if len(first.Letters) == 20 || len(first.Letters) == 0 || !first.More {
		t.Errorf("%d letters, more %v", len(first.Letters), first.More)
	}
	if got := list(t, h, pick("orders", dlq.Filter{}), nil); len(got) != 20 {
		t.Errorf("all pages: %v", got)
	}
}

func TestBrokenBodyIsAnError(t *testing.T) {
	h := serve(t, nil)
	h.die(t, "orders", "x", "bad")
	h.set(func() { h.commits[1][len(h.commits[1])-1] ^= 1 })
	_, err := ask[any](t, h, "dlq.show", `{"queue":"orders","seq":1}`)
	var p *admin.Problem
	if !errors.As(err, &p) || p.Code != 503 || !strings.Contains(p.Description, "checksum") {
		t.Errorf("%v", err)
	}
}
