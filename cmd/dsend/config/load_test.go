package config

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"dsend/retry"
)

// others are values of each key that differ from the default and from each
// other.
func others() map[string][3]string {
	return map[string][3]string{
		"server.listen":     {"127.0.0.1:1", "[::1]:2", ":3"},
		"server.config":     {"a.conf", "b.conf", "c.conf"},
		"server.account":    {"A", "B", "C"},
		"server.leaf":       {"nats://u:p@h:1", "tls://h:2,h3", "[::1]:4"},
		"server.leaf_creds": {"a.conf", "b.conf", "c.conf"},
		"server.leaf_ca":    {"a.conf", "b.conf", "c.conf"},
		"server.leaf_cert":  {"a.conf", "b.conf", "c.conf"},
		"server.leaf_key":   {"a.conf", "b.conf", "c.conf"},
		"http.listen":       {"localhost:1", "0.0.0.0:0", ""},
		"storage.dir":       {"/a", "B c", "./d,e"},
		"storage.reserve":   {"1GiB", "2MB", "0"},
		"storage.slack":     {"16MiB", "1GB", "2TiB"},
		"storage.cache":     {"1KiB", "3B", "4TB"},
		"sync.ack_interval": {"1ms", "0s", "1m"},
		"log.level":         {"debug", "warn", "error"},
		"log.format":        {"json", "text", "json"},
		"prefix":            {"Acme", "acme.jobs", "x"},
		"worker_grace":      {"0s", "2s", "1h30m"},
		"auto_create":       {"true", "false", "true"},

		"subjects":                      {"a.>,B.*", "c", ""},
		"visibility_timeout":            {"1s", "1h", "auto"},
		"visibility_timeout_min":        {"1s", "10m", "1ms"},
		"visibility_timeout_max":        {"5m", "24h", "1h30m"},
		"max_hold":                      {"1m", "2h", "30s"},
		"max_attempts":                  {"0", "1", "1000000"},
		"backoff.initial":               {"0s", "2s", "10m"},
		"backoff.factor":                {"1", "1.5", "1000000000000000000000000"},
		"backoff.max":                   {"1s", "1h", "24h"},
		"backoff.list":                  {"1s,5s", "0s", "1m,1ns"},
		"backoff.jitter":                {"0", "0.5", "0.0000001"},
		"max_in_flight":                 {"1", "2", "3"},
		"push.subject":                  {"Svc.do", "dsend.work.x", "w"},
		"push.max_in_flight_per_worker": {"2", "3", "4"},
		"dedupe_window":                 {"0s", "1s", "24h"},
		"max_messages":                  {"1", "2", "9223372036854775807"},
		"max_bytes":                     {"1B", "1GiB", "1025B"},
		"max_message_size":              {"1MiB", "8MB", "5kB"},
		"max_age":                       {"1s", "72h", "1ms"},
		"dead_letter.enabled":           {"false", "true", "false"},
		"dead_letter.queue":             {"Dead", "dead", "d"},
		"paused":                        {"true", "false", "true"},
	}
}

func othersOf(t *testing.T, k key) [3]string {
	t.Helper()
	v, ok := others()[strings.TrimPrefix(k.name, "defaults.")]
	if !ok {
		t.Fatalf("no value to try for %s", k.name)
	}
	return v
}

// friends are what a key needs beside it; it tells whether there are any.
func friends(tree map[string]any, name string) bool {
	switch name {
	case "server.account":
		put(tree, "server.config", "a.conf")
	case "server.leaf_creds", "server.leaf_ca":
		put(tree, "server.leaf", "h:1")
	case "server.leaf_cert":
		put(tree, "server.leaf", "h:1")
		put(tree, "server.leaf_key", "a.conf")
	case "server.leaf_key":
		put(tree, "server.leaf", "h:1")
		put(tree, "server.leaf_cert", "a.conf")
	default:
		return false
	}
	return true
}

