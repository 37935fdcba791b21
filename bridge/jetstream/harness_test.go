package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"dsend/bridge"
	api "dsend/bridge/jetstream"
	"dsend/durable"
	"dsend/durable/queue"
	"dsend/durable/wal"
	"dsend/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is Dsend as cmd/dsend builds it, in this process: a server, the bridge,
// the API, a store on disk.
type node struct {
	dir    string
	listen string // empty before the first start
	server *bridge.Server
	bridge *bridge.Bridge
	store  *durable.Store
	api    *api.API
	gated  bool // requests without a domain come through the gateway
	gate   *nats.Conn
}

// defaults have short times, and a backoff without jitter.
func defaults() queue.Settings {
	s := queue.Defaults()
	s.MaxAttempts = 3
	s.Backoff = retry.Policy{List: []time.Duration{time.Millisecond}}
	return s
}

// start runs a Dsend until the test ends.
func start(t *testing.T) *node { return startAs(t, false) }

// startAs says how requests without a domain come.
func startAs(t *testing.T, gated bool) *node {
	t.Helper()
	n := &node{dir: t.TempDir(), listen: "127.0.0.1:0", gated: gated}
	n.run(t)
	t.Cleanup(func() { n.stop(t) })
	return n
}

func (n *node) run(t *testing.T) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	n.server, err = bridge.StartServer(bridge.ServerConfig{Listen: n.listen, Logger: log})
	must(err)
	n.listen = n.server.URL()[len("nats://"):]
	n.bridge, err = bridge.New(bridge.Config{
		Prefix: "dsend", Leaf: n.server.Leaf(), Logger: log,
		API:  func(subject, reply string, header, body []byte) { n.api.Request(subject, reply, header, body) },
		Bare: !n.gated,
	})
	must(err)
	disk, err := wal.Open(n.dir, wal.Options{Logger: log})
	must(err)
	n.store, err = durable.Open(disk, durable.Config{
		Queue:       queue.Config{AutoCreate: true, Defaults: defaults(), Grace: time.Second},
		Speaker:     n.bridge,
		AckInterval: time.Millisecond,
		Cache:       8 << 20,
	})
	must(err)
	n.api = api.Start(n.store, api.Config{
		Prefix: "dsend", Domain: bridge.Domain, Respond: n.bridge.Respond, Header: bridge.ShownHeader, Defaults: defaults(),
		Reserved: []string{"_INBOX.>", "$SYS.>", "$JS.>", "dsend.>"}, Log: log,
	})
	must(n.bridge.Start(t.Context(), n.store))
	if n.gated {
		n.gate, err = n.server.Connect()
		must(err)
		must(api.Gateway(n.gate, bridge.Domain, log))
	}
}

func (n *node) stop(t *testing.T) {
	t.Helper()
	if n.gate != nil {
		n.gate.Close()
	}
	n.api.Stop()
	if err := errors.Join(n.store.Close(), n.bridge.Close()); err != nil {
		t.Error(err)
	}
	n.server.Close()
}

// connect gives a client; it is closed when the test ends.
func (n *node) connect(t *testing.T, options ...nats.Option) *nats.Conn {
	t.Helper()
	options = append(options, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectJitter(0, 0))
	nc, err := nats.Connect(n.server.URL(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// patient bounds what a test waits for on a slow machine.
const patient = 30 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	t.Cleanup(cancel)
	return ctx
}

// newClient gives a client of the new API, without a domain.
func newClient(t *testing.T, n *node) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(n.connect(t))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// eventually waits until something holds, looking again and again.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patient); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in %s: %s", patient, what)
		}
	}
}

// ask sends a request to the API and reads the answer.
func ask[T any](t *testing.T, nc *nats.Conn, subject string, body any) T {
	t.Helper()
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		data = []byte(b)
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	m, err := nc.Request("$JS.API."+subject, data, patient)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	var got T
	if err := json.Unmarshal(m.Data, &got); err != nil {
		t.Fatalf("%s: %v in %s", subject, err, m.Data)
	}
	return got
}
