package clients

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// elder is a client of the first JetStream API of nats.go, nc.JetStream().
type elder struct {
	*run
	nc  *nats.Conn
	js  nats.JetStreamContext
	sub *nats.Subscription
}

func TestNatsGoOld(t *testing.T) {
	for client, options := range map[string][]nats.JSOpt{
		"nats.go, old API":               nil,
		"nats.go, old API, domain dsend": {nats.Domain("dsend")},
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			e := &elder{run: &run{t, client}, nc: s.connect(t)}
			e.op("connect", func() (err error) {
				e.js, err = e.nc.JetStream(append(options, nats.MaxWait(patience))...)
				return err
			})
			e.managers()
			e.publishes()
			e.pulls()
			e.answers()
			e.life()
			e.restart(s)
			e.removes()
		})
	}
}

func (e *elder) managers() {
	e.op("account info", func() error {
		i, err := e.js.AccountInfo()
		if err == nil {
			err = equal(i.Domain, "dsend")
		}
		return err
	})
	config := &nats.StreamConfig{Name: "orders", Subjects: []string{"orders.>"}, Retention: nats.WorkQueuePolicy, Discard: nats.DiscardNew}
	e.op("stream create", func() error { _, err := e.js.AddStream(config); return err })
	e.op("stream update", func() error {
		config.MaxMsgs = 5000
		i, err := e.js.UpdateStream(config)
		if err == nil {
			err = equal(i.Config.MaxMsgs, int64(5000))
		}
		return err
	})
	e.op("stream info", func() error { _, err := e.js.StreamInfo("orders"); return err })
	e.op("stream names", func() error {
		var names []string
		for n := range e.js.StreamNames() {
			names = append(names, n)
		}
		return equal(strings.Join(names, " "), "orders")
	})
	e.op("stream of a subject", func() error {
		name, err := e.js.StreamNameBySubject("orders.new")
		return errors.Join(err, equal(name, "orders"))
	})
	consumer := &nats.ConsumerConfig{Durable: "w", AckPolicy: nats.AckExplicitPolicy, AckWait: 30 * time.Second, MaxDeliver: 3}
	e.op("consumer create", func() error { _, err := e.js.AddConsumer("orders", consumer); return err })
	e.op("consumer update", func() error {
		consumer.MaxAckPending = 1000
		i, err := e.js.UpdateConsumer("orders", consumer)
		if err == nil {
			err = equal(i.Config.MaxAckPending, 1000)
		}
		return err
	})
	e.op("consumer info", func() error {
		i, err := e.js.ConsumerInfo("orders", "w")
		if err == nil {
			err = equal(i.Config.AckWait, 30*time.Second)
		}
		return err
	})
	e.op("consumer names", func() error {
		var names []string
		for n := range e.js.ConsumerNames("orders") {
			names = append(names, n)
		}
		return equal(strings.Join(names, " "), "w")
	})
}

func (e *elder) publishes() {
	e.op("publish", func() error {
		ack, err := e.js.Publish("orders.new", []byte("one"), nats.MsgId("1"))
		if err != nil {
			return err
		}
		return equal(*ack, nats.PubAck{Stream: "orders", Sequence: 1, Domain: "dsend"})
	})
	e.op("publish again", func() error {
		ack, err := e.js.Publish("orders.new", []byte("one"), nats.MsgId("1"))
		if err != nil {
			return err
		}
		return equal(*ack, nats.PubAck{Stream: "orders", Sequence: 1, Duplicate: true, Domain: "dsend"})
	})
	e.op("publish async", func() error {
		for range 20 {
			if _, err := e.js.PublishAsync("orders.new", []byte("more")); err != nil {
				return err
			}
		}
		select {
		case <-e.js.PublishAsyncComplete():
			return e.holds(21)
		case <-time.After(patience):
			return errors.New("no answers")
		}
	})
	e.op("message get", func() error {
		m, err := e.js.GetMsg("orders", 1)
		if err != nil {
			return err
		}
		return equal(string(m.Data), "one")
	})
	e.op("message delete", func() error { return errors.Join(e.js.DeleteMsg("orders", 1), e.holds(20)) })
	e.op("stream purge", func() error { return errors.Join(e.js.PurgeStream("orders"), e.holds(0)) })
}

// holds waits until the stream holds so many messages.
func (e *elder) holds(n uint64) error { return e.holdsIn("orders", n) }

func (e *elder) holdsIn(stream string, n uint64) error {
	return eventually("messages in "+stream, func() error {
		i, err := e.js.StreamInfo(stream)
		if err != nil {
			return err
		}
		return equal(i.State.Msgs, n)
	})
}

func (e *elder) put(bodies ...string) error {
	for _, b := range bodies {
		if _, err := e.js.Publish("orders.new", []byte(b)); err != nil {
			return err
		}
	}
	return nil
}

// take waits for the next message.
func (e *elder) take(do func(*nats.Msg) error) error {
	msgs, err := e.sub.Fetch(1, nats.MaxWait(patience))
	if err != nil {
		return err
	}
	return do(msgs[0])
}

