package system

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dsend/testkit"
)

// L1: a bad configuration is refused by serve and by config check: exit code not 0,
// one line with file, line and key, no server, and nothing on disk.
func TestL1_BadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	queue := func(lines string) string { return "queues:\n- name: orders\n" + lines }
	name := func(name string) string { return "queues:\n- name: " + name + "\n" }
	for what, row := range map[string]struct {
		text string
		want string // the line behind the file's name
	}{
		"a misspelled key":           {"storrage: {dir: x}\n", `:1: storrage: `},
		"a misspelled key of one":    {queue("  max_atempts: 5\n"), `:3: queues.orders.max_atempts: `},
		"a key twice":                {"prefix: a\nprefix: b\n", `:2: prefix: `},
		"a key of one twice":         {queue("  max_attempts: 5\n  max_attempts: 5\n"), `:4: queues.orders.max_attempts: `},
		"a queue twice":              {queue("- name: orders\n"), `:3: queues.orders.name: `},
		"no unit":                    {queue("  visibility_timeout: 30\n"), `:3: queues.orders.visibility_timeout: "30" has no unit`},
		"no unit in quotes":          {queue("  visibility_timeout: '30'\n"), `:3: queues.orders.visibility_timeout: "30" has no unit`},
		"a negative duration":        {queue("  visibility_timeout: -5s\n"), `:3: queues.orders.visibility_timeout: `},
		"a day":                      {queue("  max_age: 1d\n"), `:3: queues.orders.max_age: `},
		"no time":                    {queue("  visibility_timeout: 0\n"), `:3: queues.orders.visibility_timeout: `},
		"negative attempts":          {queue("  max_attempts: -1\n"), `:3: queues.orders.max_attempts: `},
		"a fraction of attempts":     {queue("  max_attempts: 1.5\n"), `:3: queues.orders.max_attempts: `},
		"attempts in words":          {queue("  max_attempts: ten\n"), `:3: queues.orders.max_attempts: `},
		"a cap below the first wait": {queue("  backoff: {initial: 10s, max: 1s}\n"), `:3: queues.orders.backoff.max: `},
		"jitter of all":              {queue("  backoff: {jitter: 1}\n"), `:3: queues.orders.backoff.jitter: `},
		"two forms of backoff":       {queue("  backoff: {list: [1s], initial: 1s}\n"), `:3: queues.orders.backoff`},
		"an empty list":              {queue("  backoff: {list: []}\n"), `:3: queues.orders.backoff.list: `},
		"no places":                  {queue("  max_in_flight: 0\n"), `:3: queues.orders.max_in_flight: `},
		"a size that wraps":          {queue("  max_bytes: 9223372036854775808\n"), `:3: queues.orders.max_bytes: `},
		"a size without a unit":      {queue("  max_bytes: 100\n"), `:3: queues.orders.max_bytes: `},
		"a hold below the timeout":   {queue("  max_hold: 1s\n"), `:3: queues.orders.max_hold: `},
		"no name":                    {"queues:\n- max_attempts: 5\n", `:2: queues.#1.name: `},
		"an empty name":              {name("''"), `:2: queues.#1.name: `},
		"a space in a name":          {name("a b"), `:2: queues.#1.name: `},
		"a dot in a name":            {name("a.b"), `:2: queues.#1.name: `},
		"a star as a name":           {name("'*'"), `:2: queues.#1.name: `},
		"all as a name":              {name("'>'"), `:2: queues.#1.name: `},
		"a slash in a name":          {name("a/b"), `:2: queues.#1.name: `},
		"the folder above as a name": {name("'../../up'"), `:2: queues.#1.name: `},
		"dots as a name":             {name("'..'"), `:2: queues.#1.name: `},
		"a NUL in a name":            {name(`"a\0b"`), `:2: queues.#1.name: `},
		"a name of 300 letters":      {name(strings.Repeat("n", 300)), `:2: queues.#1.name: `},
		"a name in UTF-8":            {name("größe"), `:2: queues.#1.name: `},
		"two with one subject":       {queue("  subjects: [a.b]\n- name: other\n  subjects: [a.b]\n"), `:5: queues.other.subjects: `},
		"two that overlap":           {queue("  subjects: [a.*]\n- name: other\n  subjects: [a.b]\n"), `:5: queues.other.subjects: `},
		"an inbox":                   {queue("  subjects: [_INBOX.>]\n"), `:3: queues.orders.subjects: `},
		"our own subjects":           {queue("  subjects: [dsend.>]\n"), `:3: queues.orders.subjects: `},
		"everything":                 {queue("  subjects: ['>']\n"), `:3: queues.orders.subjects: `},
		"a circle of dead letters":   {queue("  dead_letter: {queue: b}\n- name: b\n  dead_letter: {queue: orders}\n"), `:3: queues.orders.dead_letter.queue: `},
		"itself for dead letters":    {queue("  dead_letter: {queue: orders}\n"), `:3: queues.orders.dead_letter.queue: `},
		"a list for a queue":         {"queues: [orders]\n", `:1: queues.#1: `},
		"a tab":                      {"queues:\n\t- name: a\n", `:2: `},
		"an empty file":              {"", `:1: is empty`},
		"not UTF-8":                  {"prefix: \"\xff\"\n", `:1: is not UTF-8`},
		"a null":                     {"prefix:\n", `:1: prefix: `},
		"a bad prefix":               {"prefix: a.*\n", `:1: prefix: `},
		"a bad address":              {"server: {listen: '4222'}\n", `:1: server.listen: `},
		"one address twice":          {"server: {listen: 'a:1'}\nhttp: {listen: 'a:1'}\n", `: "a:1" is both server.listen and http.listen`},
		"no such server.config":      {"server:\n  config: no/such.conf\n", `:2: server.config: `},
		"JetStream's word":           {queue("  ack_wait: 30s\n"), `:3: queues.orders.ack_wait: unknown key (here it is called visibility_timeout)`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"serve", "check"} {
				refusedConfig(t, command, row.text, row.want)
			}
		})
	}
}

