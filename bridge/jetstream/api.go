package jetstream

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/dlq"
	"dsend/durable/queue"
)

// Config is what an API is told once.
type Config struct {
	// Prefix is that of Dsend's own subjects.
	Prefix string
	// Domain is the JetStream domain that the API is at: $JS.<Domain>.API.
	Domain string
	// Respond sends an answer: header is a raw block or nil. What it cannot
	// send is an error.
	Respond func(to string, header, body []byte) error
	// Header gives the header block of a message as it is shown.
	Header func(m *queue.Message, l *dlq.Letter) []byte
	// Defaults are the settings of a queue that leaves something open; see
	// Configure.
	Defaults queue.Settings
	// Reserved are subjects that no queue may capture.
	Reserved []string
	Log      *slog.Logger
}

const (
	workers  = 4
	backlog  = 1024 // requests that may wait
	patience = 4 * time.Second
)

// API answers the JetStream API of a store.
type API struct {
	cfg      Config
	store    Store
	defaults atomic.Pointer[queue.Settings]

	requests chan request
	stop     context.CancelFunc // of all requests
	running  sync.WaitGroup     // the workers
	mu       sync.RWMutex       // guards closed, and requests beside its close
	closed   bool

	total, errors atomic.Uint64 // requests, since the start
}

// request is one request to the API.
type request struct {
	subject string // behind the prefix
	reply   string
	header  []byte
	body    []byte
	until   time.Time // its client does not wait for longer
}

// Start serves a store, until Stop.
func Start(store Store, cfg Config) *API {
	ctx, cancel := context.WithCancel(context.Background())
	a := &API{cfg: cfg, store: store, requests: make(chan request, backlog), stop: cancel}
	a.Configure(cfg.Defaults)
	for range workers {
		a.running.Go(func() { a.work(ctx) })
	}
	return a
}

// Configure changes the defaults, for streams that are made from now on.
func (a *API) Configure(defaults queue.Settings) { a.defaults.Store(&defaults) }

// Request takes a request, whose bytes the caller leaves to it. It never
// blocks: what there is no room for is answered with an error.
func (a *API) Request(subject, reply string, header, body []byte) {
	r := request{subject, reply, header, body, time.Now().Add(patience)}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.closed {
		a.respond(r, answer{kind: noKind, err: wireError(context.Canceled)})
		return
	}
	select {
	case a.requests <- r:
	default:
		a.respond(r, answer{kind: noKind, err: server.NewJSStreamTooManyRequestsError()})
	}
}

// Stop takes no more requests, cuts short those that run, and returns when they
// are answered.
func (a *API) Stop() {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.requests)
	}
	a.mu.Unlock()
	a.stop()
	a.running.Wait()
}

func (a *API) work(ctx context.Context) {
	for r := range a.requests {
		a.serve(ctx, r)
	}
}

// serve answers one request: always, and once. One that has waited for too long
// is not begun: its client asks again, and the others wait behind it.
func (a *API) serve(ctx context.Context, r request) {
	ctx, cancel := context.WithDeadline(ctx, r.until)
	defer cancel()
	if err := ctx.Err(); err != nil {
		a.respond(r, answer{kind: noKind, err: wireError(err)})
		return
	}
	e, names := find(r.subject)
	c := &call{API: a, ctx: ctx, request: r, names: names}
	body, err := e.handle(c)
	switch {
	case err != nil:
		a.respond(r, answer{kind: e.kind, err: wireError(err)})
	case body != nil:
		a.respond(r, answer{kind: e.kind, body: body})
	}
}

// noKind is the type of the response to a request that was not looked at.
const noKind = "io.nats.jetstream.api.v1.error"

// answer is what is said to a request: body, or err.
type answer struct {
	kind string // of the response
	body any
	err  *server.ApiError
}

func (a *API) respond(r request, with answer) {
	a.total.Add(1)
	if with.err != nil {
		a.errors.Add(1)
		e := *with.err
		e.Description = brief(e.Description)
		with.body = server.ApiResponse{Type: with.kind, Error: &e}
	}
	body, err := json.Marshal(with.body)
	if err != nil { // plain data only
		panic("jetstream: " + err.Error())
	}
	if a.send(r.reply, nil, body) != nil && with.err == nil { // it is too large
		a.respond(r, answer{kind: with.kind, err: server.NewJSInsufficientResourcesError()})
	}
}

// send says something to a client, if it wants to hear it.
func (a *API) send(to string, header, body []byte) error {
	if to == "" {
		return nil
	}
	err := a.cfg.Respond(to, header, body)
	if err != nil {
		a.cfg.Log.Debug("JetStream answer not sent", "to", to, "error", err)
	}
	return err
}