// Every key arrives from a file of every format.
func TestEveryKeyRoundTrips(t *testing.T) {
	for _, k := range globalKeys() {
		for _, value := range othersOf(t, k) {
			want := canonical(t, k, value)
			for name, encode := range encoders() {
				tree := map[string]any{}
				friends(tree, k.name)
				put(tree, k.name, native(t, k.kind, split(k.kind, value)))
				src, err := encode(tree)
				if err != nil {
					t.Fatal(err)
				}
				file := write(t, name, string(src))
				conf(t, value)
				if got := text(k, k.global(load(t, Options{File: file}))); got != want {
					t.Errorf("%s: %s is %q, want %q", name, k.name, got, want)
				}
			}
		}
	}
}

// conf makes the nats-server file that a value names, and the one that friends
// do, where the test stands.
func conf(t *testing.T, value string) {
	t.Helper()
	for _, name := range []string{"a.conf", value} {
		if strings.HasSuffix(name, ".conf") {
			touch(t, name)
		}
	}
}

// canonical is a value in the form that the table writes.
func canonical(t *testing.T, k key, value string) string {
	t.Helper()
	c := Default()
	if err := k.kind.store(k.global(c), split(k.kind, value)); err != nil {
		t.Fatalf("%s: %v", k.name, err)
	}
	return text(k, k.global(c))
}

func TestEveryQueueKeyRoundTrips(t *testing.T) {
	for _, k := range queueKeys() {
		for _, value := range othersOf(t, k) {
			for name, encode := range encoders() {
				q := map[string]any{"name": "Q"}
				texts := split(k.kind, value)
				if value == "" && k.kind.list {
					texts = []string{}
				}
				put(q, k.name, native(t, k.kind, texts))
				src, err := encode(map[string]any{"queues": []any{q}})
				if err != nil {
					t.Fatal(err)
				}
				got := load(t, Options{File: write(t, name, string(src))}).Queues[0].Settings
				want := Default().Defaults
				if err := k.kind.store(k.perQueue(&want), texts); err != nil {
					t.Fatal(err)
				}
				if !got.Equal(want) {
					t.Errorf("%s: %s %q: got %+v, want %+v", name, k.name, value, got, want)
				}
			}
		}
	}
}

// File, then environment, then flags: the last one that speaks counts.
func TestPrecedence(t *testing.T) {
	for _, k := range globalKeys() {
		v := othersOf(t, k)
		tree := map[string]any{}
		needy := friends(tree, k.name)
		put(tree, k.name, native(t, k.kind, split(k.kind, v[0])))
		src, err := encoders()["d.json"](tree)
		if err != nil {
			t.Fatal(err)
		}
		file := write(t, "d.json", string(src))
		for _, name := range v {
			conf(t, name)
		}
		env := []string{k.variable() + "=" + v[1]}
		flag := "--" + k.flagName() + "=" + v[2]
		base := load(t, Options{})
		for _, row := range []struct {
			o    Options
			args []string
			want string
		}{
			{Options{}, nil, text(k, k.global(base))},
			{Options{File: file}, nil, v[0]},
			{Options{File: file, Env: env}, nil, v[1]},
			{Options{File: file}, []string{flag}, v[2]},
			{Options{File: file, Env: env}, []string{flag}, v[2]},
		} {
			got := text(k, k.global(load(t, row.o, row.args...)))
			if want := row.want; got != want && got != canonical(t, k, want) {
				t.Errorf("%s: got %q, want %q", k.name, got, want)
			}
		}
		if !needy {
			c := load(t, Options{Env: env}, flag)
			if got := text(k, k.global(c)); got != canonical(t, k, v[2]) {
				t.Errorf("%s without a file: got %q, want %q", k.name, got, v[2])
			}
			if c = load(t, Options{Env: env}); text(k, k.global(c)) != canonical(t, k, v[1]) {
				t.Errorf("%s from the environment: got %q, want %q", k.name, text(k, k.global(c)), v[1])
			}
		}
	}
}

