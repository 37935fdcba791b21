package admin

import (
	"context"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dsend/durable/queue"
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
	m.registry.MustRegister(m.sync, m.bytes, m.ops, m.reconnects, build, m,
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
	return promhttp.HandlerFor(prometheus.Gatherers{own, m.registry}, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// perQueue is a metric of each queue, with the label queue.
type perQueue struct {
	name, help string
	kind       prometheus.ValueType
	value      func(queue.Info, time.Time) float64
}

func gauges() []perQueue {
	gauge := func(name, help string, value func(queue.Info, time.Time) float64) perQueue {
		return perQueue{name, help, prometheus.GaugeValue, value}
	}
	return []perQueue{
		gauge("letters", "Dead letters of any queue held here.",
			func(i queue.Info, _ time.Time) float64 { return float64(i.Letters) }),
		gauge("bytes", "Bytes of the messages stored.",
			func(i queue.Info, _ time.Time) float64 { return float64(i.Bytes) }),
		gauge("oldest_ready_age_seconds", "Age of the oldest ready message; 0 without one.",
			func(i queue.Info, now time.Time) float64 { return oldestAge(i, now).Seconds() }),
		gauge("waiting_pulls", "Pulls that wait for messages.",
			func(i queue.Info, _ time.Time) float64 { return float64(i.WaitingPulls) }),
		gauge("workers", "Members of the groups that messages are pushed to.",
			func(i queue.Info, _ time.Time) float64 { return float64(i.Workers) }),
		gauge("visibility_timeout_seconds", "The visibility timeout in force, also if it is automatic.",
			func(i queue.Info, _ time.Time) float64 { return i.Visibility.Seconds() }),
		gauge("paused", "1 while nothing is delivered on purpose.",
			func(i queue.Info, _ time.Time) float64 { return truth(i.Paused) }),
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func counters() []perQueue {
	counter := func(name, help string, value func(queue.Totals) uint64) perQueue {
		return perQueue{name + "_total", help, prometheus.CounterValue,
			func(i queue.Info, _ time.Time) float64 { return float64(value(i.Totals)) }}
	}
	return []perQueue{
		counter("publishes", "Messages stored.", func(t queue.Totals) uint64 { return t.Published }),
		counter("duplicates", "Publishes answered with an earlier message of the same id.", func(t queue.Totals) uint64 { return t.Duplicates }),
		counter("refused", "Publishes refused.", func(t queue.Totals) uint64 { return t.Refused }),
		counter("deliveries", "Messages handed to workers.", func(t queue.Totals) uint64 { return t.Delivered }),
		counter("acks", "Messages done.", func(t queue.Totals) uint64 { return t.Acked }),
		counter("naks", "Attempts that a worker said have failed.", func(t queue.Totals) uint64 { return t.Naked }),
		counter("timeouts", "Attempts that nobody answered in time.", func(t queue.Totals) uint64 { return t.TimedOut }),
		counter("gone", "Attempts whose worker went away.", func(t queue.Totals) uint64 { return t.Gone }),
		counter("given_back", "Deliveries given back unworked.", func(t queue.Totals) uint64 { return t.GivenBack }),
		counter("terminated", "Attempts that a worker said must not be repeated.", func(t queue.Totals) uint64 { return t.Terminated }),
		counter("extended", "Deadlines begun anew by a worker at work.", func(t queue.Totals) uint64 { return t.Extended }),
		counter("dropped", "Messages given up and not kept.", func(t queue.Totals) uint64 { return t.Dropped }),
		counter("replays", "Dead letters brought back to this queue.", func(t queue.Totals) uint64 { return t.Replayed }),
		counter("removed", "Messages removed by people.", func(t queue.Totals) uint64 { return t.Removed }),
	}
}

// desc describes a metric of queues.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("dsend_queue_"+name, help, append([]string{"queue"}, labels...), nil)
}

// Describe tells Prometheus nothing beforehand, which makes m an unchecked
// collector: its metrics are as many as there are queues.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect shows the queues. While there is no store, or it does not answer, it
// shows none, rather than old numbers.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	w := m.source.Load()
	if w == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), DefaultTimeout)
	defer cancel()
	infos, err := w.store.Infos(ctx)
	if err != nil {
		return
	}
	out <- prometheus.MustNewConstMetric(
		prometheus.NewDesc("dsend_log_bytes", "Size of the log on disk.", nil, nil),
		prometheus.GaugeValue, float64(w.logBytes()))
	c := collect{out, infos}
	c.states()
	c.plain(w.store.Now())
	c.answers()
	c.deaths()
}

// collect turns queues into metrics.
type collect struct {
	out   chan<- prometheus.Metric
	infos []queue.Info
}

func (c collect) send(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(d, kind, value, labels...)
}

func (c collect) states() {
	d := desc("messages", "Messages by state; those of a queue that are dead are held by its dead-letter queue.", "state")
	for _, i := range c.infos {
		for _, s := range []struct {
			phase queue.Phase
			n     int64
		}{{queue.Ready, i.Ready}, {queue.Delayed, i.Delayed}, {queue.InFlight, i.InFlight}, {queue.Dead, i.Dead}} {
			c.send(d, prometheus.GaugeValue, float64(s.n), i.Name, s.phase.String())
		}
	}
}

func (c collect) plain(now time.Time) {
	for _, metric := range append(gauges(), counters()...) {
		d := desc(metric.name, metric.help)
		for _, i := range c.infos {
			c.send(d, metric.kind, metric.value(i, now), i.Name)
		}
	}
}

func (c collect) answers() {
	d := desc("odd_answers_total", "Answers that came too late, were stale, for a message that was gone, or invalid.", "result")
	for _, i := range c.infos {
		t := i.Totals
		for result, n := range map[queue.Result]uint64{
			queue.ResultLate: t.Late, queue.ResultStale: t.Stale, queue.ResultGone: t.GoneAnswers, queue.ResultInvalid: t.Invalid,
		} {
			c.send(d, prometheus.CounterValue, float64(n), i.Name, result.String())
		}
	}
}

func (c collect) deaths() {
	d := desc("deaths_total", "Messages that became dead letters, by reason.", "reason")
	for _, i := range c.infos {
		for reason, n := range died(i.Totals) {
			c.send(d, prometheus.CounterValue, float64(n), i.Name, reason)
		}
	}
}
