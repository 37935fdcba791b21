package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const sample = "../../../configs/dsend.yaml"

var update = flag.Bool("update", false, "write "+sample+" anew")

// The sample is what the table makes of it, to the byte: every key with its
// help and its default, and nothing else.
func TestSampleIsTheTable(t *testing.T) {
	want := writeSample()
	if *update {
		if err := os.WriteFile(sample, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says; run go test -run Sample -update", sample)
	}
}

// The sample says what is so without it, but for auto_create and its queue.
func TestSampleChangesNothing(t *testing.T) {
	c := load(t, Options{File: sample})
	if len(c.Queues) != 1 || c.Queues[0].Name != "orders" {
		t.Fatalf("queues: %v", c.Queues)
	}
	without := load(t, Options{})
	without.AutoCreate = false
	if changes, immutable := Diff(without, c); len(changes) != 1 || changes[0] != "queues.orders: new" || immutable != nil {
		t.Errorf("the sample changes %v %v", changes, immutable)
	}
	q := c.Queues[0].Settings
	q.Subjects = nil
	if !q.Equal(c.Defaults) {
		t.Errorf("the queue of the sample is not like the defaults: %v", q)
	}
}

// What the sample has in comments loads too, and is the default.
func TestSampleWithoutCommentMarks(t *testing.T) {
	src, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	full := regexp.MustCompile(`(?m)^( *)#(\w)`).ReplaceAllString(string(src), "$1$2")
	full = regexp.MustCompile(`(?m)^ *list: .*\n`).ReplaceAllString(full, "")                 // stands beside initial
	full = regexp.MustCompile(`(?m)^    visibility_timeout_m.*\n`).ReplaceAllString(full, "") // the queue's, which is not automatic
	path := filepath.Join(t.TempDir(), "full.yaml")
	if err := os.WriteFile(path, []byte(full), 0o600); err != nil {
		t.Fatal(err)
	}
	if changes, immutable := Diff(load(t, Options{File: sample}), load(t, Options{File: path})); changes != nil || immutable != nil {
		t.Errorf("comments differ from the defaults: %v %v", changes, immutable)
	}
	root, err := readTree(path)
	if err != nil {
		t.Fatal(err)
	}
	var ps Problems
	r := reader{file: path, problems: &ps}
	r.root(root)
	for _, k := range globalKeys() {
		if !r.top.has(k.name) && k.name != "defaults.backoff.list" {
			t.Errorf("%s is not in the sample", k.name)
		}
	}
	for _, k := range queueKeys() {
		if !r.queues[0].has(k.name) && k.name != "backoff.list" && !strings.HasPrefix(k.name, "visibility_timeout_m") {
			t.Errorf("%s of a queue is not in the sample", k.name)
		}
	}
}

func writeSample() string {
	c := Default()
	c.AutoCreate = false
	w := sampleWriter{}
	w.line("", "# Every key of Dsend with its default. Variables of the environment come before")
	w.line("", "# this file (DSEND_SERVER_LISTEN), and flags before both (--listen).")
	w.line("", "# Durations and sizes have units (30s, 64MiB). A key that is not known is refused;")
	w.line("", `# "dsend config check FILE" says all that is wrong, and what each queue will do.`)
	for _, k := range globalKeys() {
		w.key("", k.name, k, k.global(c), "")
	}
	w.line("", "")
	w.line("", "# The queues. Each takes from defaults what it does not say itself.")
	w.line("", "queues:")
	w.line("  ", "# A name is 1 to 64 of A-Z a-z 0-9 _ - and case-sensitive.")
	w.line("  ", "- name: orders")
	q := c.Defaults
	q.Subjects = []string{"orders.>"}
	w.table = ""
	for _, k := range queueKeys() {
		mark := "#"
		if k.name == "subjects" {
			mark = ""
		}
		w.key("    ", k.name, k, k.perQueue(&q), mark)
	}
	return w.text.String()
}

type sampleWriter struct {
	text  strings.Builder
	table string // the one that is open
}

func (w *sampleWriter) line(indent, s string) {
	w.text.WriteString(strings.TrimRight(indent+s, " ") + "\n")
}

// key writes a key below the tables its name asks for; mark comments it out.
func (w *sampleWriter) key(indent, name string, k key, field any, mark string) {
	words := strings.Split(name, ".")
	open := strings.Split(w.table, ".")
	w.table = strings.Join(words[:len(words)-1], ".")
	for i, word := range words[:len(words)-1] {
		if i >= len(open) || strings.Join(open[:i+1], ".") != strings.Join(words[:i+1], ".") {
			if i == 0 && indent == "" {
				w.line("", "")
			}
			w.line(indent+strings.Repeat("  ", i), mark+word+":")
		}
	}
	if len(words) == 1 && indent == "" {
		w.line("", "")
	}
	indent += strings.Repeat("  ", len(words)-1)
	w.line(indent, "# "+k.help)
	value := yamlText(k, field)
	if strings.HasSuffix(name, "backoff.list") {
		mark, value = "#", "[1s, 5s, 1m]"
	}
	w.line(indent, mark+words[len(words)-1]+": "+value)
}

func yamlText(k key, field any) string {
	texts := k.kind.texts(field)
	switch {
	case k.kind.list:
		return "[" + strings.Join(texts, ", ") + "]"
	case texts[0] == "":
		return `""`
	default:
		return texts[0]
	}
}

// The names are all different, and so are those made of them.
func TestKeysAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Keys() {
		for _, name := range []string{fmt.Sprint(d.PerQueue, d.Name), d.Flag, d.Env} {
			if name != "" && seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if d.Type == "" || !strings.HasSuffix(d.Help, ".") {
			t.Errorf("%s is not described: %+v", d.Name, d)
		}
	}
}
