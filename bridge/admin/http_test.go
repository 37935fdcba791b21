package admin_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"dsend/bridge/admin"
	"dsend/durable/queue"
)

// fetch gets a page of a server that runs for the test.
func fetch(t *testing.T, s *admin.Server, path string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + s.Addr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func runHTTP(t *testing.T, h *admin.Health, m *admin.Metrics) *admin.Server {
	t.Helper()
	s, err := admin.Listen("127.0.0.1:0", admin.Handler(h, m))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func TestProbes(t *testing.T) {
	h := &admin.Health{}
	s := runHTTP(t, h, admin.NewMetrics("1.2.3"))
	expect := func(path string, code int, line string) {
		t.Helper()
		if got, body := fetch(t, s, path); got != code || body != line+"\n" {
			t.Errorf("%s: %d %q, want %d %q", path, got, body, code, line)
		}
	}
	expect("/healthz", 200, "starting")
	expect("/readyz", 503, "starting")
	h.Starting("recovering the log, 42%")
	expect("/healthz", 200, "starting: recovering the log, 42%")
	expect("/readyz", 503, "starting: recovering the log, 42%")
	h.Ready()
	expect("/healthz", 200, "ready")
	expect("/readyz", 200, "ready")
	h.Stopping()
	expect("/healthz", 200, "stopping")
	expect("/readyz", 503, "stopping")
	h.Failed(errors.New("fsync\nfailed"))
	expect("/healthz", 503, "failed: fsync failed")
	h.Ready() // too late
	expect("/readyz", 503, "failed: fsync failed")
	if code, _ := fetch(t, s, "/elsewhere"); code != 404 {
		t.Errorf("/elsewhere: %d", code)
	}
	resp, err := http.Post("http://"+s.Addr()+"/healthz", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 405 {
		t.Errorf("POST: %d", resp.StatusCode)
	}
}

func TestBusyAddressIsFoundAtOnce(t *testing.T) {
	s := runHTTP(t, &admin.Health{}, admin.NewMetrics("1.2.3"))
	if _, err := admin.Listen(s.Addr(), nil); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
}

// scrape reads /metrics.
func scrape(t *testing.T, s *admin.Server) map[string]float64 {
	t.Helper()
	_, body := fetch(t, s, "/metrics")
	all := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all[line[:i]] = value
	}
	return all
}

// Metrics and API tell the same, through a mix of everything (scenario L2).
func TestMetricsAreExact(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(s *queue.Settings) { s.MaxAttempts = 2 })
	m := admin.NewMetrics("1.2.3")
	health := &admin.Health{}
	server := runHTTP(t, health, m)
	if got := scrape(t, server); got["dsend_ready"] != 0 || got[`dsend_queue_messages{queue="orders",state="ready"}`] != 0 {
		t.Errorf("before there is a store: %v", got)
	}
	m.Watch(h.memStore, func() int64 { return 4711 })
	health.Ready()
	for range 20 {
		h.publish(t, "orders", "x")
	}
	ds := h.take(t, "orders", 12)
	for i, verb := range []queue.Verb{queue.Ack, queue.Ack, queue.Nak, queue.Nak, queue.Term, queue.InProgress, queue.Invalid} {
		h.answer(t, ds[i], verb, "bad")
	}
	h.answer(t, ds[0], queue.Ack, "") // it is gone
	h.must(t, &queue.Delete{Name: "orders", Seq: 20})
	h.pass(5 * time.Second)
	h.die(t, "mails", "x", "bad")
	get[admin.ReplayAnswer](t, h, "dlq.replay", `{"queue":"mails"}`)

	got := scrape(t, server)
	for name, want := range map[string]float64{
		`dsend_ready`:     1,
		`dsend_log_bytes`: 4711,
		`dsend_build_info{goversion="` + goVersion() + `",version="1.2.3"}`: 1,
		`dsend_queue_publishes_total{queue="orders"}`:                       20,
		`dsend_queue_deliveries_total{queue="orders"}`:                      12,
		`dsend_queue_acks_total{queue="orders"}`:                            2,
		`dsend_queue_naks_total{queue="orders"}`:                            2,
		`dsend_queue_extended_total{queue="orders"}`:                        1,
		`dsend_queue_odd_answers_total{queue="orders",result="gone"}`:       1,
		`dsend_queue_odd_answers_total{queue="orders",result="late"}`:       0,
		`dsend_queue_odd_answers_total{queue="orders",result="invalid"}`:    1,
		`dsend_queue_deaths_total{queue="orders",reason="terminated"}`:      1,
		`dsend_queue_deaths_total{queue="orders",reason="expired"}`:         0,
		`dsend_queue_removed_total{queue="orders"}`:                         1,
		`dsend_queue_replays_total{queue="mails"}`:                          1,
		`dsend_queue_oldest_ready_age_seconds{queue="orders"}`:              5,
		`dsend_queue_letters{queue="orders-dlq"}`:                           1,
		`dsend_leaf_reconnects_total`:                                       0,
		`dsend_queue_messages{queue="mails-dlq",state="ready"}`:             0,
		`dsend_queue_paused{queue="orders"}`:                                0,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (there: %v), want %v", name, value, ok, want)
		}
	}
	for _, q := range get[admin.QueueLsAnswer](t, h, "queue.ls", ``).Queues {
		for state, n := range map[string]int64{"ready": q.Ready, "delayed": q.Delayed, "in_flight": q.InFlight, "dead": q.Dead} {
			name := `dsend_queue_messages{queue="` + q.Name + `",state="` + state + `"}`
			if got[name] != float64(n) {
				t.Errorf("%s is %v, the API says %d", name, got[name], n)
			}
		}
	}
	h.set(func() { h.failed = errors.New("disk on fire") })
	if got := scrape(t, server); got["dsend_ready"] != 1 || len(got) == 0 {
		t.Error("no metrics at all when the store has failed")
	} else if _, old := got[`dsend_queue_acks_total{queue="orders"}`]; old {
		t.Error("old numbers after the store has failed")
	}
}

