package system

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// lines are commands for scripts, with their exit codes where there is no queue and
// where there is one with everything in it. They go from looking to removing.
var lines = []struct {
	command     string
	empty, full int
}{
	{"version", 0, 0},
	{"reload", 0, 0},
	{"queue ls", 0, 0},
	{"queue info orders", 1, 0},
	{"queue peek orders", 1, 0},
	{"queue peek orders --limit 0", 1, 0},
	{"queue peek orders --state delayed", 1, 0},
	{"queue peek orders --from 1000000", 1, 0},
	{"msg get orders 5", 1, 0},
	{"msg get orders 6", 1, 0},
	{"msg get orders 7", 1, 0},
	{"msg get orders 8", 1, 0},
	{"msg get orders 999", 1, 1},
	{"dlq ls orders", 1, 0},
	{"dlq ls orders-dlq", 1, 0},
	{"dlq ls orders --reason expired", 1, 0},
	{"dlq show orders 1", 1, 0},
	{"dlq show orders 999", 1, 1},
	{"dlq groups orders", 1, 0},
	{"dlq groups orders --reason expired", 1, 0},
	{"dlq export orders --limit 1", 1, 0},
	{"dlq export orders", 1, 0},
	{"dlq replay orders --all --dry-run", 1, 0},
	{"dlq replay orders 1", 1, 0},
	{"dlq replay orders 999", 1, 1},
	{"dlq purge orders --all --dry-run", 1, 0},
	{"dlq purge orders 2 --force", 1, 0},
	{"msg kill orders 5", 1, 0},
	{"msg kill orders 999", 1, 1},
	{"msg rm orders 6 --force", 1, 0},
	{"msg rm orders 999 --force", 1, 1},
	{"queue pause orders", 1, 0},
	{"queue resume orders", 1, 0},
	{"work orders --stop-when-empty --count 1 -- true", 1, 0},
	{"queue purge orders --force", 1, 0},
	{"queue rm orders --force", 1, 0},
	{"queue rm orders --force", 1, 1},
	{"pub orders x", 0, 0},
	{"pub orders x --count 3", 0, 0},
	{"pub orders x -H Nats-Rollup:all", 1, 1},
}

// stuffed are bodies that are hard to print, with the numbers 5 to 8.
var stuffed = []string{"\x00\x1b[31mred\xff", strings.Repeat("\xfe", 1<<20), "", "ö\n\t\"quoted\"\\"}

// stuff fills a queue: 1 and 2 are dead, 3 in flight, 4 delayed, the rest ready.
func stuff(t *testing.T, c *client) {
	t.Helper()
	c.putMany(t, "orders", "m", 3)
	msgs := c.take(t, "orders", 3)
	msgs[0].must(t, term+" no use", "ok")
	msgs[1].must(t, term, "ok")
	c.put(t, plain("orders", "later").with("Dsend-Delay", "1h"))
	for k, body := range stuffed {
		o := plain("orders", body)
		if k%2 == 0 {
			o = o.with("Trace", "a").with("Trace", "b").with("Dsend-Key", "k")
		}
		c.put(t, o)
	}
}

// L3: every command is fit for scripts. With --json stdout is one document, the
// same fields whatever there is; errors are one line on stderr and an exit code;
// there are neither colours nor questions without a terminal.
func TestL3_OutputForScripts(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(*testing.T, *client){"empty": func(*testing.T, *client) {}, "full": stuff} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{})
			fill(t, s.connect(t))
			for _, row := range lines {
				want := row.empty
				if name == "full" {
					want = row.full
				}
				checkLine(t, s.script(t, nil, row.command), row.command, want)
			}
		})
	}
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, setup{})
		for _, row := range lines {
			if row.command == "version" {
				continue
			}
			r := s.script(t, nil, row.command)
			if checkLine(t, r, row.command, 1); r.stdout != "" || !strings.Contains(r.stderr, "no NATS server answers at "+s.url()) {
				t.Errorf("%s: %+v", row.command, r)
			}
		}
	})
}

// script runs a command with --json against the server.
func (s *server) script(t testing.TB, env []string, line string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"--json", "--server", s.url()}, strings.Fields(line)...)...)
	cmd.Env, cmd.Dir = environment(t, env), t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", line, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// checkLine checks what a command printed.
func checkLine(t *testing.T, r result, line string, code int) {
	t.Helper()
	if r.code != code {
		t.Errorf("%s: exit code %d, want %d: %.300s%s", line, r.code, code, r.stdout, r.stderr)
	}
	if (r.code == 0) != (r.stderr == "") {
		t.Errorf("%s: exit code %d, and stderr says %q", line, r.code, r.stderr)
	}
	if r.stderr != "" && (!strings.HasPrefix(r.stderr, "dsend: ") || strings.Count(r.stderr, "\n") != 1) {
		t.Errorf("%s: stderr is not one line: %q", line, r.stderr)
	}
	if strings.ContainsRune(r.stdout+r.stderr, '\x1b') {
		t.Errorf("%s: escape codes in %.300q", line, r.stdout+r.stderr)
	}
	if r.stdout == "" && r.code != 0 {
		return
	}
	d := json.NewDecoder(strings.NewReader(r.stdout))
	var document any
	if err := d.Decode(&document); err != nil || document == nil {
		t.Errorf("%s: %v: %.300s", line, err, r.stdout)
	} else if _, err := d.Token(); err != io.EOF {
		t.Errorf("%s: more than one document: %.300s", line, r.stdout)
	}
}

