package leaf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readSize = 128 << 10 // the read buffer; larger only while a larger message passes
	calm     = 4096      // reads without a large message before the buffer shrinks back
	missed   = 3         // silent ping intervals that end a connection
)

// session is one connection from its dialing to its end. serve runs on the reading goroutine and owns everything
// here but the outbox, the atomics and fail. The writer goroutine is started and joined by serve.
type session struct {
	c    *Conn
	to   *target
	conn net.Conn
	out  *outbox
	info serverInfo

	buf    []byte // buf[r:w] is read and not yet parsed
	r, w   int
	calm   int // reads since the last large message
	parser parser
	msgs   []Msg
	events []Interest
	told   bool // the handler knows of this connection
	said   error

	heard atomic.Bool // something was read since the last tick
	busy  atomic.Bool // the handler is at work, so nothing can be heard

	once  sync.Once
	cause error         // why fail was called first
	dead  chan struct{} // closed by fail, after cause is set
}

func newSession(c *Conn, to *target) *session {
	return &session{c: c, to: to, out: newOutbox(c.o.MaxPending), buf: make([]byte, readSize), dead: make(chan struct{})}
}

// serve dials, shakes hands and reads until the connection ends; it returns why, never nil. When it returns, the
// writer is gone, the connection is closed and the handler knows.
func (s *session) serve(ctx context.Context) error {
	err := s.open(ctx)
	if err == nil {
		err = s.run(ctx)
	} else {
		s.fail(err)
	}
	err = s.reason(ctx, err)
	if s.told {
		s.c.o.Handler.Disconnected(err)
	}
	return err
}

func (s *session) run(ctx context.Context) error {
	s.out.connect(direct(s.conn))
	written := make(chan struct{})
	go func() { defer close(written); s.write() }()
	defer func() { // also if the handler panics: the process must end with it, not hang
		s.fail(ErrClosed)
		<-written
	}()
	stop := context.AfterFunc(ctx, func() { s.fail(ErrClosed) })
	defer stop()
	err := s.read()
	s.c.detach(s)
	s.fail(err)
	return err
}

// reason prefers what we know best: that we were closed, what the server said before it hung up, why we hung up.
func (s *session) reason(ctx context.Context, err error) error {
	<-s.dead
	switch {
	case ctx.Err() != nil:
		return ErrClosed
	case s.said != nil:
		return fmt.Errorf("%w (%w)", s.said, err)
	}
	return s.cause
}

// fail ends the session from any goroutine: the first cause counts; reader and writer then end by themselves.
func (s *session) fail(cause error) {
	s.once.Do(func() {
		s.cause = cause
		close(s.dead)
		s.out.close()
		if s.conn != nil {
			s.conn.Close()
		}
	})
}

// read is the loop of the reading goroutine: one read, all that is whole in it, one hand-over.
func (s *session) read() error {
	for {
		if err := s.fill(); err != nil {
			return err
		}
		if err := s.consume(); err != nil {
			return err
		}
	}
}

// fill makes room and reads once.
func (s *session) fill() error {
	s.makeRoom()
	n, err := s.conn.Read(s.buf[s.w:])
	s.w += n
	if n > 0 {
		s.heard.Store(true)
		return nil
	}
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("leaf: the server hung up: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, os.ErrDeadlineExceeded): // set by open, lifted by subscribed
		return fmt.Errorf("leaf: no handshake within %v: %w", s.c.o.HandshakeTimeout, err)
	}
	return fmt.Errorf("leaf: read: %w", err)
}

// makeRoom moves what is left to the front. The buffer doubles while one operation does not fit, so that memory
// follows the bytes that came and not the size a line claims, and shrinks back when large messages have ceased.
func (s *session) makeRoom() {
	left := s.buf[s.r:s.w]
	size := len(s.buf)
	switch {
	case len(left) == size:
		size *= 2
		s.calm = 0
	case s.calm > calm && size > readSize && len(left) < readSize:
		size = readSize
	}
	s.calm++
	if size == len(s.buf) {
		copy(s.buf, left)
	} else {
		s.buf = append(make([]byte, 0, size), left...)[:size]
	}
	s.r, s.w = 0, len(left)
}

// consume parses everything whole in the buffer and hands it over.
func (s *session) consume() error {
	defer s.flush()
	for s.w-s.r > 0 && s.w-s.r >= s.parser.need {
		o, n, err := s.parser.next(s.buf[s.r:s.w])
		if err != nil || o == opNone {
			return err
		}
		s.r += n
		s.handle(o)
	}
	return nil
}

