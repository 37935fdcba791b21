package system

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

// What nats.go offers on a message is all that a worker needs: an ordinary queue
// subscription, and the methods of its messages.
func TestNatsGo_AnswersOfAWorker(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 4s", "max_attempts: 2", "backoff: {list: [100ms], jitter: 0}")})
	c := s.connect(t)
	for _, row := range []struct {
		name    string
		answer  func(m *nats.Msg) error
		again   time.Duration // after the answer, or the handing out; 0 is never
		ends    counts
		outcome string
	}{
		{"Ack", func(m *nats.Msg) error { return m.Ack() }, 0, counts{}, ""},
		{"AckSync", func(m *nats.Msg) error { return m.AckSync(nats.AckWait(patience)) }, 0, counts{}, ""},
		{"Respond", func(m *nats.Msg) error { return m.Respond([]byte("whatever")) }, 0, counts{}, ""},
		{"Nak", func(m *nats.Msg) error { return m.Nak() }, 100 * time.Millisecond, counts{}, "nak"},
		{"NakWithDelay", func(m *nats.Msg) error { return m.NakWithDelay(700 * time.Millisecond) }, 700 * time.Millisecond, counts{}, "nak"},
		{"nothing", func(m *nats.Msg) error { return nil }, 4100 * time.Millisecond, counts{}, "timeout"},
		{"Term", func(m *nats.Msg) error { return m.Term() }, 0, counts{Dead: 1}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			heard := c.events(t, "orders")
			published := time.Now()
			c.put(t, plain("orders", row.name))
			msgs := make(chan *nats.Msg, 10)
			sub, err := c.nc.ChanQueueSubscribe("dsend.work.orders", "workers", msgs)
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Unsubscribe()
			m := next(t, "a delivery", msgs)
			m1, err := m.Metadata()
			if err != nil {
				t.Fatal(err)
			}
			if m1.Stream != "orders" || m1.Consumer != "work" || m1.NumDelivered != 1 || m1.Domain != "dsend" || m1.NumPending != 0 || m1.Timestamp.Before(published.Add(-early)) || m1.Timestamp.After(time.Now().Add(early)) {
				t.Errorf("metadata: %+v", m1)
			}
			began := time.Now() // the wait, at the earliest
			if row.outcome == "timeout" {
				began = published
			}
			if err := row.answer(m); err != nil {
				t.Fatal(err)
			}
			if row.again > 0 {
				m := next(t, "a delivery", msgs)
				checkDue(t, "the second delivery", began.Add(row.again), time.Now(), row.again)
				m2, err := m.Metadata()
				if err != nil || m2.NumDelivered != 2 || m2.Sequence.Stream != m1.Sequence.Stream || m2.Sequence.Consumer != m1.Sequence.Consumer+1 || !m2.Timestamp.Equal(m1.Timestamp) {
					t.Errorf("metadata: %+v, then %+v, %v", m1, m2, err)
				}
				if e := heard.next("retried"); e.Outcome != row.outcome || e.Attempt != 1 {
					t.Errorf("%+v", e)
				}
				if err := m.AckSync(nats.AckWait(patience)); err != nil {
					t.Fatal(err)
				}
			}
			c.rest(t, "orders", row.ends)
		})
	}
}

