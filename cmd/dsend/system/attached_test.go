package system

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dsend/testkit"
)

// attach starts a dsend that joins servers, and waits until it is known to them.
func attach(t testing.TB, s setup) (*server, *client) {
	t.Helper()
	v := start(t, s)
	c := v.connect(t)
	c.reach(t)
	return v, c
}

// reach waits until somebody answers to all that dsend listens to. A server learns of
// it subject by subject, so that one alone says nothing of the others.
func (c *client) reach(t testing.TB) {
	t.Helper()
	eventually(t, "the API answers", func() error { _, err := c.queues(); return err })
	for _, m := range []*nats.Msg{
		{Subject: "dsend.publish.nobody", Header: nats.Header{"Dsend-Delay": {"nonsense"}}},
		{Subject: "dsend.pull.nobody", Data: []byte("nonsense")},
		{Subject: "$JS.ACK.dsend.nonsense"},
	} {
		eventually(t, m.Subject+" is answered", func() error {
			_, err := c.request(m)
			return err
		})
	}
}

// Attached to a stock server that has JetStream: everything is as with the server
// inside, and that JetStream is as it was.
func TestAttached(t *testing.T) {
	t.Parallel()
	h := startHub(t, hubConfig)
	s, c := attach(t, setup{hubs: []*hub{h}, config: settings("orders", "subjects: [shop.>]", "backoff: [10ms]", "max_attempts: 2")})
	if lines := s.out.with("attached to", h.leaf); len(lines) != 1 {
		t.Errorf("it says\n%s", s.out.last(20))
	}

	// Published, captured, failed, retried, dead, replayed, done.
	c.put(t, plain("orders", "one"))
	c.put(t, out{queue: "orders", subject: "shop.new", body: []byte("two")})
	for _, d := range c.take(t, "orders", 2) {
		d.must(t, nak, "ok")
	}
	for _, d := range c.take(t, "orders", 2) {
		if d.attempt != 2 || string(d.Data) == "two" && d.Subject != "shop.new" {
			t.Errorf("%v on %s", d, d.Subject)
		}
		d.must(t, term+" enough", "ok")
	}
	c.rest(t, "orders", counts{Dead: 2})
	var page struct{ Replayed []struct{} }
	if err := c.api("dlq.replay", args{"queue": "orders"}, &page); err != nil || len(page.Replayed) != 2 {
		t.Fatalf("replayed %d: %v", len(page.Replayed), err)
	}

	// A worker that is pushed to, the command line, the micro service.
	done := make(chan string, 2)
	c.work(t, "orders", "workers", func(d *delivery) { done <- string(d.Data); _ = d.say(ack) })
	if got := map[string]bool{next(t, "a delivery", done): true, next(t, "another", done): true}; !got["one"] || !got["two"] {
		t.Errorf("the worker got %v", got)
	}
	c.rest(t, "orders", counts{})
	if m, err := c.requestTo("$SRV.PING.dsend", nil); err != nil || !strings.Contains(string(m.Data), `"name":"dsend"`) {
		t.Errorf("nats service ping: %v", err)
	}
	ls := launch(t, nil, "queue", "ls", "--server", s.url())
	if code := ls.wait(t); code != 0 || len(ls.out.with("orders")) == 0 {
		t.Errorf("dsend queue ls: exit code %d\n%s\n%s", code, ls.out.last(9), ls.err.last(9))
	}

	// The server's own JetStream is none of our business.
	js, err := jetstream.New(c.nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "THEIRS", Subjects: []string{"theirs"}}); err != nil {
		t.Fatal(err)
	}
	if ack, err := js.Publish(t.Context(), "theirs", nil); err != nil || ack.Domain != "hub" {
		t.Errorf("their JetStream: %+v, %v", ack, err)
	}
	if ack, err := js.Publish(t.Context(), "shop.again", nil); err != nil || ack.Domain != "dsend" || ack.Stream != "orders" {
		t.Errorf("a JetStream publish to a queue: %+v, %v", ack, err)
	}
	m, err := c.requestTo("$JS.API.INFO", nil)
	var info struct{ Domain string }
	if err != nil || json.Unmarshal(m.Data, &info) != nil || info.Domain != "hub" {
		t.Errorf("$JS.API.INFO: %v", err)
	}
}

