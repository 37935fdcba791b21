package system

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// natsCLI is the path of the nats command line.
func natsCLI(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("nats")
	if err != nil {
		path, err = filepath.Abs("../../../.cache/bin/nats")
		if err == nil {
			_, err = os.Stat(path)
		}
	}
	need(t, err == nil, "the nats CLI (go -C .ci/tools build -o ../../.cache/bin/nats github.com/nats-io/natscli/nats)")
	return path
}

// natsCommand is a run of the nats command line against the server.
func (s *server) natsCommand(t testing.TB, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), natsCLI(t), append(arguments, "--server", s.url(), "--timeout", "30s")...)
	cmd.Env, cmd.Dir = environment(t, nil), t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// nats runs the nats command line to its end.
func (s *server) nats(t testing.TB, stdin string, arguments ...string) result {
	t.Helper()
	cmd := s.natsCommand(t, arguments...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("nats %v: %v", arguments, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// natsListens starts the nats command line, and gives what it writes.
func (s *server) natsListens(t testing.TB, arguments ...string) *journal {
	t.Helper()
	cmd, said := s.natsCommand(t, arguments...), &journal{}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { said.read(out); _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return said
}

// says waits until a journal has a line with these words.
func (j *journal) says(t testing.TB, n int, words ...string) []string {
	t.Helper()
	eventually(t, fmt.Sprintf("%d lines with %q", n, words), func() error {
		if len(j.with(words...)) < n {
			return fmt.Errorf("it says\n%s", j.last(30))
		}
		return nil
	})
	return j.with(words...)
}

// The nats command line publishes: request shows the answer, pub -J understands it,
// and a plain pub is stored all the same.
func TestNatsCLI_Publish(t *testing.T) {
	t.Parallel()
	natsCLI(t)
	s := start(t, setup{})
	c := s.connect(t)
	for n, row := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"hello"}, `{"stream":"orders","seq":1,"domain":"dsend"}`},
		{[]string{"id", "-H", "Nats-Msg-Id: 7"}, `{"stream":"orders","seq":2,"domain":"dsend"}`},
		{[]string{"id", "-H", "Nats-Msg-Id:7"}, `{"stream":"orders","seq":2,"duplicate":true,"domain":"dsend"}`},
		{[]string{"x", "-H", "Dsend-Delay: 30"}, `{"error":{"code":400,"err_code":10003,"description":"header Dsend-Delay: \"30\" is not a duration with a unit, such as 30s"},"stream":"orders","seq":0}`},
		{[]string{""}, `{"stream":"orders","seq":3,"domain":"dsend"}`},
	} {
		r := s.nats(t, "", append([]string{"request", "--raw", "dsend.publish.orders"}, row.arguments...)...)
		if strings.TrimSpace(r.stdout) != row.want || r.code != 0 {
			t.Errorf("request %d: %+v, want %s", n, r, row.want)
		}
	}
	r := s.nats(t, "", "pub", "-J", "dsend.publish.orders", "x", "--count", "50")
	if r.code != 0 {
		t.Errorf("pub -J --count 50: %+v", r)
	}
	r = s.nats(t, "", "pub", "-J", "dsend.publish.orders", "x")
	if said := r.stdout + r.stderr; r.code != 0 || !strings.Contains(said, `Stored in Stream: orders Sequence: 54 Domain: "dsend"`) {
		t.Errorf("pub -J: %+v", r)
	}
	if r := s.nats(t, "", "pub", "-J", "dsend.publish.orders", "x", "-H", "Nats-Rollup: all"); r.code == 0 || !strings.Contains(r.stdout+r.stderr, "header Nats-Rollup is not supported") {
		t.Errorf("pub -J with what is not supported: %+v", r)
	}
	if r := s.nats(t, "", "pub", "dsend.publish.orders", "x"); r.code != 0 {
		t.Errorf("pub: %+v", r)
	}
	c.rest(t, "orders", counts{Ready: 55})

	// Whole bodies and headers, there and back.
	body := "\x00\x01\xffbinary\r\n"
	r = s.nats(t, body, "pub", "-J", "dsend.publish.whole", "--force-stdin", "--no-templates", "-H", "Trace: a", "-H", "Trace:b", "-H", "x-Lower: c")
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if m := c.look(t, "whole")[0]; string(m.Data) != body || fmt.Sprint(m.header()) != "map[Trace:[a b] x-Lower:[c]]" {
		t.Errorf("stored are %q and %v", m.Data, m.header())
	}
	if r := s.nats(t, "", "request", "--raw", "dsend.pull.whole", ""); r.code != 0 || r.stdout != body+"\n" {
		t.Errorf("nats request dsend.pull.whole: %+v", r)
	}
}

// Schedules: what nats pub --schedule-after and --schedule-at send.
func TestNatsCLI_Schedule(t *testing.T) {
	t.Parallel()
	natsCLI(t)
	s := start(t, setup{config: settings("orders", "subjects: [shop.>]")})
	c := s.connect(t)
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	for _, arguments := range [][]string{
		{"--schedule-after", "2s", "--schedule-dest", "dsend.publish.orders"},
		{"--schedule-after", "2s", "--schedule-dest", "shop.new"},
		{"--schedule-at", at.Format(time.RFC3339), "--schedule-dest", "shop.later"},
	} {
		if r := s.nats(t, "", append([]string{"pub", "dsend.publish.orders", "x"}, arguments...)...); r.code != 0 || !strings.Contains(r.stdout+r.stderr, "Stored in Stream: orders") {
			t.Errorf("%v: %+v", arguments, r)
		}
	}
	all := c.look(t, "orders")
	if len(all) != 3 || !dueAt(all[2].ReadyAt, at) {
		t.Fatalf("%+v, want the last at %v", all, at)
	}
	for _, subject := range []string{"dsend.publish.orders", "shop.new"} {
		d := c.one(t, "orders")
		due, err := time.Parse("@at "+time.RFC3339, d.Header.Get("Nats-Schedule"))
		if d.Subject != subject || err != nil {
			t.Errorf("it comes on %s, want %s; %v: %v", d.Subject, subject, d.Header, err)
		}
		checkDue(t, subject, due, d.at, 2*time.Second)
		d.must(t, ack, "ok")
	}
	for _, arguments := range [][]string{
		{"--schedule-every", "5s", "--schedule-dest", "shop.new"},
		{"--schedule-cron=@hourly", "--schedule-dest", "shop.new"},
		{"--schedule-after", "1h", "--schedule-dest", "shop.new", "--schedule-ttl", "1m"},
		{"--schedule-after", "1h", "--schedule-dest", "not.captured"},
	} {
		if r := s.nats(t, "", append([]string{"pub", "dsend.publish.orders", "x"}, arguments...)...); r.code == 0 || !strings.Contains(r.stdout+r.stderr, "header Nats-Schedule") {
			t.Errorf("%v: %+v", arguments, r)
		}
	}
	c.rest(t, "orders", counts{Delayed: 1})
}

// nats reply is a worker: whatever it answers is an ack. So is nats sub --ack.
func TestNatsCLI_Reply(t *testing.T) {
	t.Parallel()
	natsCLI(t)
	s := start(t, setup{config: settings("orders") + "- name: bills\n- name: acked\n"})
	c := s.connect(t)
	c.putMany(t, "orders", "m", 5)
	said := s.natsListens(t, "reply", "dsend.work.orders", "--queue", "w", "done")
	said.says(t, 5, "Received on subject")
	c.putMany(t, "bills", "m", 3)
	s.natsListens(t, "reply", "dsend.work.bills", "--queue", "w", "--command", "echo {{.Request}}")
	c.putMany(t, "acked", "m", 3)
	s.natsListens(t, "sub", "dsend.work.acked", "--queue", "w", "--ack")
	for queue, n := range map[string]int64{"orders": 5, "bills": 3, "acked": 3} {
		c.rest(t, queue, counts{})
		if q := c.info(t, queue); q.total(t, "acked") != n || q.total(t, "delivered") != n {
			t.Errorf("%s: %s", queue, q.Totals)
		}
	}
}

// The service dsend, as nats service shows it.
func TestNatsCLI_Service(t *testing.T) {
	t.Parallel()
	natsCLI(t)
	s := start(t, setup{})
	s.connect(t).put(t, plain("orders", "x"))
	var list []struct{ Name, Version string }
	r := s.nats(t, "", "service", "ls", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list) != 1 || list[0].Name != "dsend" {
		t.Errorf("service ls: %v, %+v", err, r)
	}
	r = s.nats(t, "", "service", "info", "dsend", "--json")
	var shown struct {
		Info struct {
			Endpoints []struct {
				Name, Subject string
				Metadata      map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil {
		t.Fatalf("service info: %v, %+v", err, r)
	}
	subjects := map[string]bool{}
	for _, e := range shown.Info.Endpoints {
		subjects[e.Subject] = true
		for _, key := range []string{"request_schema", "response_schema"} {
			if !json.Valid([]byte(e.Metadata[key])) || e.Metadata["description"] == "" {
				t.Errorf("endpoint %s: %v", e.Name, e.Metadata)
			}
		}
	}
	for _, name := range strings.Fields("queue.ls queue.info queue.peek queue.pause queue.resume queue.purge queue.rm msg.get msg.rm msg.kill dlq.ls dlq.show dlq.groups dlq.replay dlq.purge reload") {
		if !subjects["dsend.api."+name] {
			t.Errorf("there is no endpoint %s", name)
		}
	}
	r = s.nats(t, "", "request", "--raw", "dsend.api.queue.info", `{"queue":"orders"}`)
	var q queueInfo
	if err := json.Unmarshal([]byte(r.stdout), &q); err != nil || q.Ready != 1 {
		t.Errorf("queue.info: %v, %+v", err, r)
	}
	r = s.nats(t, "", "request", "dsend.api.queue.info", `{"queue":"nobody"}`)
	if said := r.stdout + r.stderr; !strings.Contains(said, "Nats-Service-Error-Code: 404") || !strings.Contains(said, "there is no queue nobody") {
		t.Errorf("an error: %+v", r)
	}
	if r = s.nats(t, "", "service", "stats", "dsend"); r.code != 0 || !strings.Contains(r.stdout, "queue-info") {
		t.Errorf("service stats: %+v", r)
	}
}

// Events, notices of deaths, and a watcher that is no worker.
func TestNatsCLI_Listeners(t *testing.T) {
	t.Parallel()
	natsCLI(t)
	s := start(t, setup{config: settings("orders", "max_attempts: 2", "backoff: {list: [10ms], jitter: 0}")})
	c := s.connect(t)
	events := s.natsListens(t, "sub", "dsend.event.>")
	deaths := s.natsListens(t, "sub", "dsend.dlq.orders")
	watched := s.natsListens(t, "sub", "dsend.work.orders")
	for _, said := range []*journal{events, deaths, watched} {
		said.says(t, 1, "Subscribing on")
	}
	c.putMany(t, "orders", "watched", 1)
	c.restListeners(t, "dsend.work.orders")
	c.rest(t, "orders", counts{Ready: 1}) // a watcher gets no work of its own
	c.work(t, "orders", "w", func(d *delivery) { d.must(t, `-NAK {"error":"no use"}`, "ok") })
	c.rest(t, "orders", counts{Dead: 1})
	watched.says(t, 2, "watched1")
	deaths.says(t, 1, "watched1")
	deaths.says(t, 1, "Dsend-Dead-Error: no use")
	events.says(t, 1, `"type":"dsend.event.v1.retried"`, `"queue":"orders"`, `"seq":1`, `"outcome":"nak"`, `"error":"no use"`)
	events.says(t, 1, `"type":"dsend.event.v1.died"`, `"reason":"max_attempts"`, `"dlq":"orders-dlq"`, `"dlq_seq":1`)
	if err := c.api("queue.pause", args{"queue": "orders"}, nil); err != nil {
		t.Fatal(err)
	}
	events.says(t, 1, `"type":"dsend.event.v1.paused"`)
	c.replayed(t, "orders", 1)
	events.says(t, 1, `"type":"dsend.event.v1.replayed"`)
}

// restListeners waits until somebody listens on a subject.
func (c *client) restListeners(t testing.TB, subject string) {
	t.Helper()
	eventually(t, "somebody listens on "+subject, func() error {
		_, err := c.nc.Request(subject, []byte("is anybody there?"), time.Millisecond)
		if err != nil && strings.Contains(err.Error(), "no responders") {
			return err
		}
		return nil
	})
}

// I2 with the nats command line: what it sends is what it, and a Go client, are
// given: fresh, from the dead-letter queue, and after a replay.
func TestI2_NatsCLIAndGoClient(t *testing.T) {
	t.Parallel()
	natsCLI(t)
	s := start(t, setup{config: "auto_create: true\ndefaults: {visibility_timeout: 300ms, max_attempts: 0, backoff: {list: [1ms], jitter: 0}}\n"})
	c := s.connect(t)
	header := nats.Header{"Trace": {"a", "b", "a"}, "x-Lower": {"Größe: 5"}, "Nats-Msg-Id": {"7"}}
	for name, body := range map[string]string{"empty": "", "binary": "\x00\x01\xff\xfe", "lines": "a\r\n\r\nb\n", "ack": "+ACK", "template": "{{Count}} {{"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arguments := []string{"pub", "-J", "dsend.publish." + name, "--force-stdin", "--no-templates"}
			for key, values := range header {
				for _, value := range values {
					arguments = append(arguments, "-H", key+":"+value)
				}
			}
			if r := s.nats(t, body, arguments...); r.code != 0 {
				t.Fatalf("%+v", r)
			}
			shown := cmp.Or(body, "nil body") // its words for an empty one; and it adds line ends
			stage := func(what, queue string) {
				t.Helper()
				if r := s.nats(t, "", "request", "--raw", "dsend.pull."+queue, ""); r.code != 0 || strings.TrimRight(r.stdout, "\n") != strings.TrimRight(shown, "\n") {
					t.Errorf("%s: nats request: %q %s", what, r.stdout, r.stderr)
				}
				d := c.one(t, queue) // the one that nats did not answer
				if string(d.Data) != body || !sameHeader(d.Header, header) {
					t.Errorf("%s: %q, %v", what, d.Data, d.Header)
				}
			}
			stage("fresh", name)
			if err := c.api("msg.kill", args{"queue": name, "seq": 1}, nil); err != nil {
				t.Fatal(err)
			}
			stage("dead", name+"-dlq")
			c.rest(t, name+"-dlq", counts{Ready: 1, Letters: 1}) // not in flight any more
			c.replayed(t, name, 1)
			stage("replayed", name)
		})
	}
}
