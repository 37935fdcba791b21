package leaf

import (
	"strings"
	"sync"
	"time"
)

// writeChunk is the most that goes into one write. Small enough that a slow but living line gets a chunk through
// within the write timeout, large enough that a busy one needs few system calls.
const writeChunk = 256 << 10

// keepPieces is how many pieces are kept while nothing waits.
const keepPieces = 8

// outbox is what waits for the writer of one connection, in pieces of one size: large messages in a rush would else
// have buffers grow and be thrown away, each many times their size. Callers append, the writer takes all pieces
// there are and gives each back when it is written. The bytes of PINGs are in the same order as their callbacks. While
// nothing waits, a put goes to the kernel at once, as far as it has room: that saves the writer's waking.
type outbox struct {
	limit  int              // of bytes waiting and being written, for put
	wake   chan struct{}    // capacity 1: there is something to take
	direct func([]byte) int // writes without waiting; nil if there is no way

	mu      sync.Mutex
	waiting [][]byte      // pieces, each full but the last
	size    int           // bytes of them
	flying  int           // bytes taken and not yet written
	spare   [][]byte      // empty pieces
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
	used := o.size + o.flying
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
	o.append([]byte(strings.Join(words, "") + "\r\n"))
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
	o.size += len(p)
	for len(p) > 0 {
		last := len(o.waiting) - 1
		if last < 0 || len(o.waiting[last]) == writeChunk {
			o.waiting = append(o.waiting, o.piece())
			last++
		}
		n := min(len(p), writeChunk-len(o.waiting[last]))
		o.waiting[last] = append(o.waiting[last], p[:n]...)
		p = p[n:]
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// piece gives an empty piece.
func (o *outbox) piece() []byte {
	last := len(o.spare) - 1
	if last < 0 {
		return make([]byte, 0, writeChunk)
	}
	p := o.spare[last]
	o.spare[last], o.spare = nil, o.spare[:last]
	return p
}

// take hands all that waits to the writer, in exchange for the list of what it took before.
func (o *outbox) take(done [][]byte) [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.waiting
	o.waiting, o.size, o.flying = done[:0], 0, o.size
	return all
}

// wrote takes a piece back whose bytes are with the kernel.
func (o *outbox) wrote(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flying -= len(p)
	if len(o.spare) < keepPieces {
		o.spare = append(o.spare, p[:0])
	}
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
