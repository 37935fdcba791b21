package system

import (
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// A queue that is removed and made again by the next publish, maybe in one
// commit, is served by the workers that are there.
func TestQueueMadeAgainIsServed(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	got := make(chan string, 1024)
	c.work(t, "orders", "w", func(d *delivery) {
		_ = d.Respond([]byte("done")) // its queue may be gone
		got <- string(d.Data)
	})
	for round := range 20 {
		c.put(t, plain("orders", "warm"))
		last := fmt.Sprintf("round %d", round)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := c.api("queue.rm", map[string]string{"queue": "orders"}, nil); err != nil {
				t.Error(err)
			}
		})
		for range 20 { // before, beside and behind the removal
			if err := c.nc.PublishMsg(&nats.Msg{Subject: "dsend.publish.orders", Data: []byte("among")}); err != nil {
				t.Fatal(err)
			}
		}
		wg.Wait()
		c.put(t, plain("orders", last))
		eventually(t, last+" is delivered", func() error {
			select {
			case body := <-got:
				if body == last {
					return nil
				}
				return fmt.Errorf("%q came", body)
			default:
				return fmt.Errorf("nothing came")
			}
		})
	}
}
