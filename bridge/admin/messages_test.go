package admin_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"dsend/bridge/admin"
	"dsend/durable/queue"
)

func TestMessageComesBackByteForByte(t *testing.T) {
	h := serve(t, nil)
	headers := []admin.Header{{Name: "B", Value: "1"}, {Name: "A", Value: "x: y"}, {Name: "B", Value: ""}, {Name: "b", Value: "<&>"}}
	for _, body := range []string{"", "text", "\x00\xff\xfe binary \r\n", strings.Repeat("ä", 1000)} {
		seq := h.publish(t, "orders", body, headers...)
		m := get[admin.Message](t, h, "msg.get", admin.GetRequest{Queue: "orders", Seq: seq})
		if string(m.Data) != body || m.Size != len(body) || m.More {
			t.Errorf("body %q came back as %q (size %d, more %v)", body, m.Data, m.Size, m.More)
		}
		if !reflect.DeepEqual(m.Headers, headers) || m.HeaderData != nil {
			t.Errorf("headers came back as %v (%q)", m.Headers, m.HeaderData)
		}
		if m.Subject != "dsend.publish.orders" || m.State != "ready" || m.Seq != seq || m.Letter != nil {
			t.Errorf("message %+v", m)
		}
	}
}

// What a list of headers cannot say is there as it is.
func TestUnusualHeadersAreThereAsTheyAre(t *testing.T) {
	h := serve(t, nil)
	for block, listed := range map[string]bool{
		"NATS/1.0\r\nA:  two spaces\r\n\r\n": true, // the second one is the value's
		"NATS/1.0\r\nA:no space\r\n\r\n":     false,
		"NATS/1.0\r\nA: \xff\xfe\r\n\r\n":    false,
		"NATS/1.0 200 OK\r\n\r\n":            false,
	} {
		p := &queue.Publish{Queue: "orders", Subject: []byte("s"), Header: []byte(block), MaxAttempts: -1, Priority: 4}
		seq := h.must(t, p).Seq
		m := get[admin.Message](t, h, "msg.get", admin.GetRequest{Queue: "orders", Seq: seq})
		if listed != (m.HeaderData == nil) || !listed && string(m.HeaderData) != block {
			t.Errorf("%q came back as %v and %q", block, m.Headers, m.HeaderData)
		}
	}
}

// A body larger than what NATS carries at once comes in parts.
func TestLargeBodyComesInParts(t *testing.T) {
	h := serve(t, nil)
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB, the usual max_payload
	seq := h.publish(t, "orders", string(body), admin.Header{Name: "K", Value: strings.Repeat("v", 5000)})
	m := get[admin.Message](t, h, "msg.get", admin.GetRequest{Queue: "orders", Seq: seq})
	got, parts := m.Data, 1
	for more := m.More; more; parts++ {
		part := get[admin.Message](t, h, "msg.get",
			admin.GetRequest{Queue: "orders", Seq: seq, Offset: len(got), NoHeaders: true})
		if len(part.Data) == 0 || len(part.Headers) != 0 {
			t.Fatalf("part %d: %d bytes, %d headers", parts, len(part.Data), len(part.Headers))
		}
		got, more = append(got, part.Data...), part.More
	}
	if !bytes.Equal(got, body) || parts < 2 {
		t.Errorf("%d bytes in %d parts, want %d", len(got), parts, len(body))
	}
	if end := get[admin.Message](t, h, "msg.get", admin.GetRequest{Queue: "orders", Seq: seq, Offset: len(body) + 5}); len(end.Data) != 0 || end.More {
		t.Error("behind the end there is something")
	}
}

func TestHeadersTooLargeForAnAnswerAreRefused(t *testing.T) {
	h := serve(t, nil)
	seq := h.publish(t, "orders", "body", admin.Header{Name: "K", Value: strings.Repeat("\x01", 1<<19)})
	refused(t, h, "msg.get", admin.GetRequest{Queue: "orders", Seq: seq}, 413, "max_payload")
	if m := get[admin.Message](t, h, "msg.get", admin.GetRequest{Queue: "orders", Seq: seq, NoHeaders: true}); string(m.Data) != "body" {
		t.Errorf("without headers: %q", m.Data)
	}
}