// refusedConfig has a configuration refused by a command.
func refusedConfig(t *testing.T, command, text, want string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "dsend.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"config", "check", file}
	if command == "serve" {
		arguments = []string{"serve", "--file", file, "--data", filepath.Join(dir, "data"), "--http", testkit.PickAddr(t)}
		if !strings.Contains(want, "listen") {
			arguments = append(arguments, "--listen", testkit.PickAddr(t))
		} else {
			arguments = arguments[:len(arguments)-2]
		}
	}
	p := launch(t, nil, arguments...)
	if code := p.wait(t); code < 1 {
		t.Errorf("%s: exit code %d", command, code)
	}
	lines := p.err.all()
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "dsend: "+file) || !strings.Contains(lines[0], want) {
		t.Errorf("%s says\n%s\nwant one line with %s", command, strings.Join(lines, "\n"), want)
	}
	if len(p.out.all()) > 0 {
		t.Errorf("%s prints %q", command, p.out.all())
	}
	onlyThere(t, dir, "dsend.yaml")
	onlyThere(t, p.cmd.Dir)
}

// onlyThere checks that a folder has these files and no others.
func onlyThere(t testing.TB, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	if strings.Join(found, " ") != strings.Join(names, " ") {
		t.Errorf("in %s there are %v, want %v", dir, found, names)
	}
}

// What the file cannot say wrong, the command line, the environment and the file's
// name can.
func TestL1_BadCommandLineAndEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for what, row := range map[string]struct {
		env, arguments []string
		want           string
	}{
		"an unknown flag":         {nil, []string{"serve", "--lisen", "a:1"}, `^dsend: --lisen: unknown flag \(did you mean --listen\?\)$`},
		"a flag without value":    {nil, []string{"serve", "--listen"}, `^dsend: flag needs an argument: --listen$`},
		"a bad value":             {nil, []string{"serve", "--listen", "4222"}, `^dsend: --listen: "4222" is not host:port$`},
		"an operand":              {nil, []string{"serve", "orders"}, `^dsend: usage: dsend serve$`},
		"an unknown variable":     {[]string{"DSEND_LISTEN=a:1"}, []string{"serve"}, `^dsend: environment DSEND_LISTEN: unknown variable`},
		"a bad variable":          {[]string{"DSEND_STORAGE_RESERVE=1"}, []string{"serve"}, `^dsend: environment DSEND_STORAGE_RESERVE: `},
		"a missing file":          {nil, []string{"serve", "--file", "no.yaml"}, `^dsend: no.yaml: no such file or directory$`},
		"a missing file to check": {nil, []string{"config", "check", "no.yaml"}, `^dsend: no.yaml: no such file or directory$`},
		"a file by environment":   {[]string{"DSEND_CONFIG=no.yaml"}, []string{"serve"}, `^dsend: no.yaml: no such file or directory$`},
		"a folder for a file":     {nil, []string{"serve", "--file", dir + "/x.yaml"}, `^dsend: .*/x.yaml: is a directory$`},
		"an unknown format":       {nil, []string{"config", "check", "dsend.ini"}, `^dsend: dsend.ini: has no known format`},
		"an unknown command":      {nil, []string{"sevre"}, `^dsend: unknown command "sevre" for "dsend"`},
		"an unknown sub-command":  {nil, []string{"queue", "lst"}, `^dsend: unknown command "lst" for "dsend queue"$`},
		"nothing to check":        {nil, []string{"config", "check"}, `^dsend: usage: dsend config check FILE$`},
	} {
		if strings.Contains(row.want, "x.yaml") {
			if err := os.Mkdir(filepath.Join(dir, "x.yaml"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := launch(t, row.env, row.arguments...)
			if code := p.wait(t); code != 1 && code != 2 {
				t.Errorf("exit code %d", code)
			}
			lines := p.err.all()
			if len(lines) != 1 || !regexp.MustCompile(row.want).MatchString(lines[0]) {
				t.Errorf("it says\n%s\nwant %s", strings.Join(lines, "\n"), row.want)
			}
			onlyThere(t, p.cmd.Dir)
		})
	}
}

// All that is wrong is said at once, in order.
func TestL1_AllFaultsAreSaid(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dsend.toml")
	if err := os.WriteFile(file, []byte("prefx = 'a'\n[[queues]]\nname = 'orders'\nmax_attempts = -1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, []string{"DSEND_HTTP_LISTEN=x"}, "config", "check", file)
	if code := p.wait(t); code != 1 {
		t.Errorf("exit code %d", code)
	}
	lines := p.err.all()
	if len(lines) != 3 || !strings.Contains(lines[0], ":1: prefx: ") || !strings.Contains(lines[1], ":4: queues.orders.max_attempts: ") || !strings.Contains(lines[2], "environment DSEND_HTTP_LISTEN: ") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

// A good one is proven, and the timetable of each queue shown.
func TestL1_GoodConfigurationIsShown(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dsend.yaml")
	if err := os.WriteFile(file, []byte(settings("orders", "max_attempts: 4", "backoff: {list: [1s, 5s, 1m], jitter: 0}")), 0o600); err != nil {
		t.Fatal(err)
	}
	r := command(t, "config", "check", file)
	if r.code != 0 || r.stderr != "" || !strings.Contains(r.stdout, "orders") || !strings.Contains(r.stdout, "5s") {
		t.Errorf("%+v", r)
	}
	onlyThere(t, filepath.Dir(file), "dsend.yaml")
}
