package system

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// H1: a pull left behind by a client that is gone eats nothing. It waits for long;
// then its client closes, unsubscribes, vanishes or is killed, and 10 messages
// come: somebody else gets all of them, at their first attempt.
func TestH1_PullOfADeadClientEatsNothing(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 30s", "max_attempts: 3")})
	for name, leave := range map[string]func(t *testing.T, c *client) (gone func(), inbox string){
		"closes its connection": func(t *testing.T, c *client) (func(), string) {
			return c.nc.Close, c.parkAll(t, "orders", 5)[4].Subject
		},
		"unsubscribes its inboxes": func(t *testing.T, c *client) (func(), string) {
			subs := c.parkAll(t, "orders", 5)
			return func() {
				for _, sub := range subs {
					if err := sub.Unsubscribe(); err != nil {
						t.Fatal(err)
					}
				}
				c.flush(t)
			}, subs[4].Subject
		},
		"vanishes": func(t *testing.T, _ *client) (func(), string) {
			w := s.wire(t)
			w.subscribe("inbox.of.mine.*")
			for k := range 5 {
				w.publish("dsend.pull.orders", fmt.Sprintf("inbox.of.mine.%d", k), nil, []byte(`{"batch":10,"expires":60000000000}`))
			}
			w.flush()
			return func() { _ = w.conn.Close() }, "inbox.of.mine.4"
		},
		"is killed": func(t *testing.T, _ *client) (func(), string) {
			p := launch(t, nil, "work", "orders", "--server", s.url(), "--concurrency", "5", "--", "true")
			return func() {
				if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				<-p.ended
			}, ""
		},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: it is one queue
			c, other := s.connect(t), s.connect(t)
			gone, inbox := leave(t, c)
			other.restPulls(t, "orders", 5)
			gone()
			if inbox == "" {
				other.restPulls(t, "orders", 0)
			} else {
				other.restNobody(t, inbox) // the server has seen it
			}
			begin := time.Now()
			other.putMany(t, "orders", "m", 10)
			msgs := other.take(t, "orders", 10)
			checkSoon(t, "that the living client got them", begin, 2*time.Second)
			for _, d := range msgs {
				if d.attempt != 1 {
					t.Errorf("%v: somebody dead has had it", d)
				}
			}
			mustAll(t, msgs, ack, "ok")
			other.restPulls(t, "orders", 0)
			other.rest(t, "orders", counts{})
		})
	}
}

// parkAll sends n pulls that wait for a minute, each on an inbox of its own.
func (c *client) parkAll(t testing.TB, queue string, n int) (subs []*nats.Subscription) {
	t.Helper()
	for range n {
		inbox := c.nc.NewInbox()
		sub, err := c.nc.SubscribeSync(inbox)
		if err == nil {
			err = c.nc.PublishRequest("dsend.pull."+queue, inbox, []byte(`{"batch":10,"expires":60000000000}`))
		}
		if err != nil {
			t.Fatal(err)
		}
		subs = append(subs, sub)
	}
	c.flush(t)
	return subs
}

// restPulls waits until so many pulls wait on a queue.
func (c *client) restPulls(t testing.TB, queue string, n int) {
	t.Helper()
	eventually(t, "waiting pulls of "+queue, func() error { return equal(c.info(t, queue).WaitingPulls, n) })
}

// restNobody waits until nobody listens on a subject.
func (c *client) restNobody(t testing.TB, subject string) {
	t.Helper()
	eventually(t, "nobody listens on "+subject, func() error {
		if _, err := c.nc.Request(subject, nil, 20*time.Millisecond); !errors.Is(err, nats.ErrNoResponders) {
			return fmt.Errorf("somebody does: %v", err)
		}
		return nil
	})
}