func TestPeekShowsEveryStateAndChangesNothing(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(s *queue.Settings) { s.MaxAttempts = 3 })
	for i := range 6 {
		h.publish(t, "orders", fmt.Sprint("body ", i))
	}
	ds := h.take(t, "orders", 2)
	h.answer(t, ds[0], queue.Nak, "not today")
	before := get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`)

	all := get[admin.PeekAnswer](t, h, "queue.peek", `{"queue":"orders","max_data":-1}`)
	var states []string
	for _, m := range all.Messages {
		states = append(states, m.State)
	}
	if want := []string{"delayed", "in_flight", "ready", "ready", "ready", "ready"}; !reflect.DeepEqual(states, want) || all.More {
		t.Errorf("states %v, more %v", states, all.More)
	}
	if m := all.Messages[0]; m.ReadyAt == nil || m.Deadline != nil || m.Attempt != 1 || m.History[0].Error != "not today" {
		t.Errorf("delayed: %+v", m)
	}
	if m := all.Messages[1]; m.Deadline == nil || m.ReadyAt != nil || m.Worker == "" {
		t.Errorf("in flight: %+v", m)
	}
	for state, n := range map[string]int{"ready": 4, "delayed": 1, "in_flight": 1} {
		page := get[admin.PeekAnswer](t, h, "queue.peek", admin.PeekRequest{Queue: "orders", State: state})
		if len(page.Messages) != n || page.Messages[0].State != state {
			t.Errorf("%d %s, want %d", len(page.Messages), state, n)
		}
		if m := page.Messages[0]; len(m.Data) != 0 || !m.More || m.Size != 6 {
			t.Errorf("unasked for, the body is there: %+v", m)
		}
	}
	if after := get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`); !reflect.DeepEqual(before, after) {
		t.Errorf("looking changed\n%+v to\n%+v", before, after)
	}
}

// Pages hold each message once, by number of messages and by size.
func TestPeekPages(t *testing.T) {
	h := serve(t, nil)
	const n = 60
	for i := range n {
		h.publish(t, "orders", strings.Repeat(fmt.Sprint(i%10), 50_000))
	}
	for _, req := range []admin.PeekRequest{
		{Queue: "orders", Limit: 7},
		{Queue: "orders", MaxData: -1},
		{Queue: "orders", MaxData: 10, From: 1},
	} {
		next := uint64(1)
		for more := true; more; {
			page := get[admin.PeekAnswer](t, h, "queue.peek", req)
			for _, m := range page.Messages {
				if m.Seq != next {
					t.Fatalf("%+v: %d comes where %d should", req, m.Seq, next)
				}
				next++
			}
			req.From, more = page.Next, page.More
		}
		if next != n+1 {
			t.Errorf("%+v: ended before %d", req, next)
		}
	}
}

func TestMessageThatMovesInTheLogIsFoundAgain(t *testing.T) {
	h := serve(t, nil)
	h.publish(t, "orders", "x")
	h.set(func() { h.moved = true })
	if m := get[admin.Message](t, h, "msg.get", `{"queue":"orders","seq":1}`); string(m.Data) != "x" {
		t.Errorf("%+v", m)
	}
	h.set(func() {
		h.reading = func(e queue.Entry) {
			h.must(t, &queue.Delete{Name: e.Queue, Seq: e.Seq})
			h.set(func() { h.reading = nil })
		}
	})
	refused(t, h, "msg.get", `{"queue":"orders","seq":1}`, 404, "there is no message 1")
}

func TestRemoveAndKillOneMessage(t *testing.T) {
	h := serve(t, nil)
	h.publish(t, "orders", "x")
	h.publish(t, "orders", "y")
	if r := get[admin.Removed](t, h, "msg.rm", `{"queue":"orders","seq":1}`); r.Removed != 1 {
		t.Errorf("%+v", r)
	}
	refused(t, h, "msg.rm", `{"queue":"orders","seq":1}`, 404, "there is no message 1")
	k := get[admin.Killed](t, h, "msg.kill", `{"queue":"orders","seq":2,"error":"wrong\nnumber"}`)
	if k.DLQ != "orders-dlq" {
		t.Errorf("%+v", k)
	}
	d := get[admin.Letter](t, h, "dlq.show", `{"queue":"orders","seq":1}`)
	if d.Reason.String() != "manual" || d.Error != "wrong number" || d.OriginSeq != 2 || string(d.Data) != "y" {
		t.Errorf("%+v", d)
	}
	refused(t, h, "msg.kill", `{"queue":"orders-dlq","seq":1}`, 409, "no dead-letter queue")
	refused(t, h, "msg.kill", `{"queue":"nowhere","seq":1}`, 404, "nowhere")
}
