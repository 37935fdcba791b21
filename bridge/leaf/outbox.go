package leaf

import (
	"sync"
	"time"
)

// writeChunk is the most that goes into one write. Small enough that a slow but living line gets a chunk through
// within the write timeout, large enough that a busy one needs few system calls.
const writeChunk = 256 << 10

// outbox is what waits for the writer of one connection. Callers append, the writer takes all there is and gives
// the buffer back empty: two buffers take turns. The bytes of PINGs are in the same order as their callbacks. While
// nothing waits, a put goes to the kernel at once, as far as it has room: that saves the writer's waking.
type outbox struct {
	limit  int              // of bytes waiting and being written, for put
	wake   chan struct{}    // capacity 1: there is something to take
	direct func([]byte) int // writes without waiting; nil if there is no way

	mu      sync.Mutex
	waiting []byte
	flying  int           // taken and not yet written
	room    chan struct{} // closed when bytes were written; nil when nobody waits for that
	pings   []func()      // called by the reading goroutine at the PONGs, oldest first; nil entries for none
	closed  bool
}

func newOutbox(limit int) *outbox { return &outbox{limit: limit, wake: make(chan struct{}, 1)} }

// connect is called once, when there is a connection, before anything is put or appended.
func (o *outbox) connect(direct func([]byte) int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.direct = direct
}

// put appends p whole or not at all. It waits for room up to patience; a p larger than the limit goes when nothing else waits.
func (o *outbox) put(p []byte, patience time.Duration) error {
	var late <-chan time.Time
	for {
		room, err := o.tryPut(p, patience > 0)
		if room == nil {
			return err
		}
		if late == nil {
			t := time.NewTimer(patience)
			defer t.Stop()
			late = t.C
		}
		select {
		case <-room:
		case <-late:
			return ErrOverflow
		}
	}
}

// tryPut returns a channel to wait on if there is no room and the caller wants to wait.
func (o *outbox) tryPut(p []byte, wait bool) (room <-chan struct{}, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, ErrDisconnected
	}
	used := len(o.waiting) + o.flying
	if used == 0 && o.direct != nil && len(p) <= writeChunk {
		if p = p[o.direct(p):]; len(p) == 0 {
			return nil, nil
		}
	}
	if used == 0 || used+len(p) <= o.limit {
		o.append(p)
		return nil, nil
	}
	if !wait {
		return nil, ErrOverflow
	}
	if o.room == nil {
		o.room = make(chan struct{})
	}
	return o.room, nil
}

// line appends a control line, whatever the limit: they are few and short.
func (o *outbox) line(words ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range words {
		o.waiting = append(o.waiting, w...)
	}
	o.append([]byte("\r\n"))
}

// ping appends a PING and remembers what to do at its PONG.
func (o *outbox) ping(then func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pings = append(o.pings, then)
	o.append([]byte("PING\r\n"))
}

// pong answers the oldest PING. A PONG nobody asked for is ignored.
func (o *outbox) pong() {
	o.mu.Lock()
	var then func()
	if len(o.pings) > 0 {
		then, o.pings = o.pings[0], o.pings[1:]
	}
	o.mu.Unlock()
	if then != nil {
		then()
	}
}

func (o *outbox) append(p []byte) {
	o.waiting = append(o.waiting, p...)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take hands all that waits to the writer, in exchange for an empty buffer.
func (o *outbox) take(empty []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.waiting
	o.waiting, o.flying = empty[:0], len(p)
	return p
}

// wrote tells that n of the bytes taken are with the kernel.
func (o *outbox) wrote(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flying -= n
	o.letIn()
}

// close refuses all further puts and lets the waiting ones go.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.letIn()
}

func (o *outbox) letIn() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}
