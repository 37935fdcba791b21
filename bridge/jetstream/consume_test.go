package jetstream_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dsend/dlq"
	"dsend/durable/queue"
)

// orders makes a stream and a consumer of it.
func orders(t *testing.T, js jetstream.JetStream, cfg jetstream.ConsumerConfig) jetstream.Consumer {
	t.Helper()
	if _, err := js.CreateOrUpdateStream(within(t), jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders.>"}}); err != nil {
		t.Fatal(err)
	}
	cfg.AckPolicy = jetstream.AckExplicitPolicy
	c, err := js.CreateOrUpdateConsumer(within(t), "orders", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// publish stores messages 0, 1, 2, …, all at once.
func publish(t *testing.T, js jetstream.JetStream, n int) {
	t.Helper()
	for i := range n {
		if _, err := js.PublishAsync("orders.new", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(patient):
		t.Fatal("not all is published")
	}
}

// batch reads a batch to its end, and acks what is in it.
func batch(t *testing.T, got jetstream.MessageBatch, err error) (bodies []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for msg := range got.Messages() {
		bodies = append(bodies, string(msg.Data()))
		if err := msg.DoubleAck(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := got.Error(); err != nil {
		t.Fatal(err)
	}
	return bodies
}

// Each way that nats.go has of asking for messages gets them, in order, once.
func TestFetch(t *testing.T) {
	js := newClient(t, start(t))
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	got, err := c.FetchNoWait(5)
	if bodies := batch(t, got, err); len(bodies) != 0 {
		t.Errorf("of an empty queue %q is fetched", bodies)
	}
	publish(t, js, 10)
	got, err = c.Fetch(3, jetstream.FetchMaxWait(patient))
	if bodies := batch(t, got, err); !slices.Equal(bodies, []string{"0", "1", "2"}) {
		t.Errorf("fetched %q", bodies)
	}
	got, err = c.FetchNoWait(3)
	if bodies := batch(t, got, err); !slices.Equal(bodies, []string{"3", "4", "5"}) {
		t.Errorf("fetched without waiting %q", bodies)
	}
	got, err = c.FetchBytes(1<<20, jetstream.FetchMaxWait(time.Second))
	if bodies := batch(t, got, err); !slices.Equal(bodies, []string{"6", "7", "8", "9"}) {
		t.Errorf("fetched bytes %q", bodies)
	}
	if msg, err := c.Next(jetstream.FetchMaxWait(time.Second)); !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("next of nothing is %v, %v", msg, err)
	}
}

// Fewer bytes than the next message has end the request, and it stays.
func TestFetchBytesTooFew(t *testing.T) {
	js := newClient(t, start(t))
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	if _, err := js.Publish(within(t), "orders.new", make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	got, err := c.FetchBytes(1000, jetstream.FetchMaxWait(patient))
	if bodies := batch(t, got, err); len(bodies) != 0 {
		t.Errorf("%d messages fit in", len(bodies))
	}
	if info, err := c.Info(within(t)); err != nil || info.NumPending != 1 || info.NumWaiting != 0 {
		t.Errorf("left are %+v, %v", info, err)
	}
}

// Consume and Messages keep pulling, with overlapping requests on one inbox, and
// lose and repeat nothing.
func TestConsumeAndMessages(t *testing.T) {
	const n = 2000
	js := newClient(t, start(t))
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	var mu sync.Mutex
	seen := map[string]int{}
	take := func(msg jetstream.Msg) {
		mu.Lock()
		defer mu.Unlock()
		seen[string(msg.Data())]++
		if err := msg.Ack(); err != nil {
			t.Error(err)
		}
	}
	consuming, err := c.Consume(take, jetstream.PullMaxMessages(10))
	if err != nil {
		t.Fatal(err)
	}
	messages, err := c.Messages(jetstream.PullMaxMessages(7))
	if err != nil {
		t.Fatal(err)
	}
	var iterating sync.WaitGroup
	iterating.Go(func() {
		for {
			msg, err := messages.Next()
			if err != nil {
				return // stopped
			}
			take(msg)
		}
	})
	publish(t, js, n)
	eventually(t, "all are done", func() bool {
		info, err := c.Info(within(t))
		return err == nil && info.NumPending == 0 && info.NumAckPending == 0
	})
	consuming.Stop()
	messages.Stop()
	iterating.Wait()
	<-consuming.Closed()
	mu.Lock()
	defer mu.Unlock()
	for i := range n {
		if times := seen[fmt.Sprint(i)]; times != 1 {
			t.Errorf("message %d came %d times", i, times)
		}
	}
}

// Every answer that nats.go can give means what it says.
func TestAnswers(t *testing.T) {
	n := start(t)
	js := newClient(t, n)
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w", AckWait: time.Minute})
	publish(t, js, 5)
	var msgs []jetstream.Msg
	got, err := c.Fetch(5, jetstream.FetchMaxWait(patient))
	if err != nil {
		t.Fatal(err)
	}
	for msg := range got.Messages() {
		msgs = append(msgs, msg)
	}
	before := deadline(t, n, 3)
	for _, say := range []error{
		msgs[0].Ack(), msgs[1].NakWithDelay(time.Hour), msgs[2].InProgress(), msgs[3].TermWithReason("no such account"),
		msgs[4].DoubleAck(within(t)),
	} {
		if say != nil {
			t.Fatal(say)
		}
	}
	eventually(t, "the term is a letter", func() bool {
		page, err := n.store.List(t.Context(), queue.List{Queue: "orders-dlq"})
		return err == nil && len(page) == 1 && page[0].Letter.Reason == dlq.ReasonTerminated && page[0].Letter.Error == "no such account"
	})
	e, err := n.store.Entry(t.Context(), "orders", 2)
	if wait := time.Until(time.Unix(0, e.Due)); err != nil || e.Phase != queue.Delayed || wait < 59*time.Minute || wait > time.Hour {
		t.Errorf("after a nak with a delay the message is %s for %s, %v", e.Phase, wait, err)
	}
	if after := deadline(t, n, 3); after <= before {
		t.Errorf("in progress moved the deadline from %d to %d", before, after)
	}
	page, err := n.store.List(t.Context(), queue.List{Queue: "orders"})
	if err != nil || len(page) != 2 {
		t.Errorf("left are %d messages, %v", len(page), err)
	}
}

func deadline(t *testing.T, n *node, seq uint64) int64 {
	t.Helper()
	e, err := n.store.Entry(t.Context(), "orders", seq)
	if err != nil || e.Phase != queue.InFlight {
		t.Fatalf("message %d is %s, %v", seq, e.Phase, err)
	}
	return e.Due
}

// The limits of a consumer hold for what goes through it: ack_wait, max_deliver,
// backoff, max_ack_pending.
func TestLimits(t *testing.T) {
	n := start(t)
	js := newClient(t, n)
	c := orders(t, js, jetstream.ConsumerConfig{
		Durable: "w", AckWait: 10 * time.Millisecond, MaxDeliver: 2, BackOff: []time.Duration{20 * time.Millisecond}, MaxAckPending: 2,
	})
	publish(t, js, 3)
	got, err := c.Fetch(3, jetstream.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	for range got.Messages() { // nobody answers
	}
	eventually(t, "all three have been tried twice and died", func() bool {
		// each request finds no more than two that are unanswered
		if got, err := c.FetchNoWait(3); err == nil {
			for range got.Messages() {
			}
		}
		info, err := n.store.Info(t.Context(), "orders-dlq")
		return err == nil && info.Letters == 3
	})
	page, err := n.store.List(t.Context(), queue.List{Queue: "orders-dlq"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page {
		attempts := slices.Collect(e.Letter.History.All())
		if e.Letter.Attempts != 2 || len(attempts) != 2 || attempts[0].Outcome != dlq.OutcomeTimeout {
			t.Errorf("letter %d has %d attempts: %+v", e.Seq, e.Letter.Attempts, attempts)
		}
		if wait := time.Duration(attempts[1].At - attempts[0].Ended); wait < 20*time.Millisecond {
			t.Errorf("letter %d came again after %s", e.Seq, wait)
		}
	}
}

// No more messages are unanswered than max_ack_pending says, and one that is
// answered makes room for another.
func TestMaxAckPending(t *testing.T) {
	js := newClient(t, start(t))
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w", MaxAckPending: 2})
	publish(t, js, 4)
	got, err := c.Fetch(4, jetstream.FetchMaxWait(patient))
	if err != nil {
		t.Fatal(err)
	}
	first, second := <-got.Messages(), <-got.Messages()
	info, err := c.Info(within(t))
	if err != nil || info.NumAckPending != 2 || info.NumPending != 2 || info.NumWaiting != 1 {
		t.Errorf("when the window is full: %+v, %v", info, err)
	}
	for _, msg := range []jetstream.Msg{first, second} {
		if err := msg.Ack(); err != nil {
			t.Fatal(err)
		}
		if next := <-got.Messages(); next == nil {
			t.Fatal("an ack makes no room")
		}
	}
}

// Raw requests are answered as JetStream does, with what is left of them.
func TestStatuses(t *testing.T) {
	n := start(t)
	js := newClient(t, n)
	orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	orders(t, js, jetstream.ConsumerConfig{Durable: "small", MaxRequestBatch: 2, MaxRequestExpires: time.Second, MaxRequestMaxBytes: 1000})
	nc := n.connect(t)
	for _, test := range []struct {
		consumer, body, status string
		left                   string
	}{
		{"w", `{"batch":5,"no_wait":true}`, "404 No Messages", "5"},
		{"w", `{"batch":5,"expires":50000000}`, "408 Request Timeout", "5"},
		{"w", `{"batch":-1}`, "400 Bad Request", ""},
		{"w", `{"batch":1,"expires":1000000000,"idle_heartbeat":900000000}`, "400 Bad Request", ""},
		{"w", `{"batch":1,"group":"g"}`, "400 Bad Request - group:", ""},
		{"w", `{"batch":1,"min_pending":1}`, "400 Bad Request - min_pending:", ""},
		{"w", `{"batch":1,"id":"pin"}`, "400 Bad Request - id:", ""},
		{"nobody", `{"batch":1}`, "409 Consumer Deleted", "1"},
		{"small", `{"batch":3}`, "409 Exceeded MaxRequestBatch of 2", "3"},
		{"small", `{"batch":2,"expires":1000000001}`, "409 Exceeded MaxRequestExpires of 1s", "2"},
		{"small", `{"batch":2,"max_bytes":1001}`, "409 Exceeded MaxRequestMaxBytes of 1000", "2"},
		{"small", `{"batch":2,"max_bytes":1000,"no_wait":true}`, "404 No Messages", "2"},
	} {
		m, err := nc.Request("$JS.API.CONSUMER.MSG.NEXT.orders."+test.consumer, []byte(test.body), patient)
		if err != nil {
			t.Fatalf("%s: %v", test.body, err)
		}
		status := m.Header.Get("Status") + " " + m.Header.Get("Description")
		if !strings.HasPrefix(status, test.status) || m.Header.Get("Nats-Pending-Messages") != test.left {
			t.Errorf("%s is answered %q with %v", test.body, status, m.Header)
		}
	}
}

// A request for more that comes with an ack goes through the same consumer.
func TestAckNext(t *testing.T) {
	n := start(t)
	js := newClient(t, n)
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	publish(t, js, 2)
	first := next(t, c)
	m, err := n.connect(t).Request(first.Reply(), []byte(`+NXT {"batch":1}`), patient)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := m.Metadata()
	if err != nil || string(m.Data) != "1" || meta.Consumer != "w" {
		t.Errorf("more is %q with %+v, %v", m.Data, meta, err)
	}
	if info, err := c.Info(within(t)); err != nil || info.NumAckPending != 1 || info.AckFloor.Stream != 1 {
		t.Errorf("and the consumer is %+v, %v", info, err)
	}
}

// A client that waits hears that the consumer is deleted.
func TestDeletedWhileWaiting(t *testing.T) {
	n := start(t)
	js := newClient(t, n)
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	heard := make(chan error, 10)
	consuming, err := c.Consume(func(jetstream.Msg) {}, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { heard <- err }))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it waits", func() bool {
		info, err := c.Info(within(t))
		return err == nil && info.NumWaiting > 0
	})
	if err := js.DeleteConsumer(within(t), "orders", "w"); err != nil {
		t.Fatal(err)
	}
	if err := <-heard; !errors.Is(err, jetstream.ErrConsumerDeleted) {
		t.Errorf("heard %v", err)
	}
	<-consuming.Closed()
}
