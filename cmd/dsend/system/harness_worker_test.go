package system

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// work subscribes a worker of a group to the pushes of a queue. handle is called
// with one delivery at a time.
func (c *client) work(t testing.TB, queue, group string, handle func(*delivery)) *nats.Subscription {
	t.Helper()
	sub, err := c.nc.QueueSubscribe("dsend.work."+queue, group, func(m *nats.Msg) {
		d, err := c.delivered(m)
		if err != nil {
			t.Error(err)
			return
		}
		handle(d)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		t.Fatal(err)
	}
	c.flush(t)
	return sub
}

// leave ends a subscription and waits until its handler is not busy any longer.
func leave(t testing.TB, sub *nats.Subscription) {
	t.Helper()
	idle := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(idle) })
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	next(t, "the end of a subscription", idle)
}

// diary gathers deliveries from any goroutine.
type diary struct {
	mu   sync.Mutex
	msgs []*delivery
}

func (d *diary) add(m *delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.msgs = append(d.msgs, m)
}

func (d *diary) all() []*delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*delivery(nil), d.msgs...)
}

// of is the deliveries of one body.
func (d *diary) of(body string) (found []*delivery) {
	for _, m := range d.all() {
		if string(m.Data) == body {
			found = append(found, m)
		}
	}
	return found
}

// wait waits for n deliveries.
func (d *diary) wait(t testing.TB, n int) []*delivery {
	t.Helper()
	eventually(t, "deliveries", func() error {
		if got := len(d.all()); got < n {
			return equal(got, n)
		}
		return nil
	})
	return d.all()
}

// pulls lets a client pull from a queue over and over, also across restarts of the
// server, until stop is called or the test ends.
func (c *client) pulls(t testing.TB, queue string, batch int, handle func(*delivery)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			p, err := c.until(ctx).pull(queue, pull{Batch: batch, Expires: time.Second})
			for _, d := range p.msgs {
				handle(d)
			}
			if err != nil && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond) // the server is away
			}
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}
