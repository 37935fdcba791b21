package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// epoch is what the times in bodies count from: publishers and workers are in
// one process. It is so long ago that nobody else's is near it, so that what
// others have published is not taken for ours.
var epoch = time.Now().Add(-rand.N(longAgo))

const longAgo = 200 * 365 * 24 * time.Hour

func sinceEpoch(t time.Time) int64 { return int64(t.Sub(epoch)) }

// run is one load on one server.
type run struct {
	server Server
	load   Load
	begin  time.Time
	until  time.Time // zero is never

	published, delivered atomic.Uint64
	left                 atomic.Int64  // publishes that may be begun, or deliveries that count, of Count
	enough               chan struct{} // closed when Count messages were delivered
	fail                 context.CancelCauseFunc
}

// Run puts a load on a server. show, if any, is told how far it is, about ten
// times a second.
func Run(ctx context.Context, s Server, l Load, show func(Progress)) (Result, error) {
	if err := l.Check(); err != nil {
		return Result{}, err
	}
	if err := s.prepare(ctx); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{server: s, load: l, enough: make(chan struct{}), fail: cancel}
	return r.run(ctx, show)
}

func (r *run) run(ctx context.Context, show func(Progress)) (result Result, err error) {
	publishers, workers, err := r.connect()
	defer func() {
		for _, p := range publishers {
			p.nc.Close()
		}
		for _, w := range workers {
			w.nc.Close()
		}
	}()
	if err != nil {
		return result, err
	}
	before, err := readMetrics(ctx, r.server.Metrics)
	if err != nil {
		return result, err
	}
	r.start()
	watched := make(chan struct{})
	watching, stop := context.WithCancel(ctx)
	go func() { defer close(watched); r.watch(watching, show) }()
	r.work(ctx, publishers, workers)
	took := time.Since(r.begin)
	stop()
	<-watched
	if err := context.Cause(ctx); err != nil {
		return result, err
	}
	after, err := readMetrics(ctx, r.server.Metrics)
	if err != nil {
		return result, err
	}
	result = r.result(took, publishers, workers)
	if syncs := after.syncs - before.syncs; syncs > 0 {
		result.PerSync = float64(result.Published+result.Delivered) / syncs
	}
	return result, nil
}

func (r *run) connect() (publishers []*publisher, workers []*worker, err error) {
	subjects := r.server.subjects()
	for i := range r.load.Publishers {
		p, err := newPublisher(r, subjects, i*len(subjects)/r.load.Publishers)
		if err != nil {
			return publishers, workers, err
		}
		publishers = append(publishers, p)
	}
	for range r.load.Workers {
		w, err := newWorker(r)
		if err != nil {
			return publishers, workers, err
		}
		workers = append(workers, w)
	}
	return publishers, workers, nil
}

// start begins the time.
func (r *run) start() {
	r.begin = time.Now()
	if r.load.Duration > 0 {
		r.until = r.begin.Add(r.load.Duration)
	}
	r.left.Store(int64(r.load.Count))
}

// claim tells whether one more publish may be begun.
func (r *run) claim(now time.Time) bool {
	return !r.over(now) && (r.load.Count == 0 || r.left.Add(-1) >= 0)
}

// over tells whether the time of the load is.
func (r *run) over(now time.Time) bool { return !r.until.IsZero() && !now.Before(r.until) }

// work returns when the load is over, or has failed.
func (r *run) work(ctx context.Context, publishers []*publisher, workers []*worker) {
	var publishing sync.WaitGroup
	for _, w := range workers {
		w.start()
	}
	for _, p := range publishers {
		publishing.Go(func() { p.run(ctx) })
	}
	publishing.Wait()
	if len(workers) == 0 || len(publishers) > 0 && r.until.IsZero() {
		return
	}
	var over <-chan time.Time
	if !r.until.IsZero() {
		t := time.NewTimer(time.Until(r.until))
		defer t.Stop()
		over = t.C
	}
	select {
	case <-over:
	case <-r.enough:
	case <-ctx.Done():
	}
}

// patience is how long nothing may happen.
const patience = 30 * time.Second

// watch shows the progress and ends a load that stands still.
func (r *run) watch(ctx context.Context, show func(Progress)) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last, since := uint64(0), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			p := Progress{now.Sub(r.begin), r.published.Load(), r.delivered.Load()}
			if n := p.Published + p.Delivered; n != last {
				last, since = n, now
			} else if r.load.Rate == 0 && now.Sub(since) > patience {
				r.fail(fmt.Errorf("nothing came for %v (%d published, %d delivered)", patience, p.Published, p.Delivered))
				return
			}
			if show != nil {
				show(p)
			}
		}
	}
}

func (r *run) result(took time.Duration, publishers []*publisher, workers []*worker) Result {
	published, delivered := newHistogram(), newHistogram()
	for _, p := range publishers {
		published.Merge(p.took)
	}
	for _, w := range workers {
		w.stop()
		delivered.Merge(w.took)
	}
	res := Result{
		Seconds: took.Seconds(), Published: r.published.Load(), Delivered: r.delivered.Load(),
		Publish: latencyOf(published), Deliver: latencyOf(delivered),
	}
	res.PublishRate, res.DeliverRate = float64(res.Published)/res.Seconds, float64(res.Delivered)/res.Seconds
	return res
}

// errGone is why a load fails whose connection ended.
var errGone = errors.New("the connection to the server was lost")

// lost fails the load when a connection is closed before its time.
func (r *run) lost(nc *nats.Conn) {
	if err := nc.LastError(); err != nil {
		r.fail(fmt.Errorf("%w: %w", errGone, err))
		return
	}
	r.fail(errGone)
}
