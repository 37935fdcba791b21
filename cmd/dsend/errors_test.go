package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/bridge/admin"

	"dsend/testkit"
)

// Wrong command lines: exit 2, one line, and nobody is asked.
func TestUsage(t *testing.T) {
	p := at0("nats://127.0.0.1:1") // asking anybody would be another error
	for line, want := range map[string]string{
		"frobnicate":                                    `unknown command "frobnicate" for "dsend"`,
		"queue frobnicate":                              `unknown command "frobnicate" for "dsend queue"`,
		"queue ls --frobnicate":                         "unknown flag: --frobnicate",
		"queue ls orders":                               "usage: dsend queue ls",
		"queue info":                                    "usage: dsend queue info QUEUE",
		"queue purge orders":                            "this removes messages: without a terminal it needs --force",
		"queue rm orders":                               "this removes messages: without a terminal it needs --force",
		"msg get orders":                                "usage: dsend msg get QUEUE SEQ",
		"msg get orders x":                              `"x" is not a sequence: a number from 1`,
		"msg get orders 0":                              `"0" is not a sequence: a number from 1`,
		"msg rm orders 1":                               "this removes messages: without a terminal it needs --force",
		"dlq replay orders":                             "which letters? sequences, filters, or --all",
		"dlq replay orders 1 --all":                     "sequences, filters and --all exclude each other",
		"dlq replay orders --all --error x":             "--all and filters exclude each other",
		"dlq replay orders --all --rate -1":             "rate -1 is neither 0 nor from one a day to 1e+09 a second",
		"dlq purge orders --all":                        "this removes messages: without a terminal it needs --force",
		"dlq ls orders --reason tired":                  `--reason: "tired" is not a reason (max_attempts, terminated, expired, limit_lowered, manual)`,
		"dlq ls orders --seq 9-3":                       `--seq "9-3" is not a sequence or a range such as 1-100`,
		"dlq ls orders --limit -1":                      "--limit -1 is negative",
		"dlq ls orders --older-than 2h --newer-than 1h": "newer_than 1h0m0s is not above older_than 2h0m0s",
		"dlq ls orders --older-than 7":                  `invalid argument "7" for "--older-than" flag: time: missing unit in duration "7"`,
		"pub a.b x":                                     `"a.b" is not a queue name`,
		"pub orders x -H nocolon":                       `--header "nocolon" is not 'Name: value'`,
		"pub orders x -H 'Näme: x'":                     `--header "Näme: x" is not 'Name: value'`,
		"pub orders x --count -1":                       "--count -1 is negative",
		"work orders":                                   "usage: dsend work QUEUE -- COMMAND [ARG...]",
		"work orders cat":                               "usage: dsend work QUEUE -- COMMAND [ARG...]",
		"work orders --concurrency 0 -- cat":            "--concurrency must be above 0, --count and --grace not below",
		"bench pub a.b":                                 `"a.b" is not a queue name`,
		"bench pub b --size 7":                          "the size must be at least 8 bytes: they hold the time of the publish",
		"bench pub b --mode mqtt":                       `--mode "mqtt" is neither native nor jetstream`,
		"bench work b --batch 0":                        "the batch must be at least 1",
		"bench pub b --rate NaN":                        "the rate must be a number of publishes per second; 0 is as fast as the answers come",
		"bench pub b --rate +Inf":                       "the rate must be a number of publishes per second; 0 is as fast as the answers come",
		"bench pub b --device /nowhere":                 "--device: stat /nowhere: no such file or directory",
		"bench compare --write /nowhere/table.md":       "--write: stat /nowhere: no such file or directory",
		"bench life b --duration 0s":                    "a duration or a count must end it",
		"bench compare --only luck":                     `"luck" is not a part of the comparison: publish, small, lone, life, drain, backlog, crowd, redelivery, idle, delay`,
		"config check":                                  "usage: dsend config check FILE",
		"queue ls --server '://nothing'":                "server URL 1 is not one such as nats://127.0.0.1:4222",
		"queue ls --prefix 'a b'":                       `the prefix "a b" does not begin a NATS subject`,
		"queue ls --prefix a.>":                         `the prefix "a.>" does not begin a NATS subject`,
		"queue ls --timeout -1s":                        "--timeout -1s is negative",
		"queue ls -s nats://user:secret@127.0.0.1:x:y":  "server URL 1 is not one such as nats://127.0.0.1:4222",
	} {
		p.run(t, fields(line)...).fails(t, 2, "dsend: "+want)
	}
}

