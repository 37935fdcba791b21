package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dsend/bridge/admin"
)

// realDsend runs dsend serve in this process for the time of a test.
func realDsend(t *testing.T, flags ...string) person {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	p := person{env: map[string]string{}, out: in}
	ended := make(chan result, 1)
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--http", "", "--data", filepath.Join(t.TempDir(), "data")}, flags...)
	go func() {
		r := p.runContext(ctx, args...)
		in.Close()
		ended <- r
	}()
	t.Cleanup(func() {
		stop()
		go io.Copy(io.Discard, out)
		if r := <-ended; r.code != 0 {
			t.Errorf("serve: exit %d\n%s", r.code, r.err)
		}
	})
	url := regexp.MustCompile(`nats://\S+`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := url.FindString(lines.Text()); found != "" {
			go io.Copy(io.Discard, out)
			return at0(found)
		}
	}
	t.Fatalf("serve does not start: %+v", <-ended)
	return p
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (p person) queue(t *testing.T, name string) admin.Queue {
	t.Helper()
	return document[admin.Queue](t, p.run(t, "queue", "info", name, "--json").ok(t))
}

// kill makes n dead letters of a queue.
func (p person) kill(t *testing.T, name, body string, n int) {
	t.Helper()
	p.run(t, "pub", name, body, "--count", fmt.Sprint(n)).ok(t)
	last := p.queue(t, name).LastSeq
	for seq := last - uint64(n) + 1; seq <= last; seq++ {
		p.run(t, "msg", "kill", name, fmt.Sprint(seq), "--error", fmt.Sprint("no row for ", seq)).ok(t)
	}
}

// Scenario L3: every command, with no queues, one and many, prints exactly one
// JSON document; field names are the same empty or full.
func TestJSONIsOneDocument(t *testing.T) {
	p := realDsend(t)
	lists := [][]string{{"queue", "ls"}, {"queue", "peek", "orders", "--limit", "0"}, {"dlq", "ls", "orders"}, {"dlq", "groups", "orders"}, {"dlq", "export", "orders"}}
	if got := p.run(t, "queue", "ls", "--json").ok(t).out; got != "[]\n" {
		t.Errorf("no queues: %q", got)
	}
	p.run(t, "pub", "orders", "x").ok(t)
	p.run(t, "queue", "purge", "orders", "--force", "--json").ok(t)
	for _, args := range lists[1:] {
		if got := p.run(t, append(args, "--json")...).ok(t).out; got != "[]\n" {
			t.Errorf("%v of an empty queue: %q", args, got)
		}
	}
	p.kill(t, "orders", "one", 1)
	p.run(t, "pub", "orders", "two").ok(t)
	names := map[string][]string{}
	for _, args := range lists {
		names[fmt.Sprint(args)] = fieldsOf(t, p, args)
	}
	for i := range 3 {
		p.kill(t, fmt.Sprint("queue-", i), "\x00\xff", 2)
	}
	p.kill(t, "orders", strings.Repeat("x", 100_000), 30)
	p.run(t, "pub", "orders", "more", "--count", "30", "-H", "A: 1", "-H", "A: 2").ok(t)
	for _, args := range lists {
		if got := fieldsOf(t, p, args); !slices.Equal(got, names[fmt.Sprint(args)]) {
			t.Errorf("%v: fields %v, before %v", args, got, names[fmt.Sprint(args)])
		}
	}
	for _, args := range [][]string{
		{"queue", "info", "orders"}, {"queue", "pause", "orders"}, {"queue", "resume", "orders"}, {"msg", "get", "orders", "3"},
		{"msg", "kill", "orders", "3"}, {"dlq", "show", "orders", "1"}, {"dlq", "replay", "orders", "1"}, {"dlq", "purge", "orders", "2", "--force"},
		{"msg", "rm", "orders", "40", "--force"}, {"pub", "orders", "x"}, {"pub", "orders", "x", "--count", "3"}, {"version"},
		{"queue", "rm", "queue-0", "--force"}, {"work", "orders", "--count", "2", "--", "true"},
	} {
		document[any](t, p.run(t, append([]string{"--json"}, args...)...).ok(t))
	}
}

// fieldsOf gives the field names of all items of a list.
func fieldsOf(t *testing.T, p person, args []string) []string {
	t.Helper()
	names := map[string]bool{}
	items := document[[]map[string]any](t, p.run(t, append(args, "--json")...).ok(t))
	if len(items) == 0 {
		t.Fatalf("%v: nothing", args)
	}
	for _, item := range items {
		for name := range item {
			names[name] = true
		}
		if len(item) != len(items[0]) {
			t.Errorf("%v: items have different fields", args)
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Binary bodies come back byte for byte, by every way.
func TestBinaryBodies(t *testing.T) {
	p := realDsend(t)
	for i, body := range []string{"", "\x00\xff\xfe\r\n", strings.Repeat("\x80abc", 1<<18-100)} {
		q := p
		q.in = body
		q.run(t, "pub", "orders", "-").ok(t)
		seq := fmt.Sprint(i + 1)
		if got := p.run(t, "msg", "get", "orders", seq).ok(t).out; got != body {
			t.Errorf("raw: %d bytes came back as %d", len(body), len(got))
		}
		if m := document[admin.Message](t, p.run(t, "msg", "get", "orders", seq, "--json").ok(t)); string(m.Data) != body || m.More {
			t.Errorf("JSON: %d bytes came back as %d, more %v", len(body), len(m.Data), m.More)
		}
		p.run(t, "msg", "kill", "orders", seq).ok(t)
	}
	letters := document[[]admin.Letter](t, p.run(t, "dlq", "export", "orders", "--json").ok(t))
	if len(letters) != 3 || string(letters[1].Data) != "\x00\xff\xfe\r\n" || len(letters[2].Data) != 4*(1<<18-100) {
		t.Errorf("export of %d letters", len(letters))
	}
	lines := strings.Split(strings.TrimSpace(p.run(t, "dlq", "export", "orders").ok(t).out), "\n")
	for i, line := range lines {
		var letter admin.Letter
		if err := json.Unmarshal([]byte(line), &letter); err != nil || !bytes.Equal(letter.Data, letters[i].Data) {
			t.Errorf("line %d: %v", i, err)
		}
	}
	if d := document[admin.Letter](t, p.run(t, "dlq", "show", "orders", "3", "--json").ok(t)); len(d.Data) != 4*(1<<18-100) {
		t.Errorf("show: %d bytes", len(d.Data))
	}
}

// The headers of pub arrive, in order where they repeat, and the options work.
func TestPublishOptions(t *testing.T) {
	p := realDsend(t)
	p.run(t, "pub", "orders", "x", "-H", "A: 1", "-H", "B:  two ", "-H", "A: 3", "-H", "Dsend-Priority: 7", "--id", "one").ok(t)
	if got := p.run(t, "pub", "orders", "x", "--id", "one").ok(t).out; got != "message 1 of orders was there already\n" {
		t.Errorf("again: %q", got)
	}
	m := document[admin.Message](t, p.run(t, "msg", "get", "orders", "1", "--json").ok(t))
	values := map[string][]string{}
	for _, h := range m.Headers {
		values[h.Name] = append(values[h.Name], h.Value)
	}
	if m.Priority != 7 || fmt.Sprint(values["A"], values["B"]) != "[1 3] [two]" {
		t.Errorf("%+v", m)
	}
	p.run(t, "pub", "orders", "later", "--delay", "1h").ok(t)
	if q := p.queue(t, "orders"); q.Ready != 1 || q.Delayed != 1 {
		t.Errorf("ready %d, delayed %d", q.Ready, q.Delayed)
	}
	if r := p.run(t, "pub", "orders", "x", "-H", "Dsend-Priority: high"); r.code != 1 || !strings.Contains(r.err, "Dsend-Priority") {
		t.Errorf("a bad option: %+v", r)
	}
	acks := document[[]pubAck](t, p.run(t, "pub", "bulk", "x", "--count", "600", "--json").ok(t))
	seqs := map[uint64]bool{}
	for _, ack := range acks {
		seqs[ack.Seq] = true
	}
	if len(seqs) != 600 || p.queue(t, "bulk").Ready != 600 {
		t.Errorf("%d different sequences", len(seqs))
	}
}

// Replay by filter, by sequence, with a limit, at a rate, and all.
func TestReplayCommand(t *testing.T) {
	p := realDsend(t)
	p.kill(t, "orders", "x", 30)
	count := func(args ...string) int {
		t.Helper()
		r := p.run(t, append([]string{"dlq", "replay", "orders", "--json"}, args...)...).ok(t)
		return document[replayed](t, r).Replayed
	}
	if got := document[replayed](t, p.run(t, "dlq", "replay", "orders", "--all", "--dry-run", "--json").ok(t)); got.Picked != 30 || got.Replayed != 0 {
		t.Errorf("dry run: %+v", got)
	}
	if n := count("3", "5-7"); n != 4 {
		t.Errorf("3 and 5-7: %d", n)
	}
	if n := count("--error", "no row for 1", "--limit", "2"); n != 2 {
		t.Errorf("by error, 2 at most: %d", n)
	}
	if n := count("--reason", "expired,terminated"); n != 0 {
		t.Errorf("by another reason: %d", n)
	}
	begin := time.Now()
	if n := count("--seq", "20-", "--rate", "100"); n != 11 {
		t.Errorf("from 20: %d", n)
	}
	if took := time.Since(begin); took < 95*time.Millisecond {
		t.Errorf("11 letters at 100/s took %v", took)
	}
	if n := count("--all"); n != 30-4-2-11 {
		t.Errorf("the rest: %d", n)
	}
	if q := p.queue(t, "orders"); q.Dead != 0 || q.Ready != 30 {
		t.Errorf("dead %d, ready %d", q.Dead, q.Ready)
	}
	p.run(t, "dlq", "replay", "orders", "7").fails(t, 1, "dsend: there is no such dead letter 7 in orders-dlq")
}

// A replay that is interrupted has done what it says, and goes on when it is
// started again.
func TestReplayIsInterrupted(t *testing.T) {
	p := realDsend(t)
	p.kill(t, "orders", "x", 20)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- p.runContext(ctx, "dlq", "replay", "orders", "--all", "--rate", "20", "--json") }()
	eventually(t, "some are replayed", func() bool { return p.queue(t, "orders").Ready > 2 })
	stop()
	r := <-ended
	got := document[replayed](t, r)
	if r.code != 1 || got.Stopped == nil || got.Stopped.Kind != "interrupted" || got.Replayed < 3 || got.Replayed == 20 {
		t.Errorf("exit %d, %+v, %s", r.code, got, r.err)
	}
	if ready := p.queue(t, "orders").Ready; ready < int64(got.Replayed) || ready == 20 { // a page may be under way
		t.Errorf("%d are ready, %d were said to be replayed", ready, got.Replayed)
	}
	p.run(t, "dlq", "replay", "orders", "--all").ok(t)
	if q := p.queue(t, "orders"); q.Ready != 20 || q.Dead != 0 {
		t.Errorf("ready %d, dead %d", q.Ready, q.Dead)
	}
}

func TestConfirmation(t *testing.T) {
	p := realDsend(t)
	p.run(t, "pub", "orders", "x", "--count", "3").ok(t)
	p.asks = true
	for _, answer := range []string{"", "\n", "n\n", "maybe\n"} {
		p.in = answer
		r := p.run(t, "queue", "purge", "orders")
		if r.code != 1 || r.err != "Purge queue orders, which has 3 messages? [y/N] dsend: nothing was changed\n" {
			t.Errorf("answer %q: exit %d, %q", answer, r.code, r.err)
		}
	}
	if n := p.queue(t, "orders").Messages; n != 3 {
		t.Fatalf("%d messages after four times no", n)
	}
	p.in = "y\n"
	if r := p.run(t, "queue", "purge", "orders"); r.code != 0 || r.out != "3 messages of orders removed\n" {
		t.Errorf("yes: %+v", r)
	}
	p.kill(t, "orders", "x", 4)
	p.in = "yes\n"
	r := p.run(t, "dlq", "purge", "orders", "--error", "no row")
	if r.code != 0 || !strings.HasPrefix(r.err, "Remove 4 letters of orders-dlq for good? [y/N] ") {
		t.Errorf("%+v", r)
	}
	if r := p.run(t, "queue", "rm", "orders"); r.code != 0 || !strings.Contains(r.err, "which has 0 messages?") {
		t.Errorf("%+v", r)
	}
	p.run(t, "queue", "info", "orders").fails(t, 1, "dsend: there is no queue orders")
}
