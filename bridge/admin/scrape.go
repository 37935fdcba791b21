package admin

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dsend/durable/queue"
)

// maxScrapes is how many may be served at a time.
const maxScrapes = 4

// scrapes serves /metrics: those of the process by the Prometheus library, and
// then those of the queues by itself. Of ten thousand queues these are 340,000
// lines, of which the library makes an object each, which it sorts and checks: a
// second of CPU each time, where the lines alone take a tenth of it.
type scrapes struct {
	metrics *Metrics
	process http.Handler
	slots   chan struct{}
}

func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		http.Error(w, "too many requests for metrics at a time", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Vary", "Accept-Encoding")
	var to io.Writer = w
	if takesGzip(r.Header) {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // it is a level
		defer func() { _ = z.Close() }()               // who has gone needs no metrics
		to = z
	}
	asked := r.Clone(r.Context())
	asked.Header.Set("Accept", "text/plain;version=0.0.4") // what lines are added to
	s.process.ServeHTTP(through{w, to}, asked)
	s.metrics.queues(r.Context(), lines{to: to, only: r.URL.Query()["name[]"]})
}

// takesGzip tells whether a client can read gzip.
func takesGzip(h http.Header) bool {
	for coding := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if name == "gzip" {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(quality), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}

// through is an answer whose body goes another way.
type through struct {
	http.ResponseWriter
	body io.Writer
}

func (t through) Write(p []byte) (int, error) { return t.body.Write(p) }

// queues shows the queues. While there is no store, or it does not answer, it
// shows none, rather than old numbers.
func (m *Metrics) queues(ctx context.Context, l lines) {
	w := m.source.Load()
	if w == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	infos, err := w.store.Infos(ctx)
	if err != nil {
		return
	}
	if l.begin("dsend_log_bytes", "Size of the log on disk.", "gauge") {
		l.b = append(l.b, "dsend_log_bytes "...)
		l.end(float64(w.logBytes()))
	}
	now := w.store.Now()
	for _, metric := range perQueues() {
		if !l.metric(metric, infos, now) {
			return
		}
	}
	l.flush()
}

// lines are metrics in the text format of Prometheus. No name or word in them
// has anything that must be escaped.
type lines struct {
	to   io.Writer
	only []string // the metrics that were asked for; empty is all
	b    []byte   // not written yet
}

// begin tells whether a metric was asked for, and says what it is.
func (l *lines) begin(name, help, kind string) bool {
	if len(l.only) > 0 && !slices.Contains(l.only, name) {
		return false
	}
	l.b = append(l.b, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
	return true
}

// end ends a line with its value.
func (l *lines) end(value float64) {
	if whole := int64(value); float64(whole) == value {
		l.b = strconv.AppendInt(l.b, whole, 10) // as most are; exact, and quick
	} else {
		l.b = strconv.AppendFloat(l.b, value, 'g', -1, 64)
	}
	l.b = append(l.b, '\n')
}

// piece is how many bytes of lines are written at a time.
const piece = 32 << 10

// metric writes the lines of one metric; false if nobody reads them.
func (l *lines) metric(m perQueue, infos []queue.Info, now time.Time) bool {
	name := "dsend_queue_" + m.name
	if !l.begin(name, m.help, m.kind) {
		return true
	}
	head, ends := name+`{queue="`, tails(m)
	for i := range infos {
		for j, s := range m.series {
			l.b = append(append(append(l.b, head...), infos[i].Name...), ends[j]...)
			l.end(s.value(&infos[i], now))
		}
		if len(l.b) >= piece && !l.flush() {
			return false
		}
	}
	return true
}

// tails are what follows the name of a queue, for each series.
func tails(m perQueue) []string {
	all := make([]string, len(m.series))
	for i, s := range m.series {
		if all[i] = `"} `; m.label != "" {
			all[i] = `",` + m.label + `="` + s.word + `"} `
		}
	}
	return all
}

func (l *lines) flush() bool {
	_, err := l.to.Write(l.b)
	l.b = l.b[:0]
	return err == nil
}