func TestQueuesInherit(t *testing.T) {
	file := write(t, "d.yaml", `
defaults:
  max_attempts: 3
  backoff: {initial: 2s, max: 1m}
  dead_letter: {queue: graves}
queues:
- name: plain
- name: own
  max_attempts: 7
  backoff: {max: 5m}
- name: list
  backoff: [1s, 2s]
- name: listed
  backoff: {list: [3s], jitter: 0}
- name: graves
  dead_letter: {enabled: false}
`)
	c := load(t, Options{File: file, Env: []string{"DSEND_DEFAULTS_VISIBILITY_TIMEOUT=5s"}}, "--defaults-max-in-flight=9")
	for i, want := range []struct {
		attempts int
		backoff  retry.Policy
	}{
		{3, retry.Policy{Initial: 2 * time.Second, Factor: 2, Max: time.Minute, Jitter: 0.2}},
		{7, retry.Policy{Initial: 2 * time.Second, Factor: 2, Max: 5 * time.Minute, Jitter: 0.2}},
		{3, retry.Policy{Jitter: 0.2, List: []time.Duration{time.Second, 2 * time.Second}}},
		{3, retry.Policy{List: []time.Duration{3 * time.Second}}},
		{3, retry.Policy{Initial: 2 * time.Second, Factor: 2, Max: time.Minute, Jitter: 0.2}},
	} {
		q := c.Queues[i]
		if q.Settings.MaxAttempts != want.attempts || !samePolicy(q.Settings.Backoff, want.backoff) {
			t.Errorf("%s: got %d attempts, backoff %v", q.Name, q.Settings.MaxAttempts, q.Settings.Backoff)
		}
		if q.Settings.VisibilityTimeout != 5*time.Second || q.Settings.MaxInFlight != 9 || q.Settings.DLQName(q.Name) != "graves" {
			t.Errorf("%s does not inherit: %+v", q.Name, q.Settings)
		}
	}
	if q := c.Queues[1]; q.Line != 8 || q.File != file {
		t.Errorf("queue own is at %s:%d", q.File, q.Line)
	}
}

func samePolicy(a, b retry.Policy) bool {
	return slices.Equal(a.List, b.List) && a.Initial == b.Initial && a.Factor == b.Factor && a.Max == b.Max && a.Jitter == b.Jitter
}

// The nearer source says which form a backoff has.
func TestBackoffForms(t *testing.T) {
	for _, row := range []struct {
		file, env, flag, queue string
		want                   string
	}{
		{"[1s, 5s]", "", "", "", "[1s 5s] −20%"},
		{"[1s, 5s]", "DSEND_DEFAULTS_BACKOFF_MAX=2m", "", "", "1s ×2 ≤2m −20%"},
		{"[1s, 5s]", "DSEND_DEFAULTS_BACKOFF_LIST=7s", "", "", "[7s] −20%"},
		{"{max: 3m}", "DSEND_DEFAULTS_BACKOFF_LIST=7s , 8s", "", "", "[7s 8s] −20%"},
		{"{max: 3m}", "DSEND_DEFAULTS_BACKOFF_LIST=7s", "--defaults-backoff-factor=3", "", "1s ×3 ≤3m −20%"},
		{"{max: 3m, jitter: 0}", "", "--defaults-backoff-list=1s", "", "[1s]"},
		{"{jitter: 0.1}", "", "", "{jitter: 0.5}", "1s ×2 ≤10m −50%"},
		{"[1s, 5s]", "", "", "{jitter: 0.5}", "[1s 5s] −50%"},
		{"{list: [1s], jitter: 0.1}", "", "", "{initial: 3s}", "3s ×2 ≤10m −10%"},
		{"{initial: 3s, jitter: 0.1}", "", "", "[4s]", "[4s] −10%"},
	} {
		queue := "{name: a}"
		if row.queue != "" {
			queue = "{name: a, backoff: " + row.queue + "}"
		}
		o := Options{File: write(t, "d.yaml", "defaults: {backoff: "+row.file+"}\nqueues: ["+queue+"]\n")}
		if row.env != "" {
			o.Env = []string{row.env}
		}
		var args []string
		if row.flag != "" {
			args = []string{row.flag}
		}
		c := load(t, o, args...)
		if got := c.Queues[0].Settings.Backoff.String(); got != row.want {
			t.Errorf("%+v: got %s", row, got)
		}
	}
}