func TestCommitsAreObserved(t *testing.T) {
	m := admin.NewMetrics("1.2.3")
	s := runHTTP(t, &admin.Health{}, m)
	m.Commit(10, 5000, 3*time.Millisecond)
	m.Commit(1, 100, time.Millisecond)
	m.LeafReconnected()
	got := scrape(t, s)
	for name, want := range map[string]float64{
		"dsend_commit_ops_sum": 11, "dsend_commit_ops_count": 2, "dsend_commit_bytes_sum": 5100,
		"dsend_fsync_seconds_count": 2, "dsend_leaf_reconnects_total": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// The library's own parser takes what is served, plain and compressed, and both
// are the same.
func TestMetricsAreAsPrometheusReadsThem(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(s *queue.Settings) { s.VisibilityTimeout = 1500 * time.Millisecond })
	m := admin.NewMetrics("1.2.3")
	m.Watch(h.memStore, func() int64 { return 4711 })
	page := func(coding string) string {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Header.Set("Accept-Encoding", coding)
		answer := httptest.NewRecorder()
		admin.Handler(&admin.Health{}, m).ServeHTTP(answer, request)
		if !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
			t.Errorf("%s: Content-Type is %q", coding, answer.Header().Get("Content-Type"))
		}
		if vary := answer.Header().Get("Vary"); vary != "Accept-Encoding" { // a cache between would mix the two up
			t.Errorf("%s: Vary is %q", coding, vary)
		}
		if answer.Header().Get("Content-Encoding") != "gzip" {
			return answer.Body.String()
		}
		body, err := gzip.NewReader(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return "gzip: " + string(text)
	}
	ofQueues := func(text string) string { return text[strings.Index(text, "# HELP dsend_log_bytes"):] }
	plain := page("deflate, gzip;q=0")
	if _, err := promlint.New(strings.NewReader(plain)).Lint(); err != nil {
		t.Error(err)
	}
	if want := `dsend_queue_visibility_timeout_seconds{queue="orders"} 1.5` + "\n"; !strings.Contains(plain, want) {
		t.Errorf("no %s in\n%s", want, plain)
	}
	packed, ok := strings.CutPrefix(page("deflate, gzip;q=0.5"), "gzip: ")
	if !ok || ofQueues(packed) != ofQueues(plain) {
		t.Errorf("compressed (%v):\n%s\nplain:\n%s", ok, packed, plain)
	}
}

// Who asks for some metrics gets those.
func TestSomeMetrics(t *testing.T) {
	h := serve(t, nil)
	h.declare(t, "orders", func(*queue.Settings) {})
	m := admin.NewMetrics("1.2.3")
	m.Watch(h.memStore, func() int64 { return 4711 })
	s := runHTTP(t, &admin.Health{}, m)
	for asked, want := range map[string]string{
		"dsend_log_bytes":      "dsend_log_bytes 4711\n",
		"dsend_queue_letters":  `dsend_queue_letters{queue="orders"} 0` + "\n",
		"dsend_ready":          "dsend_ready 0\n",
		"dsend_queue_no_other": "",
	} {
		_, body := fetch(t, s, "/metrics?name[]="+asked)
		if _, line, _ := strings.Cut(body, " gauge\n"); line != want {
			t.Errorf("%s: %q, want %q", asked, body, want)
		}
	}
}

// waitingStore tells of a question for the queues, and does not answer.
type waitingStore struct {
	admin.Store
	asked chan struct{}
}

func (w waitingStore) Infos(ctx context.Context) ([]queue.Info, error) {
	w.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Who asks while four others are served is sent away.
func TestTooManyScrapes(t *testing.T) {
	m := admin.NewMetrics("1.2.3")
	store := waitingStore{asked: make(chan struct{})}
	m.Watch(store, nil)
	handler := admin.Handler(&admin.Health{}, m)
	ctx, cancel := context.WithCancel(t.Context())
	scraped := func() int {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil).WithContext(ctx))
		return answer.Code
	}
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			if code := scraped(); code != http.StatusOK {
				t.Errorf("one of four: %d", code)
			}
		})
		<-store.asked
	}
	if code := scraped(); code != http.StatusServiceUnavailable {
		t.Errorf("the fifth: %d", code)
	}
	cancel()
	others.Wait()
}
