package leaf

import (
	"context"
	"crypto/rand"
	"errors"
	mrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is a leafnode connection that stays: it reconnects by itself and keeps its subscriptions. Its methods may be
// called from any goroutine, except where Handler says otherwise.
type Conn struct {
	o       Options
	targets []target // at least one
	id      string
	limits  atomic.Pointer[limits]
	server  atomic.Pointer[Server]
	current atomic.Pointer[session] // the connected one, from just before Connected until just before Disconnected
	closing atomic.Bool

	mu   sync.Mutex
	subs map[string]struct{}
	stop context.CancelFunc // ends the reading goroutine; nil while none runs
	done chan struct{}      // closed when it has ended

	up    bool       // the session became whole; owned by the reading goroutine
	first chan error // how the first attempt went
}

// Server is what the server told of itself. Account is the one we are in there.
type Server struct{ ID, Name, Version, Account string }

// New checks the options. Nothing runs yet: Subscribe, then Start.
func New(o Options) (*Conn, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	targets, err := o.targets()
	if err != nil {
		return nil, err
	}
	return &Conn{o: o, targets: targets, id: rand.Text(), subs: map[string]struct{}{}}, nil
}

// Start makes the first connection and returns when the server has all subscriptions (Connected was called by then),
// or with the error of one attempt at each address: nothing runs then and Start may be called again. After a success
// the Conn reconnects by itself until Close. ctx bounds only the call.
func (c *Conn) Start(ctx context.Context) error {
	run, stop := context.WithCancel(context.Background())
	first, done, err := c.begin(stop)
	if err != nil {
		stop()
		return err
	}
	go c.run(run, done)
	select {
	case err = <-first:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		stop()
		<-done
		c.end()
	}
	return err
}

func (c *Conn) begin(stop context.CancelFunc) (<-chan error, chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing.Load():
		return nil, nil, ErrClosed
	case c.stop != nil:
		return nil, nil, errors.New("leaf: started twice")
	}
	c.stop, c.done, c.first = stop, make(chan struct{}), make(chan error, 1)
	return c.first, c.done, nil
}

func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = nil
}

// run is the reading goroutine: one session after the other, with growing waits between the rounds that fail.
func (c *Conn) run(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	wait, next := c.o.ReconnectMin, 0
	for ever := false; ; {
		err := c.round(ctx, &next)
		if ever = ever || c.up; !ever {
			c.first <- err
			return
		}
		if c.up {
			wait = c.o.ReconnectMin
		}
		if !c.pause(ctx, wait, err) {
			return
		}
		wait = min(2*wait, c.o.ReconnectMax)
	}
}

// round tries every address once, from the one at next on, until a session was whole. It returns why that one ended,
// or why none was: what a server said counts for more than that another one is away.
func (c *Conn) round(ctx context.Context, next *int) (why error) {
	c.up = false
	for range c.targets {
		s := newSession(c, &c.targets[*next%len(c.targets)])
		*next++
		err := s.serve(ctx)
		if c.up || ctx.Err() != nil {
			return err
		}
		if why == nil || errors.Is(why, ErrUnreachable) {
			why = s.to.blame(err)
		}
	}
	return why
}

// pause waits between half of d and d, so that many leafs do not come back at once. It returns false after Close.
func (c *Conn) pause(ctx context.Context, d time.Duration, why error) bool {
	if ctx.Err() != nil {
		return false
	}
	d = d/2 + mrand.N(d/2+1)
	c.o.Logger.Warn("leaf: no connection, will try again", "error", why, "in", d)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// whole is called by a session when the server has our subscriptions.
func (c *Conn) whole() {
	c.up = true
	select {
	case c.first <- nil:
	default: // Start has returned long ago
	}
}

// attach makes s the current session and sends it all subscriptions, none twice and none missed, whatever Subscribe does meanwhile.
func (c *Conn) attach(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adopt(s.info)
	c.current.Store(s)
	for subject := range c.subs {
		s.out.line("LS+ ", subject)
	}
	s.out.ping(s.subscribed)
}

func (c *Conn) adopt(i serverInfo) {
	c.limits.Store(&limits{maxPayload: i.MaxPayload, publish: i.publish})
	c.server.Store(&Server{ID: i.ID, Name: i.Name, Version: i.Version, Account: i.Account})
}

func (c *Conn) detach(s *session) { c.current.CompareAndSwap(s, nil) }

// Subscribe asks for all messages on subject (wildcards allowed), now if connected and after every reconnect. Twice
// is once. Flush tells when the server has it. The server refuses what the user may not subscribe to by closing the
// connection (Handler.Disconnected with a ServerError), again and again.
func (c *Conn) Subscribe(subject string) error {
	if !validPattern(subject) {
		return ErrSubject
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.subs[subject]; ok {
		return nil
	}
	c.subs[subject] = struct{}{}
	if s := c.current.Load(); s != nil {
		s.out.line("LS+ ", subject)
	}
	return nil
}

// Unsubscribe ends a subscription. Messages may still come until a Flush after it.
func (c *Conn) Unsubscribe(subject string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.subs[subject]; !ok {
		return
	}
	delete(c.subs, subject)
	if s := c.current.Load(); s != nil {
		s.out.line("LS- ", subject)
	}
}

// NewBatch makes a Batch that knows this connection's limits. It may be used for the whole life of the Conn.
func (c *Conn) NewBatch() *Batch { return &Batch{conn: c} }

// Send hands a batch to the writer and empties it. It does not wait for the network while fewer than
// Options.MaxPending bytes wait there; beyond, it waits up to Options.SendWait. After an error the batch is as it
// was and nothing of it is sent: ErrDisconnected, ErrOverflow, ErrClosed. Without an error it is on its way, and may
// still be lost with the connection (Handler.Disconnected): nothing that was promised may depend on it.
func (c *Conn) Send(b *Batch) error {
	if len(b.buf) == 0 {
		return nil
	}
	if c.closing.Load() {
		return ErrClosed
	}
	s := c.current.Load()
	if s == nil {
		return ErrDisconnected
	}
	if err := s.out.put(b.buf, c.o.SendWait); err != nil {
		return err
	}
	b.Reset()
	return nil
}

// Flush returns when the server has dealt with all that was sent, subscribed and unsubscribed before, and the
// handler with all that the server sent before that; or with ErrDisconnected, or ctx's error.
func (c *Conn) Flush(ctx context.Context) error {
	s := c.current.Load()
	if s == nil {
		return ErrDisconnected
	}
	select {
	case <-s.flushed():
		return nil
	case <-s.dead:
		return ErrDisconnected
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close waits until the server has what was sent (up to Options.WriteTimeout), disconnects and ends all goroutines.
// The handler is called until then, not after. The error tells that the server may not have everything.
func (c *Conn) Close() error {
	again := c.closing.Swap(true)
	c.mu.Lock()
	stop, done := c.stop, c.done
	c.mu.Unlock()
	if stop == nil {
		return nil
	}
	var err error
	if !again && c.current.Load() != nil {
		ctx, cancel := context.WithTimeout(context.Background(), c.o.WriteTimeout)
		defer cancel()
		err = c.Flush(ctx)
	}
	stop()
	<-done
	return err
}

// MaxPayload is the most that header and payload of one message may have together; 0 before the first connection.
func (c *Conn) MaxPayload() int {
	if l := c.limits.Load(); l != nil {
		return l.maxPayload
	}
	return 0
}

// Server is what the server last told of itself.
func (c *Conn) Server() Server {
	if s := c.server.Load(); s != nil {
		return *s
	}
	return Server{}
}