// An empty list is [], and each field is there whether or not it has anything in it.
func TestL3_FieldsAreAlwaysThere(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	if r := s.script(t, nil, "queue ls"); r.stdout != "[]\n" {
		t.Errorf("no queues are %q", r.stdout)
	}
	c := s.connect(t)
	c.put(t, plain("bare", ""))
	stuff(t, c)
	for _, line := range []string{"dlq ls bare", "dlq groups bare", "dlq export bare", "queue peek bare --from 5", "dlq ls orders --error nothing"} {
		if r := s.script(t, nil, line); r.stdout != "[]\n" || r.code != 0 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	for _, pair := range [][2]string{
		{"queue info bare", "queue info orders"},
		{"msg get bare 1", "msg get orders 3"},
		{"msg get bare 1", "msg get orders 4"},
		{"msg get bare 1", "msg get orders 5"},
		{"msg get bare 1", "msg get orders-dlq 1"},
		{"dlq show orders 2", "dlq show orders 1"},
		{"queue peek bare", "queue peek orders --limit 1"},
		{"dlq replay bare --all --dry-run", "dlq replay orders --all --dry-run"},
		{"dlq purge bare --all --force", "dlq purge orders --all --dry-run"},
		{"pub orders x", "pub orders x -H Nats-Msg-Id:1"},
		{"pub orders x", "pub orders x -H Nats-Msg-Id:1"}, // a duplicate now
	} {
		a, b := fields(t, s, pair[0]), fields(t, s, pair[1])
		if !slices.Equal(a, b) {
			t.Errorf("%s has the fields %v\n%s has %v", pair[0], a, pair[1], b)
		}
	}
}

// fields are the names of the fields of a document, those of the first item of each
// list included; what is null in one and a table in the other is left out.
func fields(t *testing.T, s *server, line string) []string {
	t.Helper()
	r := s.script(t, nil, line)
	var document any
	if err := json.Unmarshal([]byte(r.stdout), &document); err != nil || r.code != 0 {
		t.Fatalf("%s: %v: %+v", line, err, r)
	}
	var names []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				names = append(names, path+key)
				if key != "letter" && key != "history" && key != "headers" && key != "skipped" {
					walk(path+key+".", value)
				}
			}
		case []any:
			if len(v) > 0 {
				walk(path, v[0])
			}
		}
	}
	walk("", document)
	slices.Sort(names)
	return names
}

// Bodies come back byte for byte: in base64, and raw where stdout is no terminal.
func TestL3_BodiesAreExact(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	stuff(t, s.connect(t))
	for k, body := range stuffed {
		for _, env := range [][]string{{"LC_ALL=C", "LANG=C"}, {"LC_ALL=C.UTF-8", "TERM=xterm-256color", "CLICOLOR_FORCE=1"}} {
			var m struct {
				Data []byte
				Size int
			}
			r := s.script(t, env, fmt.Sprintf("msg get orders %d", k+5))
			if err := json.Unmarshal([]byte(r.stdout), &m); err != nil || string(m.Data) != body || m.Size != len(body) {
				t.Errorf("message %d: %v, %d of %d bytes", k+5, err, len(m.Data), len(body))
			}
			if checkLine(t, r, "msg get", 0); t.Failed() {
				return
			}
		}
		if r := s.dsend(t, "msg", "get", "orders", fmt.Sprint(k+5)); r.stdout != body {
			t.Errorf("message %d raw: %d of %d bytes", k+5, len(r.stdout), len(body))
		}
	}
	// Tables for people carry nothing that a terminal would obey.
	for _, line := range []string{"queue peek orders", "dlq ls orders", "queue ls", "queue info orders", "dlq show orders 1"} {
		r := s.dsend(t, strings.Fields(line)...)
		if r.code != 0 || strings.ContainsAny(r.stdout, "\x00\x1b") || !utf8.ValidString(r.stdout) {
			t.Errorf("%s: %d %.300q", line, r.code, r.stdout)
		}
	}
}

// A wrong command line is told from a failure, and asks nobody anything.
func TestL3_UsageErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t, setup{}) // no server is needed
	for _, line := range []string{
		"queue info", "queue info a b", "queue nothing", "msg get orders", "msg get orders abc", "msg get orders 0", "msg get orders -1",
		"dlq replay orders", "dlq purge orders", "dlq replay orders 1 --all", "dlq ls orders --reason nonsense", "dlq ls orders --seq 5-1",
		"dlq ls orders --older-than 1d", "dlq ls orders --limit -1", "queue peek orders --limit -1", "queue purge orders", "queue rm orders",
		"msg rm orders 1", "dlq purge orders --all", "pub", "pub a.b x", "pub orders x --count -1", "pub orders x -H novalue", "work orders", "work orders true",
		"queue ls --nonsense", "queue ls --timeout -1s", "queue ls --timeout soon", "nothing", "config check", "config check a b",
	} {
		r := s.script(t, nil, line)
		if checkLine(t, r, line, 2); r.stdout != "" {
			t.Errorf("%s prints %q", line, r.stdout)
		}
	}
}

// Whoever closes the pipe has what they wanted: no noise, no crash, not 0.
func TestL3_ClosedPipe(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	c.putMany(t, "orders", strings.Repeat("x", 1000), 500)
	for _, arguments := range [][]string{
		{"queue", "peek", "orders", "--limit", "0", "--json"}, {"queue", "peek", "orders", "--limit", "0"}, {"queue", "ls"}, {"msg", "get", "orders", "1"},
		{"pub", "orders", "x", "--count", "5", "--json"}, {"work", "orders", "--", "cat"}, {"--help"},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"--server", s.url()}, arguments...)...)
		cmd.Env, cmd.Dir = environment(t, nil), t.TempDir()
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &stderr
		err = cmd.Run()
		_ = w.Close()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || stderr.Len() > 0 {
			t.Errorf("%v: %v, %q", arguments, err, stderr.String())
		}
	}
}
