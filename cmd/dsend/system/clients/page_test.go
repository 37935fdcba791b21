package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

const page = "../../../../bridge/jetstream/README.md"

// The page for those who come from JetStream is true: each of its requests is
// answered as it says, in order.
func TestPageIsTrue(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	steps := apiSteps(string(text))
	if len(steps) < 25 {
		t.Fatalf("%s has %d requests, fewer than were written", page, len(steps))
	}
	nc := serve(t).connect(t)
	for _, s := range steps {
		m, err := nc.RequestMsg(s.msg(), patience)
		if err != nil {
			t.Fatalf("%s: %v", s.request, err)
		}
		var got, want any
		if err := json.Unmarshal(m.Data, &got); err != nil {
			t.Fatalf("%s: %v: %s", s.request, err, m.Data)
		}
		if err := json.Unmarshal([]byte(s.answer), &want); err != nil {
			t.Fatalf("%s: the page says %s: %v", s.request, s.answer, err)
		}
		if missing := within(want, got); missing != "" {
			t.Errorf("%s\nis answered with\n%s\nwithout %s", s.request, m.Data, missing)
		}
	}
}

// step is a request of the page and its answer.
type step struct{ request, answer string }

func apiSteps(page string) (steps []step) {
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```api"
		case inside && strings.HasPrefix(line, "> "):
			steps = append(steps, step{request: line[2:]})
		case inside && strings.HasPrefix(line, "< "):
			steps[len(steps)-1].answer = line[2:]
		}
	}
	return steps
}

// msg is the request as it is sent: to the API, or a publish with a header.
func (s step) msg() *nats.Msg {
	verb, rest, _ := strings.Cut(s.request, " ")
	if verb != "PUBLISH" {
		return &nats.Msg{Subject: "$JS.dsend.API." + verb, Data: []byte(rest)}
	}
	subject, header, _ := strings.Cut(rest, " ")
	m := nats.NewMsg(subject)
	if key, value, ok := strings.Cut(header, ":"); ok {
		m.Header.Set(key, value)
	}
	return m
}

// within tells what of want is not in got: objects may have more fields.
func within(want, got any) string {
	fields, isObject := want.(map[string]any)
	if !isObject {
		if fmt.Sprint(want) != fmt.Sprint(got) {
			return fmt.Sprint(want)
		}
		return ""
	}
	object, _ := got.(map[string]any)
	for name, value := range fields {
		there, ok := object[name]
		if !ok && value != false && value != float64(0) { // which JSON leaves out
			return name
		}
		if missing := within(value, there); ok && missing != "" {
			return name + ": " + missing
		}
	}
	return ""
}

// The tests that the page names are there.
func TestPageNamesTests(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(text), -1)
	if len(names) < 12 {
		t.Fatalf("%s names %d tests, fewer than were written", page, len(names))
	}
	out, err := exec.Command("go", "list", "-f", "{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}}\n{{end}}", "dsend/cmd/dsend/system/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, file := range strings.Fields(string(out)) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(source)
	}
	for _, name := range names {
		if !strings.Contains(sources.String(), "\nfunc "+name+"(") {
			t.Errorf("%s names %s, which is not there", page, name)
		}
	}
}