func TestHelpHasAnExample(t *testing.T) {
	root := newRoot(&app{})
	for _, c := range append(root.Commands(), root) {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		leaves := c.Commands()
		if len(leaves) == 0 {
			leaves = append(leaves, c)
		}
		for _, leaf := range leaves {
			if leaf.Runnable() && leaf.Example == "" && len(leaf.Commands()) == 0 {
				t.Errorf("%s has no example", leaf.CommandPath())
			}
		}
	}
	if r := at0("").run(t, "dlq", "replay", "--help").ok(t); !strings.Contains(r.out, "dsend dlq replay orders --all --rate 50") {
		t.Errorf("%s", r.out)
	}
	if r := at0("").run(t).ok(t); !strings.Contains(r.out, "Exit codes") {
		t.Errorf("%s", r.out)
	}
}

// Each way in which nobody answers has its own line, and shows no secret.
func TestNobodyThere(t *testing.T) {
	at0("nats://user:secret@127.0.0.1:1").run(t, "queue", "ls", "--json").
		fails(t, 1, "dsend: no NATS server answers at nats://127.0.0.1:1")

	url := natsServer(t, server.Options{})
	at0(url).run(t, "queue", "ls", "--json").
		fails(t, 1, "dsend: no Dsend answers at "+url+" (nobody is there for dsend.api.queue.ls)")
	at0(url).run(t, "queue", "ls", "--prefix", "other").
		fails(t, 1, "dsend: no Dsend answers at "+url+" (nobody is there for other.api.queue.ls)")
	at0(url).run(t, "pub", "orders", "x").
		fails(t, 1, "dsend: no Dsend answers at "+url+" (nobody is there for dsend.publish.orders)")
	at0(url).run(t, "work", "orders", "--", "cat").
		fails(t, 1, "dsend: no Dsend answers at "+url+" (nobody is there for dsend.pull.orders)")

	script{"queue.ls": always(nil)}.play(t, url)
	p := at0(url)
	p.env["NATS_TIMEOUT"] = "50ms"
	p.run(t, "queue", "ls").fails(t, 1, "dsend: no answer to dsend.api.queue.ls from "+url+" within 50ms")
	p.env["NATS_TIMEOUT"] = "soon"
	p.run(t, "queue", "ls").fails(t, 2, `dsend: NATS_TIMEOUT "soon" is not a duration such as 5s`)
}

func TestCredentials(t *testing.T) {
	url := natsServer(t, server.Options{Users: []*server.User{
		{Username: "operator", Password: "s3cret"},
		{Username: "guest", Password: "guest", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"dsend.publish.>"}},
		}},
	}})
	host := strings.TrimPrefix(url, "nats://")
	scene := emptyScene()
	scene.play(t, "nats://operator:s3cret@"+host)

	refused := "dsend: " + url + " refuses these credentials (NATS_CREDS, NATS_USER and NATS_PASSWORD, NATS_NKEY, or a context)"
	p := at0(url)
	p.run(t, "queue", "ls", "--json").fails(t, 1, refused)
	p.env["NATS_USER"], p.env["NATS_PASSWORD"] = "operator", "wrong"
	p.run(t, "queue", "ls").fails(t, 1, refused)
	p.env["NATS_PASSWORD"] = "s3cret"
	p.run(t, "queue", "ls", "--json").ok(t)
	p.env["NATS_USER"], p.env["NATS_PASSWORD"] = "guest", "guest"
	p.run(t, "queue", "ls").fails(t, 1, `dsend: not permitted at `+url+`: permissions violation: Permissions Violation for Publish to "dsend.api.queue.ls"`)
	p.run(t, "work", "orders", "--", "cat").fails(t, 1, `dsend: not permitted at `+url+`: permissions violation: Permissions Violation for Publish to "dsend.pull.orders"`)
	p.env["NATS_CREDS"] = "/nowhere/x.creds"
	p.env["NATS_USER"], p.env["NATS_PASSWORD"] = "", ""
	if r := p.run(t, "queue", "ls"); r.code != 1 || !strings.Contains(r.err, "/nowhere/x.creds") {
		t.Errorf("%+v", r)
	}
}

