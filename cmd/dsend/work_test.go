package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"dsend/bridge/admin"
)

// hasty is a Dsend whose queue "orders" has two attempts, little patience, and
// hardly any backoff.
func hasty(t *testing.T) person {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dsend.yaml")
	err := os.WriteFile(file, []byte(`
queues:
  - name: orders
    visibility_timeout: 3s
    max_attempts: 2
    backoff: {initial: 10ms, factor: 1, max: 10ms, jitter: 0}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return realDsend(t, "--file", file)
}

// at work is a dsend work that runs beside the test.
func (p person) atWork(t *testing.T, args ...string) <-chan result {
	t.Helper()
	ended := make(chan result, 1)
	go func() { ended <- p.runContext(t.Context(), append([]string{"work", "orders", "--json"}, args...)...) }()
	return ended
}

func there(path string) func() bool { return func() bool { return exists(path) } }

// waits is a shell that waits for a file.
func waits(path string) string { return "until [ -e " + path + " ]; do sleep 0.01; done" }

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWorkAcks(t *testing.T) {
	p := hasty(t)
	p.run(t, "pub", "orders", "body 1\n", "-H", "Trace-Id: a b", "-H", "Trace-Id: c", "-H", "Odd.Name: x").ok(t)
	p.run(t, "pub", "orders", "body 2\n").ok(t)
	r := p.run(t, "work", "orders", "--stop-when-empty", "--", "sh", "-c",
		`cat; echo "$DSEND_QUEUE $DSEND_SEQ $DSEND_ATTEMPT $DSEND_SUBJECT [$DSEND_HEADER_TRACE_ID] [$DSEND_HEADER_ODD_NAME]"; [ -n "$DSEND_DEADLINE" ]`).ok(t)
	want := "body 1\norders 1 1 dsend.publish.orders [a b] [x]\nbody 2\norders 2 1 dsend.publish.orders [] []\n"
	if r.out != want {
		t.Errorf("printed\n%s\nwant\n%s", r.out, want)
	}
	if q := p.queue(t, "orders"); q.Messages != 0 || q.Totals.Acked != 2 || q.Totals.Naked != 0 {
		t.Errorf("%+v", q)
	}
}

// A failure is a nak with the end of stderr, and the last one a death.
func TestWorkFails(t *testing.T) {
	p := hasty(t)
	p.run(t, "pub", "orders", "x").ok(t)
	r := p.run(t, "work", "orders", "--json", "--count", "2", "--", "sh", "-c",
		`printf '%2000s' | tr ' ' x >&2; printf '\nboom \001 %s\n' $DSEND_ATTEMPT >&2; exit 3`)
	if got := document[worked](t, r); r.code != 0 || got != (worked{Failed: 2}) {
		t.Errorf("exit %d, %+v", r.code, got)
	}
	if !strings.Contains(r.err, "boom \x01 2") {
		t.Errorf("stderr of the command is not passed on: %q", r.err)
	}
	d := document[admin.Letter](t, p.run(t, "dlq", "show", "orders", "1", "--json").ok(t))
	if !strings.HasPrefix(d.Error, "exit status 3: xxx") || !strings.HasSuffix(d.Error, "xxx boom   2") {
		t.Errorf("error %q", d.Error)
	}
	if len(d.History) != 2 || !strings.HasSuffix(d.History[0].Error, "boom   1") || d.Attempts != 2 {
		t.Errorf("history %+v", d.History)
	}
}

// While the command runs the message is its own, however long it takes.
func TestWorkKeepsWhatItWorksOn(t *testing.T) {
	p := hasty(t)
	go_ := filepath.Join(t.TempDir(), "go")
	p.run(t, "pub", "orders", "x").ok(t)
	ended := p.atWork(t, "--count", "1", "--", "sh", "-c", waits(go_))
	eventually(t, "five deadlines begun anew", func() bool { return p.queue(t, "orders").Totals.Extended >= 5 })
	touch(t, go_)
	if got := document[worked](t, (<-ended).ok(t)); got != (worked{Acked: 1}) {
		t.Errorf("%+v", got)
	}
	if q := p.queue(t, "orders"); q.Messages != 0 || q.Totals.Delivered != 1 || q.Totals.TimedOut != 0 {
		t.Errorf("%+v", q.Totals)
	}
}

func TestWorkersAtTheSameTime(t *testing.T) {
	p := hasty(t)
	dir := t.TempDir()
	p.run(t, "pub", "orders", "x", "--count", "4").ok(t)
	// Each command waits until all four are at work.
	script := `touch ` + dir + `/$DSEND_SEQ; until [ $(ls ` + dir + ` | wc -l) = 4 ]; do sleep 0.01; done; echo $DSEND_SEQ`
	r := p.run(t, "work", "orders", "--concurrency", "4", "--stop-when-empty", "--", "sh", "-c", script).ok(t)
	lines := strings.Fields(r.out)
	sort.Strings(lines)
	if fmt.Sprint(lines) != "[1 2 3 4]" {
		t.Errorf("%q", r.out)
	}
}

// A signal is passed on. What then succeeds is an ack; what fails or is killed
// has its message given back, and the attempt does not count.
func TestWorkStops(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		flags   []string
		signals int
		want    worked
	}{
		"finishes": {`trap 'echo bye; exit 0' TERM`, nil, 1, worked{Acked: 1}},
		"fails":    {`trap 'exit 9' TERM`, nil, 1, worked{GivenBack: 1}},
		"dies":     {`true`, nil, 1, worked{GivenBack: 1}},
		"ignores":  {`trap '' TERM`, []string{"--grace", "50ms"}, 1, worked{GivenBack: 1}},
		"is hit":   {`trap '' TERM`, []string{"--grace", "1h"}, 2, worked{GivenBack: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := hasty(t)
			p.signals = make(chan os.Signal)
			started := filepath.Join(t.TempDir(), "started")
			p.run(t, "pub", "orders", "x", "--count", "2").ok(t)
			args := append(c.flags, "--", "sh", "-c", c.script+"; touch "+started+"; while :; do sleep 0.01; done")
			ended := p.atWork(t, args...)
			eventually(t, "the command has started", there(started))
			for range c.signals {
				p.signals <- syscall.SIGTERM
			}
			r := <-ended
			if got := document[worked](t, r); r.code != 0 || got != c.want {
				t.Errorf("exit %d, %+v, want %+v: %s", r.code, got, c.want, r.err)
			}
			q := p.queue(t, "orders")
			if left := int64(1 + c.want.GivenBack); q.Ready != left || q.InFlight != 0 || q.Totals.GivenBack != uint64(c.want.GivenBack) {
				t.Errorf("%d ready, want %d; %d in flight, %d given back", q.Ready, left, q.InFlight, q.Totals.GivenBack)
			}
			if c.want.GivenBack == 1 {
				m := document[admin.Message](t, p.run(t, "msg", "get", "orders", "1", "--json").ok(t))
				if m.Attempt != 0 || m.State != "ready" {
					t.Errorf("%s with attempt %d: it was counted", m.State, m.Attempt)
				}
			}
		})
	}
}

// A worker that waits stops at once, and what is published later stays.
func TestIdleWorkStops(t *testing.T) {
	p := hasty(t)
	p.signals = make(chan os.Signal)
	ended := p.atWork(t, "--concurrency", "3", "--", "cat")
	eventually(t, "three pulls wait", func() bool { return p.queue(t, "orders").WaitingPulls == 3 })
	p.signals <- os.Interrupt
	if got := document[worked](t, (<-ended).ok(t)); got != (worked{}) {
		t.Errorf("%+v", got)
	}
	p.run(t, "pub", "orders", "x").ok(t)
	if q := p.queue(t, "orders"); q.Ready != 1 || q.Totals.Delivered != 0 {
		t.Errorf("%d ready, %d delivered", q.Ready, q.Totals.Delivered)
	}
}

// The message is gone when the command has done its work: that is said.
func TestWorkForNothing(t *testing.T) {
	p := hasty(t)
	dir := t.TempDir()
	started, go_ := filepath.Join(dir, "started"), filepath.Join(dir, "go")
	p.run(t, "pub", "orders", "x").ok(t)
	ended := p.atWork(t, "--count", "1", "--", "sh", "-c", "touch "+started+"; "+waits(go_))
	eventually(t, "the command has started", there(started))
	p.run(t, "queue", "purge", "orders", "--force").ok(t)
	touch(t, go_)
	r := <-ended
	if got := document[worked](t, r); r.code != 0 || got != (worked{Stale: 1}) {
		t.Errorf("exit %d, %+v", r.code, got)
	}
	if r.err != "dsend: message 1 of orders: the answer changed nothing (gone)\n" {
		t.Errorf("%q", r.err)
	}
}

func TestWorkThatCannotBegin(t *testing.T) {
	p := hasty(t)
	p.run(t, "work", "nowhere", "--", "cat").fails(t, 1, "dsend: there is no queue nowhere")
	p.run(t, "work", "orders", "--", "no-such-command-here").
		fails(t, 1, `dsend: exec: "no-such-command-here": executable file not found in $PATH`)
}

// Dsend goes and comes back: the worker waits for it.
func TestWorkOutlivesDsend(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	var p person
	var ended <-chan result
	t.Run("first", func(t *testing.T) {
		p = realDsend(t, "--data", data)
		p.signals = make(chan os.Signal)
		p.run(t, "pub", "orders", "one").ok(t)
		out := &safeBuffer{}
		p.out = out
		q := p
		done := make(chan result, 1)
		go func() { done <- q.runContext(context.Background(), "work", "orders", "--", "cat") }()
		ended = done
		p.out = nil
		eventually(t, "one is done", func() bool { return out.String() == "one" })
	})
	again := realDsend(t, "--data", data, "--listen", strings.TrimPrefix(p.env["NATS_URL"], "nats://"))
	again.run(t, "pub", "orders", "two").ok(t)
	eventually(t, "two is done", func() bool { return again.queue(t, "orders").Messages == 0 })
	p.signals <- os.Interrupt
	if r := <-ended; r.code != 0 {
		t.Errorf("%+v", r)
	}
}

// A closed stdout ends the work, not the message that is worked on.
func TestWorkIntoAClosedPipe(t *testing.T) {
	p := hasty(t)
	p.run(t, "pub", "orders", "x", "--count", "3").ok(t)
	p.out = &failing{}
	if r := p.run(t, "work", "orders", "--", "cat"); r.code != 1 || r.err != "" {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
	p.out = nil
	if q := p.queue(t, "orders"); q.Ready != 2 || q.Totals.Acked != 1 {
		t.Errorf("%d ready, %d acked", q.Ready, q.Totals.Acked)
	}
}

func TestRhythm(t *testing.T) {
	for deadline, want := range map[string]time.Duration{
		"2031-05-06T07:08:12Z": time.Second, "2031-05-06T09:08:09Z": slowest, "2031-05-06T07:08:09.03Z": fastest,
		"2031-05-06T06:00:00Z": fastest, "": slowest, "soon": slowest,
	} {
		j := &job{m: natsMsg("Dsend-Deadline", deadline)}
		if got := j.rhythm(today); got != want {
			t.Errorf("deadline %q: every %v, want %v", deadline, got, want)
		}
	}
}