func (s *session) handle(o op) {
	if o != opErr {
		s.said = nil // it went on after what it said: not the reason of the end
	}
	switch o {
	case opMsg:
		s.flushEvents()
		s.msgs = append(s.msgs, s.parser.msg)
	case opSub, opUnsub:
		s.addEvent()
	case opPing:
		s.out.line("PONG")
	case opPong:
		s.flush()
		s.out.pong()
	case opInfo:
		s.learn(s.parser.arg)
	case opErr:
		s.said = ServerError(s.parser.arg)
		s.c.o.Logger.Error("leaf: the server reports an error", "error", string(s.parser.arg), "server", s.info.Name)
	}
}

// addEvent keeps what the parser found. $LDS.… is the server's own subject for finding loops of leafs: it must not
// be subscribed to in return, and it says nothing about clients.
func (s *session) addEvent() {
	s.flushMsgs()
	p := &s.parser
	if has(p.subject, "$LDS.") {
		return
	}
	s.events = append(s.events, Interest{Subject: string(p.subject), Queue: string(p.queue), Members: p.members})
}

func (s *session) flush() {
	s.flushMsgs()
	s.flushEvents()
}

func (s *session) flushMsgs() {
	if len(s.msgs) > 0 {
		s.tell(func(h Handler) { h.Messages(s.msgs) })
		clear(s.msgs)
		s.msgs = s.msgs[:0]
	}
}

func (s *session) flushEvents() {
	if len(s.events) > 0 {
		s.tell(func(h Handler) { h.Interest(s.events) })
		clear(s.events)
		s.events = s.events[:0]
	}
}

func (s *session) tell(what func(Handler)) {
	s.told = true
	s.busy.Store(true)
	what(s.c.o.Handler)
	s.busy.Store(false)
	s.heard.Store(true)
}

// attached is called at the first PONG: the server sends its whole interest before it looks at our PING
// (server/leafnode.go:2527-2531, within processing CONNECT), so what was told until now is whole.
func (s *session) attached() {
	s.c.attach(s)
	s.tell(Handler.Connected)
}

// subscribed is called at the PONG behind our subscriptions: the handshake is done.
func (s *session) subscribed() {
	_ = s.conn.SetReadDeadline(time.Time{}) // fails only on a closed connection, which read finds
	s.c.o.Logger.Info("leaf: connected", "server", s.info.Name, "version", s.info.Version, "account", s.info.Account)
	s.c.whole()
}

// write is the writer goroutine: it sends what waits and counts silent ping intervals.
func (s *session) write() {
	tick := time.NewTicker(s.c.o.PingInterval)
	defer tick.Stop()
	var pieces [][]byte
	silent := 0
	for {
		select {
		case <-s.out.wake:
			pieces = s.out.take(pieces)
			s.send(pieces)
		case <-tick.C:
			silent = s.keepAlive(silent)
		case <-s.dead:
			return
		}
	}
}

// send writes pieces, and gives each back at once.
func (s *session) send(pieces [][]byte) {
	for i, p := range pieces {
		_ = s.conn.SetWriteDeadline(time.Now().Add(s.c.o.WriteTimeout)) // fails only on a closed connection, as Write does
		if _, err := s.conn.Write(p); err != nil {
			s.fail(fmt.Errorf("leaf: write: %w", err))
			return
		}
		if pieces[i] = nil; i == len(pieces)-1 {
			_ = s.conn.SetWriteDeadline(time.Time{}) // else it would end what is written directly, later
		}
		s.out.wrote(p)
	}
}

// keepAlive asks for a sign of life when nothing was heard for an interval, and gives up after several. While the
// handler is at work nothing can be heard, and that is not the server's fault.
func (s *session) keepAlive(silent int) int {
	if s.heard.Swap(false) || s.busy.Load() {
		return 0
	}
	if silent++; silent >= missed {
		s.fail(ErrStale)
		return silent
	}
	s.out.ping(nil)
	return silent
}

// flushed returns a channel that is closed when the server has dealt with everything sent before.
func (s *session) flushed() <-chan struct{} {
	done := make(chan struct{})
	s.out.ping(func() { close(done) })
	return done
}

// readLine reads until one operation of the handshake is there.
func (s *session) readLine() (op, error) {
	for {
		o, n, err := s.parser.next(s.buf[s.r:s.w])
		if err != nil || o != opNone {
			s.r += n
			return o, err
		}
		if err := s.fill(); err != nil {
			return opNone, err
		}
	}
}