// Contexts of the nats CLI: by name, selected, by file, and overridden.
func TestContexts(t *testing.T) {
	url := natsServer(t, server.Options{Username: "operator", Password: "s3cret"})
	emptyScene().play(t, "nats://operator:s3cret@"+strings.TrimPrefix(url, "nats://"))
	home := t.TempDir()
	write := func(name string, v any) {
		t.Helper()
		text, err := json.Marshal(v)
		if s, ok := v.(string); ok {
			text = []byte(s)
		}
		path := filepath.Join(home, "nats", name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("context/ops.json", map[string]any{"url": url, "user": "operator", "password": "s3cret", "description": "", "color_scheme": "green"})
	write("context/nsc.json", map[string]any{"url": url, "nsc": "nsc://a/b/c"})
	write("context/vault.json", map[string]any{"url": url, "user": "operator", "password": "op://vault/item"})
	write("context/bad.json", "{")
	p := person{env: map[string]string{"XDG_CONFIG_HOME": home}}
	p.run(t, "queue", "ls", "--context", "ops", "--json").ok(t)
	p.run(t, "queue", "ls", "--json", "--context", filepath.Join(home, "nats/context/ops.json")).ok(t)
	for name, want := range map[string]string{
		"nsc":   "NATS context nsc: nsc is not supported by dsend; use creds",
		"vault": "NATS context vault: password from op:// is not supported by dsend",
		"bad":   "NATS context bad: unexpected end of JSON input",
		"a/b":   `NATS context "a/b": not a name`,
		"none":  "there is no NATS context none (" + filepath.Join(home, "nats/context/none.json") + ")",
	} {
		p.run(t, "queue", "ls", "--context", name).fails(t, 1, "dsend: "+want)
	}
	write("context.txt", "ops\n")
	p.run(t, "queue", "ls", "--json").ok(t)
	p.env["NATS_CONTEXT"] = "nsc"
	p.run(t, "queue", "ls").fails(t, 1, "dsend: NATS context nsc: nsc is not supported by dsend; use creds")
	p.env["NATS_CONTEXT"] = "ops"
	p.env["NATS_USER"], p.env["NATS_PASSWORD"] = "operator", "wrong"
	if r := p.run(t, "queue", "ls"); r.code != 1 || !strings.Contains(r.err, "refuses these credentials") {
		t.Errorf("the environment does not replace the credentials of the context: %+v", r)
	}
}

func TestPathsInContextsAreExpanded(t *testing.T) {
	a := &app{env: func(name string) string { return map[string]string{"HOME": "/home/me", "KEYS": "/keys"}[name] }}
	for path, want := range map[string]string{
		"~/a.creds": "/home/me/a.creds", "$KEYS/b": "/keys/b", "file:///c": "/c", "/d": "/d", "": "",
	} {
		if got := a.expand(path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}

// failing is a stdout that takes some bytes, and then is closed.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
	}
	return len(p), nil
}

// Whoever reads stdout may leave early: that is quiet, and not a success.
func TestClosedPipe(t *testing.T) {
	url := natsServer(t, server.Options{})
	s := manyScene()
	letters := make([]admin.Letter, 200)
	for i := range letters {
		letters[i] = aLetter(uint64(i+1), "bad")
	}
	s["dlq.ls"] = always(admin.DLQLsAnswer{Letters: letters, Progress: progress(200)})
	s.play(t, url)
	for _, line := range []string{
		"queue ls", "queue ls --json", "dlq ls orders", "dlq export orders", "dlq export orders --json",
		"msg get orders 4", "queue info orders", "reload", "version", "dlq show orders 1", "help",
	} {
		p := at0(url)
		p.out = &failing{}
		if r := p.run(t, fields(line)...); r.code != 1 || r.err != "" {
			t.Errorf("%s: exit %d, %q", line, r.code, r.err)
		}
	}
	r, w := io.Pipe()
	r.Close()
	p := at0(url)
	p.out = w
	if r := p.run(t, "dlq", "export", "orders"); r.code != 1 || r.err != "" {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

// What cannot be written is an error, not silence.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	testkit.Need(t, err == nil, "/dev/full (Linux)")
	defer full.Close()
	url := natsServer(t, server.Options{})
	oneScene().play(t, url)
	p := at0(url)
	p.out = full
	p.run(t, "queue", "ls", "--json").fails(t, 1, "dsend: write /dev/full: no space left on device")
}

func TestConfigCheck(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for path, text := range map[string]string{
		good: "queues:\n  - name: orders\n    max_attempts: 3\n",
		bad:  "queues:\n  - name: orders\n    max_atempts: 3\n    backoff: {initial: 5}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := at0("")
	if r := p.run(t, "config", "check", good).ok(t); !strings.Contains(r.out, "orders") {
		t.Errorf("%s", r.out)
	}
	report := document[map[string]any](t, p.run(t, "config", "check", good, "--json").ok(t))
	if queues, ok := report["queues"].([]any); !ok || len(queues) != 1 {
		t.Errorf("%v", report)
	}
	r := p.run(t, "config", "check", bad, "--json")
	if r.code != 1 || r.out != "" {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	for i, line := range strings.Split(strings.TrimSpace(r.err), "\n") {
		if !strings.HasPrefix(line, "dsend: "+bad+":") {
			t.Errorf("line %d: %s", i, line)
		}
	}
}

func TestVersion(t *testing.T) {
	p := at0("")
	if r := p.run(t, "version").ok(t); !strings.HasPrefix(r.out, "dsend ") {
		t.Errorf("%q", r.out)
	}
	if b := document[build](t, p.run(t, "version", "--json").ok(t)); b.Version == "" || b.Go == "" {
		t.Errorf("%+v", b)
	}
}
