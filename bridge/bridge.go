package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"dsend/bridge/leaf"
	"dsend/durable"
	"dsend/durable/queue"
)

// Store is what the bridge needs of a durable.Store.
type Store interface {
	Submit(ops []queue.Op, bytes int64) error
	Infos(ctx context.Context) ([]queue.Info, error)
	Holders(ctx context.Context) ([]string, error)
	Key() [16]byte
}

// Config is what a Bridge needs.
type Config struct {
	Prefix string       // of Dsend's own subjects, e.g. "dsend"
	Leaf   leaf.Options // how to reach the server; Handler is set by the bridge
	Logger *slog.Logger
	// Reconnected, if set, is called when a connection was made again.
	Reconnected func()
	// API, if set, answers what is asked of the JetStream API but requests for
	// messages. It is called by the reading goroutine and must not block; the
	// subject is without the API's prefix, the bytes are its own.
	API func(subject, reply string, header, body []byte)
	// Bare also serves the API where clients ask that set no domain. The leaf
	// must be allowed to hear that, and nobody else may answer.
	Bare bool
}

// Bridge is the wire between a NATS server and a store. It is the store's
// Speaker.
type Bridge struct {
	prefix string
	log    *slog.Logger
	conn   *leaf.Conn
	store  Store
	tokens tokens

	ready     atomic.Bool // the store is there
	routes    *routes
	audience  audience
	dispatch  dispatch
	connected bool // there was a connection; of the reading goroutine
	again     func()
	api       func(subject, reply string, header, body []byte)
	bare      bool

	// Of the reading goroutine:
	complaints *leaf.Batch // what is refused at once
	dropped    int         // publishes whose producers cannot be told
	complained time.Time
}

var _ durable.Speaker = (*Bridge)(nil)

// New makes a bridge. Nothing runs before Start.
func New(cfg Config) (*Bridge, error) {
	b := &Bridge{prefix: cfg.Prefix, log: cfg.Logger, again: cfg.Reconnected, api: cfg.API, bare: cfg.Bare, routes: newRoutes(cfg.Prefix)}
	b.audience.init(b)
	cfg.Leaf.Handler = b
	cfg.Leaf.Logger = cfg.Logger
	conn, err := leaf.New(cfg.Leaf)
	if err != nil {
		return nil, err
	}
	b.conn = conn
	b.complaints = conn.NewBatch()
	b.dispatch = dispatch{batch: conn.NewBatch(), prefix: cfg.Prefix}
	return b, nil
}

// Start connects and begins to serve a store. Before it, what the store says
// is lost on the wire, as if nobody listened.
func (b *Bridge) Start(ctx context.Context, store Store) error {
	b.store = store
	b.tokens = newTokens(store.Key())
	b.dispatch.tokens = b.tokens
	infos, err := store.Infos(ctx)
	if err != nil {
		return err
	}
	holders, err := store.Holders(ctx)
	if err != nil {
		return err
	}
	b.ready.Store(true)
	subjects := []string{b.prefix + ".publish.>", b.prefix + ".pull.>", ackPrefix + ">"}
	if b.api != nil {
		subjects = append(subjects, apiPrefix+">")
	}
	if b.api != nil && b.bare {
		subjects = append(subjects, barePrefix+">")
	}
	for _, subject := range subjects {
		if err := b.conn.Subscribe(subject); err != nil {
			return fmt.Errorf("subscribe %s: %w", subject, err)
		}
	}
	b.Changed(infos)
	if err := b.connect(ctx); err != nil {
		return err
	}
	b.audience.expect(holders)
	return nil
}

// retryAfter is the longest wait between attempts to reach a server that is not
// there yet.
const retryAfter = 2 * time.Second

// connect waits for a server that is not there yet: after a power cut all
// machines start at once. What the server says against us is an error.
func (b *Bridge) connect(ctx context.Context) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, retryAfter) {
		err := b.conn.Start(ctx)
		switch {
		case err != nil && ctx.Err() != nil: // what was under way failed because we stop
			return ctx.Err()
		case !errors.Is(err, leaf.ErrUnreachable):
			return err
		}
		b.log.Warn("waiting for the server", "reason", err, "again_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close sends what was said and disconnects. Close the store first.
func (b *Bridge) Close() error { return b.conn.Close() }

// MaxPayload is the most that a message may have, header and body together; 0
// before the first connection.
func (b *Bridge) MaxPayload() int { return b.conn.MaxPayload() }

// Connected is called when the server has told who listens.
func (b *Bridge) Connected() {
	b.audience.settle()
	if b.connected {
		b.log.Info("connected to the server again")
		if b.again != nil {
			b.again()
		}
	}
	b.connected = true
}

// Disconnected is called when the connection broke: who listens is not known
// until the next one tells.
func (b *Bridge) Disconnected(err error) {
	b.log.Debug("leaf connection ended", "reason", err)
	b.audience.vanish()
}

// Interest is called when subscriptions come and go.
func (b *Bridge) Interest(events []leaf.Interest) { b.audience.apply(events) }

// Changed is called when queues or their settings changed.
func (b *Bridge) Changed(infos []queue.Info) {
	if !b.ready.Load() {
		return // Start looks at all of them
	}
	for _, info := range infos {
		added, removed := b.routes.set(info)
		for _, subject := range removed {
			b.conn.Unsubscribe(subject)
		}
		for _, subject := range added {
			if err := b.conn.Subscribe(subject); err != nil {
				b.log.Error("cannot capture a subject", "queue", info.Name, "subject", subject, "error", err)
			}
		}
		b.audience.queueChanged(info)
	}
}

// submit hands ops over that nobody may refuse.
func (b *Bridge) submit(ops []queue.Op) {
	if len(ops) == 0 || !b.ready.Load() {
		return
	}
	if err := b.store.Submit(ops, 0); err != nil {
		b.log.Debug("the store takes nothing any more", "error", err)
	}
}

// Respond sends a message to whoever listens, in the order of the calls. It is
// safe for concurrent use.
func (b *Bridge) Respond(to string, header, body []byte) error {
	batch := b.conn.NewBatch()
	if err := batch.Publish([]byte(to), nil, header, body); err != nil {
		return err
	}
	return b.conn.Send(batch)
}

// send hands a batch to the connection; what cannot be sent is lost on the
// wire, and the store's timeouts bring it back.
func (b *Bridge) send(batch *leaf.Batch) {
	if batch.Count() == 0 {
		return
	}
	if err := b.conn.Send(batch); err != nil {
		b.log.Debug("not sent", "messages", batch.Count(), "error", err)
		batch.Reset()
	}
}