// Where the account has no JetStream and its default domain is ours, JetStream
// clients need not know of a domain.
func TestAttachedDefaultDomain(t *testing.T) {
	t.Parallel()
	h := startHub(t, `
server_name: %[1]s
listen: "%[2]s"
default_js_domain: {"$G": dsend} # %[3]s
leafnodes: {listen: "%[4]s", authorization: {user: dsend, password: "s3cret"}}
`)
	_, c := attach(t, setup{hubs: []*hub{h}})
	js, err := jetstream.New(c.nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "orders", Subjects: []string{"shop.>"}})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "shop.new", []byte("x")); err != nil {
		t.Fatal(err)
	}
	m, err := worker.Next(jetstream.FetchMaxWait(patience))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.DoubleAck(t.Context()); err != nil {
		t.Error(err)
	}
	c.rest(t, "orders", counts{})
}

// kill -9 of dsend while workers hold messages: who is still connected keeps them.
func TestAttachedRestart(t *testing.T) {
	t.Parallel()
	h := startHub(t, hubConfig)
	s, c := attach(t, setup{hubs: []*hub{h}})
	l := newLedger(dice(t), 30*time.Second)
	l.put(t, c, "orders", 100)
	held := c.take(t, "orders", 10)
	for _, d := range held {
		l.saw(d)
	}
	gone := h.connect(t)
	lost := gone.take(t, "orders", 5)
	for _, d := range lost {
		l.saw(d)
	}
	s.kill()
	gone.nc.Close()
	s.start()
	c.reach(t)
	mustAll(t, held, inProgress, "ok")
	c.rest(t, "orders", counts{Ready: 90, InFlight: 10}) // those of the worker that has gone came back
	for _, d := range held {
		if d.attempt != 1 {
			t.Errorf("%v", d)
		}
		l.done(t, d)
	}
	l.drain(t, c)
}

// done acks a delivery that the ledger has seen.
func (l *ledger) done(t testing.TB, d *delivery) {
	t.Helper()
	if result, err := l.answer(d, ack); err != nil || result != "ok" {
		t.Errorf("%v: %s, %v", d, result, err)
	}
}

// The server is killed under load and comes back, several times: nothing is lost,
// work resumes by itself, and whoever held a message still has it.
func TestAttachedServerComesBack(t *testing.T) {
	t.Parallel()
	h := startHub(t, hubConfig)
	s, c := attach(t, setup{hubs: []*hub{h}, config: "queues:\n- {name: held, visibility_timeout: 5m}\n- {name: orders, visibility_timeout: 2s}\n"})
	l := newLedger(dice(t), 2*time.Second)
	l.visibility["held"] = 5 * time.Minute
	l.put(t, c, "held", 3)
	held := c.take(t, "held", 3)
	for _, d := range held {
		l.saw(d)
	}
	producers, workers := newCrew(t, s, 2), newCrew(t, s, 2)
	for range 3 {
		busy := make(chan struct{}, 1000)
		producers.begin(func(c *client) error { return l.publish(c, l.draw("orders")) })
		workers.begin(func(c *client) error {
			p, err := c.pull("orders", pull{Batch: 5, Expires: time.Second})
			for _, d := range p.msgs {
				l.saw(d)
				if _, failed := l.answer(d, ack); failed != nil {
					return failed
				}
				select {
				case busy <- struct{}{}:
				default:
				}
			}
			return err
		})
		for range 50 {
			next(t, "work that is done", busy)
		}
		h.kill()
		producers.end()
		workers.end()
		c.none503(t)
		h.start()
		c.back(t)
		c.reach(t)
	}
	c.rest(t, "held", counts{InFlight: 3})
	for _, d := range held {
		l.done(t, d)
	}
	l.drain(t, c)
	if n := len(s.err.with("connected to the server again")); n != 3 {
		t.Errorf("it was connected again %d times, not 3", n)
	}
}

// none503 checks that the client knows that its server is away.
func (c *client) none503(t testing.TB) {
	t.Helper()
	eventually(t, "client is cut off", func() error {
		if c.nc.Status() == nats.CONNECTED {
			return fmt.Errorf("it is connected")
		}
		return nil
	})
}

