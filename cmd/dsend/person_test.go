package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"dsend/bridge/admin"
)

// person is somebody who types commands; they run in this process.
type person struct {
	env     map[string]string
	in      string    // what is on stdin
	asks    bool      // stdin and stderr are a terminal
	shows   bool      // stdout is one
	out     io.Writer // instead of what result has
	signals chan os.Signal
}

// result is what a command line came to.
type result struct {
	code     int
	out, err string
}

// today is when people type.
var today = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)

func at0(url string) person {
	return person{env: map[string]string{"NATS_URL": url, "XDG_CONFIG_HOME": "/nowhere"}}
}

func (p person) run(t *testing.T, args ...string) result {
	t.Helper()
	return p.runContext(t.Context(), args...)
}

func (p person) runContext(ctx context.Context, args ...string) result {
	var out bytes.Buffer
	var err safeBuffer
	to := p.out
	if to == nil {
		to = &out
	}
	a := &app{
		in: strings.NewReader(p.in), out: bufio.NewWriter(to), err: &err,
		env: func(name string) string { return p.env[name] }, now: func() time.Time { return today },
		asks: p.asks, shows: p.shows,
		signals: func(c chan<- os.Signal) func() { return forward(p.signals, c) },
	}
	code := a.run(ctx, args)
	return result{code, out.String(), err.String()}
}

// forward passes signals on until it is ended.
func forward(from <-chan os.Signal, to chan<- os.Signal) (end func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-from:
				to <- s
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// safeBuffer is written to by several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// ok fails the test unless a command succeeded quietly.
func (r result) ok(t *testing.T) result {
	t.Helper()
	if r.code != 0 || r.err != "" {
		t.Fatalf("exit %d, stderr %q, stdout %q", r.code, r.err, r.out)
	}
	return r
}

// fails checks the exit code and the one line of a command that did not succeed.
func (r result) fails(t *testing.T, code int, line string) {
	t.Helper()
	if r.code != code || r.err != line+"\n" {
		t.Errorf("exit %d, stderr %q; want %d and %q", r.code, r.err, code, line)
	}
}

// document reads stdout as exactly one JSON document.
func document[T any](t *testing.T, r result) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(r.out))
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, r.out)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("stdout goes on behind its document: %q", r.out)
	}
	return v
}

// natsServer is a NATS server for the time of a test.
func natsServer(t *testing.T, o server.Options) (url string) {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", -1, true, true
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	return s.ClientURL()
}

// script answers requests to <prefix>.api by endpoint.
type script map[string]func(request []byte) any

// play serves a script as if it were Dsend.
func (s script) play(t *testing.T, url string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	_, err = nc.Subscribe("dsend.>", func(m *nats.Msg) {
		answer := any(admin.ErrorAnswer{Error: &admin.Problem{Code: 404, Kind: "no_queue", Description: "there is no queue nowhere"}})
		reply := nats.NewMsg(m.Reply)
		if do := s[strings.TrimPrefix(strings.TrimPrefix(m.Subject, "dsend."), "api.")]; do != nil {
			answer = do(m.Data)
		}
		if answer == nil {
			return // never
		}
		if p, ok := answer.(admin.ErrorAnswer); ok {
			reply.Header.Set("Nats-Service-Error", p.Error.Description)
			reply.Header.Set("Nats-Service-Error-Code", "404")
		}
		if reply.Data, err = json.Marshal(answer); err != nil {
			t.Error(err)
		}
		if err := m.RespondMsg(reply); err != nil {
			t.Error(err)
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// natsMsg is a message with one header.
func natsMsg(name, value string) *nats.Msg {
	m := nats.NewMsg("subject")
	m.Header.Set(name, value)
	return m
}
