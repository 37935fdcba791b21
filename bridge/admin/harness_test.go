package admin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"dsend/bridge/admin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long anything may take before a test gives up.
const patience = time.Minute

// harness is a store that is served on a NATS server.
type harness struct {
	*memStore
	nc      *nats.Conn
	service *admin.Service
	log     *lines
	url     string
}

// lines is a log that is read as lines.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSuffix(l.b.String(), "\n"), "\n")
}

func serve(t *testing.T, change func(*admin.Config)) *harness {
	t.Helper()
	h := &harness{memStore: newMemStore(), log: &lines{}, url: runServer(t)}
	cfg := admin.Config{Prefix: "dsend", Version: "1.2.3", Log: slog.New(slog.NewTextHandler(h.log, nil))}
	if change != nil {
		change(&cfg)
	}
	var err error
	if h.service, err = admin.Start(h.connect(t), h.memStore, cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.service.Stop(); err != nil {
			t.Error(err)
		}
	})
	h.nc = h.connect(t)
	return h
}

func runServer(t *testing.T) (url string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}
	return s.ClientURL()
}

func (h *harness) connect(t *testing.T) *nats.Conn {
	t.Helper()
	closed := make(chan struct{})
	nc, err := nats.Connect(h.url, nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); <-closed })
	return nc
}

// ask sends a request and reads the answer; a refusal is a *admin.Problem.
func ask[Answer any](t *testing.T, h *harness, endpoint string, request any) (answer Answer, err error) {
	t.Helper()
	body, ok := request.(string)
	if !ok {
		text, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		body = string(text)
	}
	m, err := h.nc.Request("dsend.api."+endpoint, []byte(body), patience)
	if err != nil {
		t.Fatal(err)
	}
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "" {
		var refused admin.ErrorAnswer
		if err := json.Unmarshal(m.Data, &refused); err != nil || refused.Error == nil {
			t.Fatalf("error %s with body %s", code, m.Data)
		}
		return answer, refused.Error
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		t.Fatalf("%s: %v", m.Data, err)
	}
	return answer, nil
}

// get is ask for what is not refused.
func get[Answer any](t *testing.T, h *harness, endpoint string, request any) Answer {
	t.Helper()
	answer, err := ask[Answer](t, h, endpoint, request)
	if err != nil {
		t.Fatalf("%s: %v", endpoint, err)
	}
	return answer
}

// refused is ask for what must be refused.
func refused(t *testing.T, h *harness, endpoint string, request any, code int, part string) {
	t.Helper()
	_, err := ask[any](t, h, endpoint, request)
	var p *admin.Problem
	if !errors.As(err, &p) {
		t.Fatalf("%s %v was not refused", endpoint, request)
	}
	if p.Code != code || !strings.Contains(p.Description, part) {
		t.Errorf("%s %v: %d %q, want %d and %q", endpoint, request, p.Code, p.Description, code, part)
	}
}

func goVersion() string { return runtime.Version() }