// Names and values keep their case, also where viper would not keep it.
func TestCaseIsKept(t *testing.T) {
	file := write(t, "d.yaml", "storage: {dir: ./Data}\nqueues:\n- {name: Orders, subjects: [Orders.>]}\n- {name: orders, subjects: [orders.>], dead_letter: {queue: Dead}}\n")
	c := load(t, Options{File: file})
	if c.Storage.Dir != "./Data" || c.Queues[0].Name != "Orders" || c.Queues[1].Name != "orders" ||
		c.Queues[0].Settings.Subjects[0] != "Orders.>" || c.Queues[1].Settings.DeadLetter.Queue != "Dead" {
		t.Errorf("got %+v", c)
	}
}

// With a nats-server file the address is that file's, unless one is given.
func TestListenBesideConfig(t *testing.T) {
	write(t, "a.conf", "")
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"--server-config=a.conf"}, ""},
		{[]string{"--server-config=a.conf", "--listen=a:1"}, "a:1"},
		{[]string{"--server-config="}, "127.0.0.1:4222"},
	} {
		if got := load(t, Options{}, row.args...).Server.Listen; got != row.want {
			t.Errorf("%v: listen is %q, want %q", row.args, got, row.want)
		}
	}
}

func TestAutoCreateDependsOnTheFile(t *testing.T) {
	file := write(t, "d.yaml", "prefix: a\n")
	if !load(t, Options{}).AutoCreate || load(t, Options{File: file}).AutoCreate || !load(t, Options{File: file}, "--auto-create").AutoCreate {
		t.Error("auto_create is not on without a file, off with one, and on when told")
	}
}

// DSEND_CONFIG names the file, unless the caller does. What Kubernetes puts
// beside it is left alone.
func TestEnvironmentOfOthers(t *testing.T) {
	file := write(t, "d.yaml", "prefix: a\n")
	env := []string{
		"DSEND_CONFIG=" + file,
		"DSEND_SERVICE_HOST=10.0.0.1", "DSEND_SERVICE_PORT=4222", "DSEND_SERVICE_PORT_NATS=4222",
		"DSEND_PORT=tcp://10.0.0.1:4222", "DSEND_PORT_4222_TCP=tcp://10.0.0.1:4222",
		"DSEND_PORT_4222_TCP_PROTO=tcp", "DSEND_PORT_4222_TCP_PORT=4222", "DSEND_PORT_4222_TCP_ADDR=10.0.0.1",
		"dsend_x=1", "XDSEND_X=1", "=C:=x", "odd",
	}
	if c := load(t, Options{Env: env}); c.Prefix != "a" || c.File != file {
		t.Errorf("got prefix %q from %q", c.Prefix, c.File)
	}
	if c := load(t, Options{Env: append(env, "DSEND_PREFIX=x", "DSEND_PREFIX=b")}); c.Prefix != "b" {
		t.Errorf("got prefix %q", c.Prefix)
	}
}

// Forms of YAML and TOML that are not how a table is usually written.
func TestOtherSpellings(t *testing.T) {
	for name, src := range map[string]string{
		"d.yaml": "\ufefflog: &l {level: debug}\nqueues:\n- name: a\n  push: &p\n    max_in_flight_per_worker: 1_0\n- {name: b, push: *p}\n",
		"d.toml": "log.level = 'debug'\nqueues = [{name = \"a\", push.max_in_flight_per_worker = 1_0}, {name = 'b', push = {max_in_flight_per_worker = +10}}] # x\n",
		"d.json": "{\"log\": {\"level\": \"\\u0064ebug\"}, \"queues\": [{\"name\": \"a\", \"push\": {\"max_in_flight_per_worker\": 10}}, {\"name\": \"b\", \"push\": {\"max_in_flight_per_worker\": 10}}]}",
	} {
		c := load(t, Options{File: write(t, name, src)})
		if c.Log.Level != "debug" || len(c.Queues) != 2 || c.Queues[0].Settings.Push.MaxInFlightPerWorker != 10 || c.Queues[1].Settings.Push.MaxInFlightPerWorker != 10 {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

// Every value tried is that of a key.
func TestOthersAreKeys(t *testing.T) {
	for name := range maps.Keys(others()) {
		known := slices.ContainsFunc(append(serverKeys(), queueKeys()...), func(k key) bool { return k.name == name })
		if !known {
			t.Errorf("%s is no key", name)
		}
	}
}
