package clients

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// gopher is a client of nats.go's jetstream, with a stream and a consumer.
type gopher struct {
	*run
	nc       *nats.Conn
	js       jetstream.JetStream
	stream   jetstream.Stream
	consumer jetstream.Consumer
	ctx      context.Context
}

func TestNatsGo(t *testing.T) {
	for client, domain := range map[string]string{"nats.go": "", "nats.go, domain dsend": "dsend"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			g := &gopher{run: &run{t, client}, nc: s.connect(t), ctx: t.Context()}
			g.op("connect", func() (err error) {
				if domain == "" {
					g.js, err = jetstream.New(g.nc)
				} else {
					g.js, err = jetstream.NewWithDomain(g.nc, domain)
				}
				return err
			})
			g.streams()
			g.publishes()
			g.consumers()
			g.pulls()
			g.answers()
			g.life()
			g.restart(s)
			g.removes()
		})
	}
}

func (g *gopher) streams() {
	g.op("account info", func() error {
		i, err := g.js.AccountInfo(g.ctx)
		if err == nil && i.Domain != "dsend" {
			err = fmt.Errorf("the domain is %q", i.Domain)
		}
		return err
	})
	config := jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders.>"}, Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew}
	g.op("stream create", func() (err error) { g.stream, err = g.js.CreateStream(g.ctx, config); return err })
	g.op("stream update", func() error {
		config.MaxMsgs, config.Description = 5000, "the orders"
		s, err := g.js.UpdateStream(g.ctx, config)
		if err == nil && s.CachedInfo().Config.MaxMsgs != 5000 {
			err = fmt.Errorf("max_msgs is %d", s.CachedInfo().Config.MaxMsgs)
		}
		return err
	})
	g.op("stream info", func() error {
		i, err := g.stream.Info(g.ctx)
		if err == nil && (i.Config.Retention != jetstream.WorkQueuePolicy || i.Config.Subjects[0] != "orders.>") {
			err = fmt.Errorf("%+v", i.Config)
		}
		return err
	})
	g.op("stream names", func() error {
		var names []string
		l := g.js.StreamNames(g.ctx)
		for n := range l.Name() {
			names = append(names, n)
		}
		return errors.Join(l.Err(), equal(strings.Join(names, " "), "orders"))
	})
	g.op("stream list", func() error {
		n := 0
		l := g.js.ListStreams(g.ctx)
		for range l.Info() {
			n++
		}
		return errors.Join(l.Err(), equal(n, 1))
	})
	g.op("stream of a subject", func() error {
		name, err := g.js.StreamNameBySubject(g.ctx, "orders.new")
		return errors.Join(err, equal(name, "orders"))
	})
	g.op("no such stream", func() error {
		if _, err := g.js.Stream(g.ctx, "nothing"); !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
}

func (g *gopher) publishes() {
	g.op("publish", func() error {
		ack, err := g.js.Publish(g.ctx, "orders.new", []byte("one"), jetstream.WithMsgID("1"))
		if err != nil {
			return err
		}
		return equal(*ack, jetstream.PubAck{Stream: "orders", Sequence: 1, Domain: "dsend"})
	})
	g.op("publish again", func() error {
		ack, err := g.js.Publish(g.ctx, "orders.new", []byte("one"), jetstream.WithMsgID("1"))
		if err != nil {
			return err
		}
		return equal(*ack, jetstream.PubAck{Stream: "orders", Sequence: 1, Duplicate: true, Domain: "dsend"})
	})
	g.op("publish async", func() error {
		var acks []jetstream.PubAckFuture
		for range 20 {
			f, err := g.js.PublishAsync("orders.new", []byte("more"))
			if err != nil {
				return err
			}
			acks = append(acks, f)
		}
		for i, f := range acks {
			select {
			case ack := <-f.Ok():
				if err := equal(ack.Sequence, uint64(i+2)); err != nil {
					return err
				}
			case err := <-f.Err():
				return err
			case <-time.After(patience):
				return errors.New("no answer")
			}
		}
		return nil
	})
	g.op("message get", func() error {
		m, err := g.stream.GetMsg(g.ctx, 1)
		if err != nil {
			return err
		}
		return errors.Join(equal(string(m.Data), "one"), equal(m.Subject, "orders.new"), equal(m.Header.Get("Nats-Msg-Id"), "1"))
	})
	g.op("message delete", func() error {
		if err := g.stream.DeleteMsg(g.ctx, 1); err != nil {
			return err
		}
		if _, err := g.stream.GetMsg(g.ctx, 1); !errors.Is(err, jetstream.ErrMsgNotFound) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	g.op("stream purge", func() error { return errors.Join(g.stream.Purge(g.ctx), g.holds(0)) })
}

// holds waits until the stream holds so many messages.
func (g *gopher) holds(n uint64) error {
	return eventually("messages in the stream", func() error {
		i, err := g.stream.Info(g.ctx)
		if err != nil {
			return err
		}
		return equal(i.State.Msgs, n)
	})
}

func (g *gopher) consumers() {
	config := jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 30 * time.Second, MaxDeliver: 3, MaxAckPending: 500}
	g.op("consumer create", func() (err error) {
		g.consumer, err = g.stream.CreateConsumer(g.ctx, config)
		return err
	})
	g.op("consumer update", func() (err error) {
		config.MaxAckPending = 1000
		if g.consumer, err = g.stream.CreateOrUpdateConsumer(g.ctx, config); err != nil {
			return err
		}
		return equal(g.consumer.CachedInfo().Config.MaxAckPending, 1000)
	})
	g.op("consumer info", func() error {
		i, err := g.consumer.Info(g.ctx)
		if err != nil {
			return err
		}
		return errors.Join(equal(i.Name, "w"), equal(i.Config.AckWait, 30*time.Second), equal(i.Config.MaxDeliver, 3))
	})
	g.op("consumer names", func() error {
		var names []string
		l := g.stream.ConsumerNames(g.ctx)
		for n := range l.Name() {
			names = append(names, n)
		}
		return errors.Join(l.Err(), equal(strings.Join(names, " "), "w"))
	})
	g.op("consumer list", func() error {
		n := 0
		l := g.stream.ListConsumers(g.ctx)
		for range l.Info() {
			n++
		}
		return errors.Join(l.Err(), equal(n, 1))
	})
	g.op("consumer pause", func() error {
		if _, err := g.js.PauseConsumer(g.ctx, "orders", "w", time.Now().Add(time.Hour)); err != nil {
			return err
		}
		i, err := g.consumer.Info(g.ctx)
		if err == nil && !i.Paused {
			err = errors.New("it is not paused")
		}
		if err != nil {
			return err
		}
		if err := g.put("paused"); err != nil {
			return err
		}
		b, err := g.consumer.FetchNoWait(1)
		if err != nil {
			return err
		}
		for m := range b.Messages() {
			return fmt.Errorf("it delivers %q", m.Data())
		}
		return b.Error()
	})
	g.op("consumer resume", func() error {
		if _, err := g.js.ResumeConsumer(g.ctx, "orders", "w"); err != nil {
			return err
		}
		return g.take(func(m jetstream.Msg) error { return errors.Join(equal(string(m.Data()), "paused"), m.DoubleAck(g.ctx)) })
	})
	g.op("no such consumer", func() error {
		if _, err := g.stream.Consumer(g.ctx, "nobody"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
}

func (g *gopher) put(bodies ...string) error {
	for _, b := range bodies {
		if _, err := g.js.Publish(g.ctx, "orders.new", []byte(b)); err != nil {
			return err
		}
	}
	return nil
}

// take waits for the next message.
func (g *gopher) take(do func(jetstream.Msg) error) error {
	m, err := g.consumer.Next(jetstream.FetchMaxWait(patience))
	if err != nil {
		return err
	}
	return do(m)
}

// took are the bodies of a batch, whose messages are acked.
func took(b jetstream.MessageBatch, err error) (string, error) {
	if err != nil {
		return "", err
	}
	var bodies []string
	for m := range b.Messages() {
		bodies = append(bodies, string(m.Data()))
		if err := m.Ack(); err != nil {
			return "", err
		}
	}
	return strings.Join(bodies, " "), b.Error()
}

func (g *gopher) pulls() {
	g.op("fetch", func() error {
		if err := g.put("a", "b", "c"); err != nil {
			return err
		}
		got, err := took(g.consumer.Fetch(3, jetstream.FetchMaxWait(patience)))
		return errors.Join(err, equal(got, "a b c"))
	})
	g.op("fetch of nothing", func() error {
		got, err := took(g.consumer.Fetch(1, jetstream.FetchMaxWait(200*time.Millisecond)))
		return errors.Join(err, equal(got, ""))
	})
	g.op("fetch no wait", func() error {
		if err := g.put("d", "e"); err != nil {
			return err
		}
		got, err := took(g.consumer.FetchNoWait(5))
		return errors.Join(err, equal(got, "d e"))
	})
	g.op("fetch bytes", func() error {
		if err := g.put("f", strings.Repeat("g", 5000)); err != nil {
			return err
		}
		got, err := took(g.consumer.FetchBytes(2000, jetstream.FetchMaxWait(time.Second)))
		if err := errors.Join(err, equal(got, "f")); err != nil {
			return err
		}
		got, err = took(g.consumer.FetchBytes(20000, jetstream.FetchMaxWait(time.Second)))
		return errors.Join(err, equal(len(got), 5000))
	})
	g.op("next", func() error {
		if err := g.put("h"); err != nil {
			return err
		}
		return g.take(func(m jetstream.Msg) error { return errors.Join(equal(string(m.Data()), "h"), m.DoubleAck(g.ctx)) })
	})
	g.op("messages", func() error {
		if err := g.putMany(100); err != nil {
			return err
		}
		it, err := g.consumer.Messages(jetstream.PullMaxMessages(7))
		if err != nil {
			return err
		}
		for i := range 100 {
			m, err := it.Next(jetstream.NextMaxWait(patience))
			if err == nil {
				err = errors.Join(equal(string(m.Data()), fmt.Sprint("m", i)), m.Ack())
			}
			if err != nil {
				return err
			}
		}
		it.Stop()
		return g.nobodyPulls()
	})
	g.op("consume", func() error {
		if err := g.putMany(100); err != nil {
			return err
		}
		got := make(chan error, 100)
		c, err := g.consumer.Consume(func(m jetstream.Msg) { got <- m.Ack() }, jetstream.PullMaxMessages(7))
		if err != nil {
			return err
		}
		for range 100 {
			select {
			case err := <-got:
				if err != nil {
					return err
				}
			case <-time.After(patience):
				return errors.New("no more messages")
			}
		}
		c.Stop()
		return g.nobodyPulls()
	})
	g.op("ack", func() error { return g.holds(0) })
}

// nobodyPulls waits until no request waits any longer. The library stops in its own
// time: what came before it did would be dropped, and come again after the ack wait.
func (g *gopher) nobodyPulls() error {
	return eventually("waiting requests", func() error {
		i, err := g.consumer.Info(g.ctx)
		if err != nil {
			return err
		}
		return equal(i.NumWaiting, 0)
	})
}

func (g *gopher) putMany(n int) error {
	for i := range n {
		if err := g.put(fmt.Sprint("m", i)); err != nil {
			return err
		}
	}
	return nil
}

func (g *gopher) answers() {
	g.op("double ack", func() error {
		if err := g.put("x"); err != nil {
			return err
		}
		return errors.Join(g.take(func(m jetstream.Msg) error { return m.DoubleAck(g.ctx) }), g.holds(0))
	})
	g.op("metadata", func() error {
		if err := g.put("x"); err != nil {
			return err
		}
		return g.take(func(m jetstream.Msg) error {
			d, err := m.Metadata()
			if err != nil {
				return err
			}
			if d.Timestamp.IsZero() || time.Since(d.Timestamp) > time.Hour || d.Sequence.Stream == 0 || d.Sequence.Consumer == 0 {
				err = fmt.Errorf("%+v", d)
			}
			return errors.Join(err, equal(d.NumDelivered, 1), equal(d.NumPending, 0), equal(d.Stream, "orders"), equal(d.Consumer, "w"),
				equal(d.Domain, "dsend"), equal(m.Subject(), "orders.new"), m.Nak())
		})
	})
	g.op("nak", func() error {
		return g.take(func(m jetstream.Msg) error {
			d, err := m.Metadata()
			if err != nil {
				return err
			}
			return errors.Join(equal(d.NumDelivered, 2), m.DoubleAck(g.ctx))
		})
	})
	g.op("nak with delay", func() error {
		if err := g.put("x"); err != nil {
			return err
		}
		var failed time.Time
		if err := g.take(func(m jetstream.Msg) error { failed = time.Now(); return m.NakWithDelay(700 * time.Millisecond) }); err != nil {
			return err
		}
		return g.take(func(m jetstream.Msg) error {
			if d := time.Since(failed); d < 690*time.Millisecond {
				return fmt.Errorf("it came after %s", d)
			}
			return m.DoubleAck(g.ctx)
		})
	})
	g.op("in progress", func() error { return g.inProgress() })
	g.op("term", func() error {
		if err := g.put("x"); err != nil {
			return err
		}
		return errors.Join(g.take(jetstream.Msg.Term), g.holds(0))
	})
	g.op("term with reason", func() error {
		if err := g.put("x"); err != nil {
			return err
		}
		err := g.take(func(m jetstream.Msg) error { return m.TermWithReason("no use") })
		return errors.Join(err, g.holds(0), g.letters(2))
	})
}

// inProgress holds a message for longer than its ack wait.
func (g *gopher) inProgress() error {
	const wait = 2 * time.Second
	c, err := g.stream.CreateOrUpdateConsumer(g.ctx, jetstream.ConsumerConfig{Durable: "short", AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait})
	if err != nil {
		return err
	}
	if err := g.put("x"); err != nil {
		return err
	}
	m, err := c.Next(jetstream.FetchMaxWait(patience))
	if err != nil {
		return err
	}
	tick := time.NewTicker(wait / 8)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < wait+wait/2; <-tick.C {
		if err := m.InProgress(); err != nil {
			return err
		}
	}
	i, err := c.Info(g.ctx)
	if err != nil {
		return err
	}
	return errors.Join(equal(i.NumAckPending, 1), equal(i.NumRedelivered, 0), m.DoubleAck(g.ctx), g.holds(0), g.stream.DeleteConsumer(g.ctx, "short"))
}

// letters waits until there are so many dead letters.
func (g *gopher) letters(n uint64) error {
	return eventually("dead letters", func() error {
		s, err := g.js.Stream(g.ctx, "orders-dlq")
		if err != nil {
			return err
		}
		return equal(s.CachedInfo().State.Msgs, n)
	})
}

// life is the whole life of a message: it fails, is tried again, dies, is looked at
// as a dead letter, replayed, and done.
func (g *gopher) life() {
	g.op("life", func() error {
		dead, err := g.js.Stream(g.ctx, "orders-dlq")
		if err != nil {
			return err
		}
		if err := errors.Join(dead.Purge(g.ctx), g.put("life")); err != nil {
			return err
		}
		for attempt := range 3 {
			if err := g.take(func(m jetstream.Msg) error {
				d, err := m.Metadata()
				if err != nil {
					return err
				}
				return errors.Join(equal(d.NumDelivered, uint64(attempt+1)), m.Nak())
			}); err != nil {
				return err
			}
		}
		if err := errors.Join(g.holds(0), g.letters(1)); err != nil {
			return err
		}
		letter, err := g.js.Stream(g.ctx, "orders-dlq")
		if err != nil {
			return err
		}
		m, err := letter.GetMsg(g.ctx, letter.CachedInfo().State.FirstSeq)
		if err == nil {
			err = equal(string(m.Data), "life")
		}
		if err := errors.Join(err, replay(g.nc, "orders"), g.letters(0)); err != nil {
			return err
		}
		return errors.Join(g.take(func(m jetstream.Msg) error {
			d, err := m.Metadata()
			if err != nil {
				return err
			}
			return errors.Join(equal(d.NumDelivered, 1), equal(string(m.Data()), "life"), m.DoubleAck(g.ctx))
		}), g.holds(0))
	})
}

// replay asks Dsend to bring the one dead letter of a queue back.
func replay(nc *nats.Conn, queue string) error {
	m, err := nc.Request("dsend.api.dlq.replay", []byte(`{"queue":"`+queue+`"}`), patience)
	if err == nil && m.Header.Get(errorCode) != "" {
		err = errors.New(string(m.Data))
	}
	return err
}

const errorCode = "Nats-Service-Error-Code"

// restart: the server is killed while messages are published and consumed. Both go on
// by themselves, and each message is worked.
func (g *gopher) restart(s *server) {
	g.op("server killed", func() error {
		const n = 300
		// What was on its way when the server died comes again after the ack wait.
		short := jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 3 * time.Second, MaxDeliver: -1}
		if _, err := g.stream.UpdateConsumer(g.ctx, short); err != nil {
			return err
		}
		acked := make(chan string, 10*n)
		c, err := g.consumer.Consume(func(m jetstream.Msg) {
			if m.DoubleAck(g.ctx) == nil {
				acked <- string(m.Data())
			}
		}, jetstream.PullMaxMessages(20), jetstream.PullExpiry(5*time.Second), jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { g.Log("consume: ", err) }))
		if err != nil {
			return err
		}
		defer c.Stop()
		published := make(chan error, 1)
		go func() { published <- g.publishAll(n) }()
		done := map[string]bool{}
		for killed := false; len(done) < n; {
			select {
			case body := <-acked:
				done[body] = true
			case <-time.After(patience):
				i, err := g.consumer.Info(g.ctx)
				return fmt.Errorf("%d of %d messages are done: %+v, %w", len(done), n, i, err)
			}
			if !killed && len(done) > n/3 {
				s.restart()
				killed = true
			}
		}
		return errors.Join(<-published, g.holds(0))
	})
}

// publishAll publishes messages one by one, each until it is taken.
func (g *gopher) publishAll(n int) error {
	for i := range n {
		id := fmt.Sprint("message ", i)
		if err := eventually("publish", func() error {
			_, err := g.js.Publish(g.ctx, "orders.new", []byte(id), jetstream.WithMsgID(id))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (g *gopher) removes() {
	g.op("consumer delete", func() error {
		if err := g.stream.DeleteConsumer(g.ctx, "w"); err != nil {
			return err
		}
		if _, err := g.stream.Consumer(g.ctx, "w"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	g.op("stream delete", func() error {
		if err := g.js.DeleteStream(g.ctx, "orders"); err != nil {
			return err
		}
		if _, err := g.js.Stream(g.ctx, "orders"); !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
}

// equal is nil if two values are the same.
func equal[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}
