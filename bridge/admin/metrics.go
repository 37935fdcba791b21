package admin

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are what /metrics shows: of the queues, as Store.Infos tells them when
// asked, and of what it is told by the log (Commit) and the bridge.
type Metrics struct {
	registry   *prometheus.Registry
	source     atomic.Pointer[watched]
	sync       prometheus.Histogram
	bytes      prometheus.Histogram
	ops        prometheus.Histogram
	reconnects prometheus.Counter
}

// watched is a store that is open.
type watched struct {
	store    Store
	logBytes func() int64
}

// NewMetrics are the metrics of a process of this version.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		sync: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dsend_fsync_seconds", Help: "Time of the sync of one commit.",
			Buckets: prometheus.ExponentialBuckets(100e-6, 2, 16),
		}),
		bytes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dsend_commit_bytes", Help: "Size of one commit.",
			Buckets: prometheus.ExponentialBuckets(64, 4, 12),
		}),
		ops: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dsend_commit_ops", Help: "Publishes, answers and other operations made durable by one commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 17),
		}),
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dsend_leaf_reconnects_total", Help: "Times the leafnode connection was made anew.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "dsend_build_info", Help: "Always 1; its labels tell the version.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.sync, m.bytes, m.ops, m.reconnects, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Watch shows the queues of a store from now on. logBytes is the size of its log
// on disk.
func (m *Metrics) Watch(store Store, logBytes func() int64) {
	m.source.Store(&watched{store, logBytes})
}

// Commit is told of each commit: its operations, its bytes, the time of its sync.
func (m *Metrics) Commit(ops, bytes int, sync time.Duration) {
	m.ops.Observe(float64(ops))
	m.bytes.Observe(float64(bytes))
	m.sync.Observe(sync.Seconds())
}

// LeafReconnected is told when the leafnode connection was made anew.
func (m *Metrics) LeafReconnected() { m.reconnects.Inc() }

func (m *Metrics) handler(h *Health) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "dsend_ready", Help: "1 while work is taken.",
	}, func() float64 {
		phase, _ := h.now()
		return truth(phase == ready)
	}))
	process := promhttp.HandlerFor(prometheus.Gatherers{own, m.registry},
		promhttp.HandlerOpts{DisableCompression: true, ErrorHandling: promhttp.ContinueOnError})
	return &scrapes{m, process, make(chan struct{}, maxScrapes)}
}
