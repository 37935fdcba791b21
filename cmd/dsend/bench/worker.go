package bench

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/nats-io/nats.go"
)

// worker is one connection that pulls and answers.
type worker struct {
	r       *run
	nc      *nats.Conn
	inbox   string
	request []byte

	mu      sync.Mutex // the receiving goroutine's, until it is stopped
	asked   int        // messages that were asked for and have not come
	stopped bool
	took    *hdrhistogram.Histogram
}

// pullExpires is how long a request waits for messages: a worker that stands
// still asks again.
const pullExpires = 5 * time.Second

func newWorker(r *run) (*worker, error) {
	w := &worker{r: r, took: newHistogram()}
	var err error
	if w.nc, err = r.server.connect(); err != nil {
		return nil, err
	}
	w.nc.SetClosedHandler(r.lost)
	w.inbox = w.nc.NewInbox()
	w.request = fmt.Appendf(nil, `{"batch":%d,"expires":%d%s}`, r.load.Batch, pullExpires, r.server.noHeaders())
	sub, err := w.nc.Subscribe(w.inbox, w.came)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = w.nc.Flush()
	}
	if err != nil {
		w.nc.Close()
		return nil, err
	}
	return w, nil
}

func (w *worker) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ask()
	w.ask()
}

// stop ends the measuring.
func (w *worker) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.nc.SetClosedHandler(nil)
}

// ask asks for one more batch, for who has mu.
func (w *worker) ask() {
	if err := w.nc.PublishRequest(w.r.server.pulls(), w.inbox, w.request); err != nil {
		w.r.fail(fmt.Errorf("pull: %w", err))
		return
	}
	w.asked += w.r.load.Batch
}

// came is called with every delivery and every status.
func (w *worker) came(m *nats.Msg) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if m.Reply == "" {
		w.status(m)
	} else {
		w.deliver(m)
	}
	if w.asked <= w.r.load.Batch*3/2 {
		w.ask()
	}
}

func (w *worker) deliver(m *nats.Msg) {
	w.asked--
	counted := w.r.load.Publishers == 0 && w.r.load.Count > 0
	if counted && w.r.left.Add(-1) < 0 {
		return // one more than are wanted: it is not acked, and will come again
	}
	if ns := w.latency(m); ns >= 0 {
		record(w.took, ns)
	}
	var answer []byte
	if w.r.load.answer != nil {
		answer = w.r.load.answer(m)
	}
	if err := w.nc.Publish(m.Reply, answer); err != nil {
		w.r.fail(fmt.Errorf("ack: %w", err))
	}
	if n := w.r.delivered.Add(1); counted && n == uint64(w.r.load.Count) {
		close(w.r.enough)
	}
}

// latency is from the publish to now; -1 if the body does not tell: only those
// of this load have its time. What others have published has none, or one that
// is not within the load.
func (w *worker) latency(m *nats.Msg) int64 {
	now := time.Now()
	switch {
	case w.r.load.latency != nil:
		return w.r.load.latency(m, now)
	case w.r.load.Publishers == 0 || len(m.Data) < minSize:
		return -1
	}
	ns := sinceEpoch(now) - int64(binary.LittleEndian.Uint64(m.Data))
	if ns > int64(now.Sub(w.r.begin)) {
		return -1
	}
	return ns
}

// status ends a request that was not filled.
func (w *worker) status(m *nats.Msg) {
	switch m.Header.Get("Status") {
	case "100":
	case "404", "408":
		n, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
		if err != nil {
			n = w.r.load.Batch
		}
		w.asked = max(0, w.asked-n)
	case "503":
		w.r.fail(fmt.Errorf("pull on %s: nobody answers there", w.r.server.pulls()))
	default:
		w.r.fail(fmt.Errorf("pull on %s: %s %s", w.r.server.pulls(), m.Header.Get("Status"), m.Header.Get("Description")))
	}
}