// InProgress keeps a message, for as long as it is said.
func TestNatsGo_InProgress(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 4s")})
	c := s.connect(t)
	c.put(t, plain("orders", "x"))
	var got diary
	busy := make(chan *nats.Msg, 1)
	c.work(t, "orders", "workers", func(d *delivery) {
		if got.add(d); d.attempt == 1 {
			busy <- d.Msg
		}
	})
	m, begin := next(t, "a delivery", busy), time.Now()
	for time.Since(begin) < 10*time.Second { // the work takes its time
		if err := m.InProgress(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	if n := len(got.all()); n != 1 {
		t.Errorf("it was delivered %d times while it was worked on", n)
	}
	if err := m.AckSync(nats.AckWait(patience)); err != nil {
		t.Fatal(err)
	}
	c.rest(t, "orders", counts{})
}

// The publishers of nats.go, of the old API and the new one, one by one and many at
// a time, on Dsend's own subjects and on captured ones.
func TestNatsGo_Publishers(t *testing.T) {
	t.Parallel()
	const many = 500
	s := start(t, setup{config: settings("orders", "subjects: [shop.*.orders]", "max_messages: 2021") + "- name: bills\n"})
	c := s.connect(t)
	old, err := c.nc.JetStream(nats.PublishAsyncMaxPending(100))
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(c.nc)
	if err != nil {
		t.Fatal(err)
	}
	for k, subject := range []string{"dsend.publish.orders", "shop.eu.orders"} {
		a, err := old.Publish(subject, []byte("x"))
		if err != nil || a.Stream != "orders" || a.Sequence != uint64(4*k+1) || a.Domain != "dsend" || a.Duplicate {
			t.Errorf("old Publish: %+v, %v", a, err)
		}
		id := fmt.Sprintf("id-%d", k)
		if a, err = old.Publish(subject, []byte("x"), nats.MsgId(id)); err != nil || a.Duplicate {
			t.Errorf("old Publish with an id: %+v, %v", a, err)
		}
		b, err := js.Publish(t.Context(), subject, []byte("x"))
		if err != nil || b.Stream != "orders" || b.Sequence != a.Sequence+1 || b.Domain != "dsend" {
			t.Errorf("new Publish: %+v, %v", b, err)
		}
		if b, err = js.Publish(t.Context(), subject, []byte("x"), jetstream.WithMsgID(id)); err != nil || !b.Duplicate || b.Sequence != a.Sequence {
			t.Errorf("new Publish with the same id: %+v, %v", b, err)
		}
		if b, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: []byte("ttl")}, jetstream.WithMsgTTL(time.Hour)); err != nil {
			t.Errorf("new Publish with a TTL: %+v, %v", b, err)
		}
		var refused *nats.APIError
		if _, err := old.Publish(subject, nil, nats.ExpectLastSequence(1)); !errors.As(err, &refused) || refused.Code != 400 {
			t.Errorf("old Publish that expects a sequence: %v", err)
		}
		var newRefused *jetstream.APIError
		if _, err := js.Publish(t.Context(), subject, nil, jetstream.WithExpectStream("orders")); !errors.As(err, &newRefused) || !strings.Contains(newRefused.Description, "Nats-Expected-Stream") {
			t.Errorf("new Publish that expects a stream: %v", err)
		}
	}
	c.rest(t, "orders", counts{Ready: 8})

	var futures []nats.PubAckFuture
	var newFutures []jetstream.PubAckFuture
	for k := range many {
		f, err := old.PublishAsync("shop.us.orders", fmt.Append(nil, k), nats.StallWait(time.Minute))
		g, newErr := js.PublishAsync("dsend.publish.orders", fmt.Append(nil, k), jetstream.WithStallWait(time.Minute))
		if err := errors.Join(err, newErr); err != nil {
			t.Fatal(err)
		}
		futures, newFutures = append(futures, f), append(newFutures, g)
	}
	<-old.PublishAsyncComplete()
	<-js.PublishAsyncComplete()
	seqs := map[uint64]bool{}
	for k := range many {
		select {
		case a := <-futures[k].Ok():
			seqs[a.Sequence] = true
		case err := <-futures[k].Err():
			t.Fatal(err)
		}
		select {
		case a := <-newFutures[k].Ok():
			seqs[a.Sequence] = true
		case err := <-newFutures[k].Err():
			t.Fatal(err)
		}
	}
	if len(seqs) != 2*many {
		t.Errorf("%d different sequences", len(seqs))
	}
	c.rest(t, "orders", counts{Ready: 8 + 2*many})

	if _, err := js.Publish(t.Context(), "dsend.publish.no-such", nil); !strings.Contains(fmt.Sprint(err), "no-such") {
		t.Errorf("a publish to a queue that is not there: %v", err)
	}
	if _, err := js.Publish(t.Context(), "not.captured", nil, jetstream.WithRetryAttempts(0)); !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Errorf("a publish to a subject that is not captured: %v", err)
	}
}