// A cluster of three, with clients on each. The one that dsend is attached to is
// killed: dsend goes on by another one, and so do the clients.
func TestAttachedCluster(t *testing.T) {
	t.Parallel()
	hubs := startCluster(t)
	s, _ := attach(t, setup{hubs: hubs})
	l := newLedger(dice(t), 30*time.Second)
	var clients []*client
	for _, h := range hubs {
		c := h.connect(t)
		c.reach(t)
		l.put(t, c, "orders", 30)
		clients = append(clients, c)
	}
	for i, c := range clients { // each works what the others have published
		for _, d := range c.take(t, "orders", 10+i) {
			l.saw(d)
			l.done(t, d)
		}
	}
	held := clients[2].take(t, "orders", 5)
	for _, d := range held {
		l.saw(d)
	}
	hubs[0].kill() // the first address is the one it uses
	eventually(t, "dsend goes on by another server", func() error {
		if len(s.err.with("connected to the server again")) == 0 {
			return fmt.Errorf("it says\n%s", s.err.last(10))
		}
		return nil
	})
	for _, c := range clients[1:] {
		c.reach(t)
		l.put(t, c, "orders", 30)
	}
	for _, d := range held {
		l.done(t, d)
	}
	l.drain(t, clients[1])
}

// Without a server to join it waits, and says so; it can be stopped meanwhile. It
// serves as soon as there is one.
func TestAttachedWaitsForTheServer(t *testing.T) {
	t.Parallel()
	h := newHub(t, "hub", hubConfig, "dsend:s3cret@")
	v := newServer(t, setup{hubs: []*hub{h}})
	for time := range 2 {
		v.process = launch(t, v.env, v.flags()...)
		eventually(t, "it waits", func() error {
			if len(v.err.with("waiting for the server", h.leaf)) < 2 {
				return fmt.Errorf("it says\n%s", v.err.last(10))
			}
			return nil
		})
		if code, text := get(t, v, "/readyz"); code != 503 || !strings.HasPrefix(text, "starting") {
			t.Errorf("/readyz says %d %q", code, text)
		}
		if time == 0 {
			v.signal(syscall.SIGTERM)
			if code := v.wait(t); code != 0 {
				t.Errorf("exit code %d\n%s", code, v.err.last(10))
			}
		}
	}
	h.start()
	select {
	case <-v.ready:
	case <-time.After(patience):
		t.Fatalf("it does not serve\n%s", v.err.last(10))
	}
	c := h.connect(t)
	c.reach(t)
	c.put(t, plain("orders", "x"))
	v.stop()
}

// What the server says against us ends the start with one line. No password is ever
// shown, at any level.
func TestAttachedRefused(t *testing.T) {
	t.Parallel()
	h := startHub(t, hubConfig)
	dir := t.TempDir()
	for _, row := range []struct {
		url  string
		want []string
	}{
		{"nats://dsend:wr0ng@" + h.leaf, []string{h.leaf, "Authorization Violation"}},
		{"nats://dsend:wr0ng@" + h.client, []string{h.client, "not a leafnode port"}},
		{"tls://dsend:wr0ng@" + h.leaf, []string{"TLS"}},
		{"nats://dsend:wr0ng@" + h.leaf + "/path", []string{"DSEND_SERVER_LEAF", "behind its port"}},
		{"nats://dsend:wr0ng@:99999999", []string{"DSEND_SERVER_LEAF", "is not an address"}},
	} {
		p := launch(t, []string{"DSEND_SERVER_LEAF=" + row.url}, "serve", "--data", dir, "--http", testkit.PickAddr(t), "--log-level", "debug")
		if code := p.wait(t); code == 0 {
			t.Errorf("%s: exit code 0", row.url)
		}
		p.complained(t, row.want...)
		if lines := append(p.err.with("wr0ng"), p.out.with("wr0ng")...); len(lines) > 0 {
			t.Errorf("the password is shown: %q", lines)
		}
	}
	p := launch(t, nil, "serve", "--data", dir, "--http", testkit.PickAddr(t), "--leaf", "nats://dsend:s3cret@"+h.leaf, "--log-level", "debug")
	select {
	case <-p.ready:
	case <-time.After(patience):
		t.Fatalf("it does not serve\n%s", p.err.last(10))
	}
	if len(p.err.with("level=WARN", "DSEND_SERVER_LEAF")) != 1 {
		t.Errorf("a password among the flags, and it says\n%s", p.err.last(20))
	}
	if lines := append(p.err.with("s3cret"), p.out.with("s3cret")...); len(lines) > 0 {
		t.Errorf("the password is shown: %q", lines)
	}
}