func (e *elder) pulls() {
	e.op("pull subscribe by subject", func() error {
		sub, err := e.js.PullSubscribe("orders.>", "w")
		if err != nil {
			return err
		}
		return sub.Unsubscribe()
	})
	e.op("pull subscribe, bound", func() (err error) {
		e.sub, err = e.js.PullSubscribe("", "", nats.Bind("orders", "w"))
		return err
	})
	e.op("fetch", func() error {
		if err := e.put("a", "b", "c"); err != nil {
			return err
		}
		msgs, err := e.sub.Fetch(3, nats.MaxWait(patience))
		if err == nil {
			err = equal(len(msgs), 3)
		}
		for _, m := range msgs {
			err = errors.Join(err, m.Ack())
		}
		return errors.Join(err, e.holds(0))
	})
	e.op("fetch of nothing", func() error {
		if _, err := e.sub.Fetch(1, nats.MaxWait(300*time.Millisecond)); !errors.Is(err, nats.ErrTimeout) {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
	e.op("fetch batch", func() error {
		if err := e.put("a", "b"); err != nil {
			return err
		}
		b, err := e.sub.FetchBatch(2, nats.MaxWait(patience))
		if err != nil {
			return err
		}
		n := 0
		for m := range b.Messages() {
			n++
			err = errors.Join(err, m.Ack())
		}
		return errors.Join(err, b.Error(), equal(n, 2), e.holds(0))
	})
	e.op("ack", func() error { return e.holds(0) })
}

func (e *elder) answers() {
	e.op("double ack", func() error {
		return errors.Join(e.put("x"), e.take(func(m *nats.Msg) error { return m.AckSync(nats.AckWait(patience)) }), e.holds(0))
	})
	e.op("metadata", func() error {
		return errors.Join(e.put("x"), e.take(func(m *nats.Msg) error {
			d, err := m.Metadata()
			if err != nil {
				return err
			}
			return errors.Join(equal(d.NumDelivered, 1), equal(d.Stream, "orders"), equal(d.Consumer, "w"), equal(d.Domain, "dsend"),
				equal(m.Subject, "orders.new"), m.Nak())
		}))
	})
	e.op("nak", func() error {
		return e.take(func(m *nats.Msg) error {
			d, err := m.Metadata()
			if err != nil {
				return err
			}
			return errors.Join(equal(d.NumDelivered, 2), m.AckSync(nats.AckWait(patience)))
		})
	})
	e.op("nak with delay", func() error {
		var failed time.Time
		return errors.Join(e.put("x"),
			e.take(func(m *nats.Msg) error { failed = time.Now(); return m.NakWithDelay(700 * time.Millisecond) }),
			e.take(func(m *nats.Msg) error {
				if d := time.Since(failed); d < 690*time.Millisecond {
					return fmt.Errorf("it came after %s", d)
				}
				return m.AckSync(nats.AckWait(patience))
			}))
	})
	e.op("in progress", func() error {
		return errors.Join(e.put("x"), e.take(func(m *nats.Msg) error {
			return errors.Join(m.InProgress(), m.InProgress(), m.AckSync(nats.AckWait(patience)))
		}))
	})
	e.op("term", func() error {
		return errors.Join(e.put("x"), e.take(func(m *nats.Msg) error { return m.Term() }), e.holds(0), e.holdsIn("orders-dlq", 1))
	})
}

func (e *elder) life() {
	e.op("life", func() error {
		if err := errors.Join(e.js.PurgeStream("orders-dlq"), e.put("life")); err != nil {
			return err
		}
		for attempt := range 3 {
			if err := e.take(func(m *nats.Msg) error {
				d, err := m.Metadata()
				if err != nil {
					return err
				}
				return errors.Join(equal(d.NumDelivered, uint64(attempt+1)), m.Nak())
			}); err != nil {
				return err
			}
		}
		return errors.Join(e.holds(0), e.holdsIn("orders-dlq", 1), replay(e.nc, "orders"), e.holdsIn("orders-dlq", 0),
			e.take(func(m *nats.Msg) error {
				d, err := m.Metadata()
				if err != nil {
					return err
				}
				return errors.Join(equal(d.NumDelivered, 1), equal(string(m.Data), "life"), m.AckSync(nats.AckWait(patience)))
			}), e.holds(0))
	})
}

// restart: the server is killed between a publish and its work, with a pull waiting.
func (e *elder) restart(s *server) {
	e.op("server killed", func() error {
		const n = 100
		// What was on its way when the server died comes again after the ack wait.
		short := &nats.ConsumerConfig{Durable: "w", AckPolicy: nats.AckExplicitPolicy, AckWait: 3 * time.Second, MaxDeliver: -1}
		if _, err := e.js.UpdateConsumer("orders", short); err != nil {
			return err
		}
		done, killed := map[string]bool{}, false
		published := make(chan error, 1)
		go func() { published <- e.publishAll(n) }()
		err := eventually("all messages are done", func() error {
			msgs, err := e.sub.Fetch(10, nats.MaxWait(time.Second))
			for _, m := range msgs {
				if m.AckSync(nats.AckWait(time.Second)) == nil {
					done[string(m.Data)] = true
				}
			}
			if !killed && len(done) > n/3 {
				s.restart()
				killed = true
			}
			return errors.Join(err, equal(len(done), n))
		})
		return errors.Join(err, <-published, e.holds(0))
	})
}

// publishAll publishes messages one by one, each until it is taken.
func (e *elder) publishAll(n int) error {
	for i := range n {
		id := fmt.Sprint("message ", i)
		if err := eventually("publish", func() error {
			_, err := e.js.Publish("orders.new", []byte(id), nats.MsgId(id), nats.AckWait(time.Second))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (e *elder) removes() {
	e.op("consumer delete", func() error {
		if err := e.js.DeleteConsumer("orders", "w"); err != nil {
			return err
		}
		if _, err := e.js.ConsumerInfo("orders", "w"); !errors.Is(err, nats.ErrConsumerNotFound) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	e.op("stream delete", func() error {
		if err := e.js.DeleteStream("orders"); err != nil {
			return err
		}
		if _, err := e.js.StreamInfo("orders"); !errors.Is(err, nats.ErrStreamNotFound) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
}
