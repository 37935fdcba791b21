package jetstream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dsend/durable/queue"
)

// A message's whole life through the new API of nats.go: published, failed,
// tried again with its number of attempt in the metadata, given up, found in the
// dead-letter queue, replayed, and done.
func TestLifeNew(t *testing.T) {
	for what, gated := range map[string]bool{"leaf": false, "gateway": true} {
		t.Run(what, func(t *testing.T) { lifeNew(t, startAs(t, gated)) })
	}
}

func lifeNew(t *testing.T, n *node) {
	js, ctx := newClient(t, n), within(t)
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders.>"}})
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	ack, err := js.Publish(ctx, "orders.new", []byte("one"))
	if err != nil || ack.Stream != "orders" || ack.Sequence != 1 || ack.Domain != "dsend" {
		t.Fatalf("published as %+v, %v", ack, err)
	}
	for attempt := uint64(1); attempt <= 3; attempt++ {
		msg := next(t, consumer)
		meta, err := msg.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		if meta.NumDelivered != attempt || meta.Stream != "orders" || meta.Consumer != "w" || meta.Sequence.Stream != 1 || meta.Domain != "dsend" {
			t.Errorf("delivery %d has metadata %+v", attempt, meta)
		}
		if msg.Subject() != "orders.new" || string(msg.Data()) != "one" {
			t.Errorf("delivered %q on %s", msg.Data(), msg.Subject())
		}
		if err := msg.Nak(); err != nil {
			t.Fatal(err)
		}
	}
	dead, err := js.Stream(ctx, waitFor(t, n, "orders-dlq"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := dead.Info(ctx); err != nil || info.State.Msgs != 1 || info.Config.Retention != jetstream.WorkQueuePolicy {
		t.Fatalf("the dead-letter queue is %+v, %v", info, err)
	}
	letter, err := dead.GetMsg(ctx, 1)
	if err != nil || string(letter.Data) != "one" || letter.Subject != "orders.new" || letter.Header.Get("Dsend-Dead-Reason") != "max_attempts" {
		t.Fatalf("the letter is %+v, %v", letter, err)
	}
	if _, err := n.store.Do(ctx, &queue.Replay{Name: "orders-dlq", Seq: 1}); err != nil {
		t.Fatal(err)
	}
	again := next(t, consumer)
	if meta, err := again.Metadata(); err != nil || meta.NumDelivered != 1 || meta.Sequence.Stream != 2 {
		t.Errorf("replayed with metadata %+v, %v", meta, err)
	}
	if err := again.DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	if info, err := stream.Info(ctx); err != nil || info.State.Msgs != 0 || info.State.Consumers != 1 {
		t.Errorf("when all is done the stream is %+v, %v", info, err)
	}
}

func next(t *testing.T, c jetstream.Consumer) jetstream.Msg {
	t.Helper()
	msg, err := c.Next(jetstream.FetchMaxWait(patient))
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// waitFor waits until a queue holds a message, and gives its name.
func waitFor(t *testing.T, n *node, name string) string {
	t.Helper()
	eventually(t, "a message in "+name, func() bool {
		info, err := n.store.Info(t.Context(), name)
		return err == nil && info.Ready > 0
	})
	return name
}

// The same with the old API, which finds the stream by the subject.
func TestLifeOld(t *testing.T) {
	n := start(t)
	for _, domain := range []string{"", "dsend"} {
		name := "orders" + domain
		js, err := n.connect(t).JetStream(nats.Domain(domain), nats.MaxWait(patient))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.AddStream(&nats.StreamConfig{Name: name, Subjects: []string{name + ".new"}, Retention: nats.WorkQueuePolicy}); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if _, err := js.Publish(name+".new", fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		sub, err := js.PullSubscribe(name+".new", "w")
		if err != nil {
			t.Fatal(err)
		}
		msgs, err := sub.Fetch(3, nats.MaxWait(patient))
		if err != nil || len(msgs) != 3 {
			t.Fatalf("fetched %d, %v", len(msgs), err)
		}
		for i, msg := range msgs {
			meta, err := msg.Metadata()
			if err != nil || string(msg.Data) != fmt.Sprint(i) || meta.NumDelivered != 1 || meta.NumPending != uint64(2-i) {
				t.Errorf("message %d is %q with %+v, %v", i, msg.Data, meta, err)
			}
		}
		answer := []func() error{
			func() error { return msgs[0].AckSync() },
			func() error { return msgs[1].Term() },
			func() error { return msgs[2].NakWithDelay(time.Millisecond) },
		}
		for _, say := range answer {
			if err := say(); err != nil {
				t.Fatal(err)
			}
		}
		msgs, err = sub.Fetch(1, nats.MaxWait(patient))
		if err != nil || string(msgs[0].Data) != "2" {
			t.Fatalf("again: %v, %v", msgs, err)
		}
		if meta, err := msgs[0].Metadata(); err != nil || meta.NumDelivered != 2 {
			t.Errorf("again with %+v, %v", meta, err)
		}
		if err := msgs[0].InProgress(); err != nil {
			t.Fatal(err)
		}
		if err := msgs[0].AckSync(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, n, name+"-dlq")
	}
}

// A dead-letter queue is consumed like any other stream; what fails there stays.
func TestConsumeLetters(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	publish(t, js, 1)
	if err := next(t, c).TermWithReason("broken"); err != nil {
		t.Fatal(err)
	}
	letters, err := js.CreateConsumer(ctx, waitFor(t, n, "orders-dlq"), jetstream.ConsumerConfig{Durable: "clerk", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 2})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		msg := next(t, letters)
		if msg.Headers().Get("Dsend-Dead-Error") != "broken" || msg.Subject() != "orders.new" {
			t.Errorf("the letter is %v on %s", msg.Headers(), msg.Subject())
		}
		if err := msg.Nak(); err != nil {
			t.Fatal(err)
		}
	}
	if err := next(t, letters).DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	if info, err := letters.Info(ctx); err != nil || info.NumPending+uint64(info.NumAckPending) != 0 {
		t.Errorf("left are %+v, %v", info, err)
	}
}