// An ordinary micro service becomes durable when a queue pushes to its endpoint:
// what it answers is done, its errors are failures with their text.
func TestNatsGo_MicroServiceBecomesDurable(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("sums", "subjects: [jobs.sum]", "push: {subject: math.sum}", "max_attempts: 3", "backoff: {list: [10ms], jitter: 0}")})
	c, provider := s.connect(t), s.connect(t)
	for _, body := range []string{"good", "bad", "flaky"} { // before the service is there
		c.put(t, out{subject: "jobs.sum", body: []byte(body), header: nats.Header{"Trace": {body}}})
	}
	var mu sync.Mutex
	calls := map[string]int{}
	service, err := micro.AddService(provider.nc, micro.Config{
		Name: "math", Version: "1.0.0",
		Endpoint: &micro.EndpointConfig{Subject: "math.sum", Handler: micro.HandlerFunc(func(r micro.Request) {
			mu.Lock()
			defer mu.Unlock()
			body := string(r.Data())
			calls[body]++
			switch {
			case body != "direct" && r.Headers().Get("Trace") != body:
				t.Errorf("%s has the headers %v", body, r.Headers())
			case body == "bad", body == "flaky" && calls[body] == 1:
				_ = r.Error("422", "cannot add "+body, []byte("details"))
			default:
				_ = r.RespondJSON(map[string]int{"sum": 5})
			}
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Stop()
	c.rest(t, "sums", counts{Dead: 1})
	d := c.dead(t, "sums")
	if string(d.Data) != "bad" || d.Error != "422 cannot add bad" || d.Attempts != 3 || d.OriginSubject != "jobs.sum" {
		t.Errorf("%+v", d)
	}
	mu.Lock()
	if calls["good"] != 1 || calls["bad"] != 3 || calls["flaky"] != 2 {
		t.Errorf("calls: %v", calls)
	}
	mu.Unlock()
	// It still answers its own clients.
	if m, err := c.nc.Request("math.sum", []byte("direct"), patience); err != nil || !strings.Contains(string(m.Data), "sum") {
		t.Errorf("a direct request: %v, %v", m, err)
	}
}

// A plain subscriber beside the workers sees everything and takes nothing; two
// groups share the work; each group has no more than its window.
func TestNatsGo_WatcherGroupsAndWindows(t *testing.T) {
	t.Parallel()
	const all = 60
	s := start(t, setup{config: settings("orders", "push: {max_in_flight_per_worker: 2}")})
	c := s.connect(t)
	var watched atomic.Int64
	if _, err := s.connect(t).nc.Subscribe("dsend.work.orders", func(*nats.Msg) { watched.Add(1) }); err != nil {
		t.Fatal(err)
	}
	var a1, a2, b1 diary
	c.putMany(t, "orders", "m", all)
	c.work(t, "orders", "a", a1.add)
	s.connect(t).work(t, "orders", "a", a2.add)
	s.connect(t).work(t, "orders", "b", b1.add)
	eventually(t, "the windows are full", func() error {
		return equal([2]int{len(a1.all()) + len(a2.all()), len(b1.all())}, [2]int{4, 2})
	})
	c.restWorkers(t, "orders", 3)
	c.rest(t, "orders", counts{Ready: all - 6, InFlight: 6})

	// One at a time is answered, and one at a time comes.
	done := map[uint64]bool{}
	for len(done) < all {
		for _, d := range slices.Concat(a1.all(), a2.all(), b1.all()) {
			if !done[d.seq] {
				if n := c.info(t, "orders").InFlight; n > 6 {
					t.Fatalf("%d messages are in flight", n)
				}
				d.must(t, ack, "ok")
				done[d.seq] = true
			}
		}
	}
	c.rest(t, "orders", counts{})
	if n := len(a1.all()) + len(a2.all()) + len(b1.all()); n != all {
		t.Errorf("%d deliveries of %d messages", n, all)
	}
	if len(b1.all()) == 0 || len(a1.all())+len(a2.all()) == 0 {
		t.Error("a group had nothing to do")
	}
	eventually(t, "the watcher has seen all", func() error { return equal(watched.Load(), int64(all)) })
}

// Without workers, or with a watcher alone, nothing is handed out and no attempt is
// used; a worker that comes gets it at once.
func TestNatsGo_NobodyThere(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 200ms", "max_attempts: 1")})
	c := s.connect(t)
	var seen diary
	if _, err := c.nc.Subscribe("dsend.work.orders", func(m *nats.Msg) { seen.add(&delivery{Msg: m}) }); err != nil {
		t.Fatal(err)
	}
	c.putMany(t, "orders", "m", 5)
	begin := time.Now()
	eventually(t, "five timeouts would be over", func() error { return equal(time.Since(begin) > time.Second, true) })
	c.rest(t, "orders", counts{Ready: 5})
	if n := len(seen.all()); n > 0 {
		t.Errorf("a watcher alone got %d deliveries", n)
	}
	var got diary
	c.work(t, "orders", "w", func(d *delivery) { d.must(t, ack, "ok"); got.add(d) })
	for _, d := range got.wait(t, 5) {
		if d.attempt != 1 {
			t.Errorf("%v", d)
		}
	}
	c.rest(t, "orders", counts{})
}
