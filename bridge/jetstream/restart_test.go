package jetstream_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A client that consumes goes on by itself when the server is back; what it held
// is still its own, and the consumer is as it was.
func TestRestart(t *testing.T) {
	n := start(t)
	js := newClient(t, n)
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w", AckWait: time.Hour, MaxDeliver: 9, Metadata: map[string]string{"team": "red"}})
	publish(t, js, 3)
	held := next(t, c)
	before, err := c.Info(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]int{}
	consuming, err := c.Consume(func(msg jetstream.Msg) {
		mu.Lock()
		defer mu.Unlock()
		seen[string(msg.Data())]++
		if err := msg.Ack(); err != nil {
			t.Error(err)
		}
	}, jetstream.PullExpiry(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	has := func(n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(seen) == n
		}
	}
	eventually(t, "the other two are done", has(2))
	n.stop(t)
	n.run(t)
	eventually(t, "more can be published", func() bool {
		_, err := js.Publish(within(t), "orders.new", []byte("after"))
		return err == nil
	})
	eventually(t, "it is consumed", has(3))
	consuming.Stop()
	<-consuming.Closed()
	after, err := c.Info(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if after.NumAckPending != 1 || after.Config.MaxDeliver != 9 || after.Config.Metadata["team"] != "red" || !after.Created.Equal(before.Created) {
		t.Errorf("the consumer was %+v and is %+v", before, after)
	}
	if after.AckFloor.Consumer != belowHeld(before) {
		t.Errorf("the ack floor is %+v, the held delivery was %+v", after.AckFloor, before.Delivered)
	}
	if err := held.DoubleAck(within(t)); err != nil {
		t.Error(err)
	}
	if last, err := c.Info(within(t)); err != nil || last.NumAckPending != 0 || last.AckFloor.Consumer != last.Delivered.Consumer {
		t.Errorf("in the end it is %+v, %v", last, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(seen) != "map[1:1 2:1 after:1]" {
		t.Errorf("consumed were %v", seen)
	}
}

// belowHeld is the number below the delivery that is held.
func belowHeld(info *jetstream.ConsumerInfo) uint64 { return info.Delivered.Consumer - 1 }
