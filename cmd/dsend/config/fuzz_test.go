package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a file holds: no panic, and either a good configuration or lines that
// begin with the file.
func FuzzLoad(f *testing.F) {
	for _, src := range []string{
		"prefix: a\nqueues:\n- name: a\n  subjects: [x.>]\n", "a: &x [*x]\n", "queues: [{name: a, backoff: [1s]}]",
		"prefix = 'a'\n[[queues]]\nname = 'a'\nbackoff = ['1s']\n[queues.push]\nsubject = 'x'\n", "a.b.c = {d = [[1]]}\n",
		`{"queues": [{"name": "a", "paused": true}], "defaults": {"max_age": "1h"}}`, "\ufeff{}", "\xff", "---\n---\n", "? - a\n: b\n",
	} {
		for ext := range len(extensions()) {
			f.Add([]byte(src), uint8(ext))
		}
	}
	dir := f.TempDir() // of this process, which takes one input after the other
	f.Fuzz(func(t *testing.T, src []byte, ext uint8) {
		path := filepath.Join(dir, "d"+extensions()[int(ext)%len(extensions())])
		if err := os.WriteFile(path, src, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Options{File: path})
		if err != nil {
			judge(t, path, err)
			return
		}
		if c.Check().String() == "" {
			t.Error("no report")
		}
		for _, q := range c.Queues {
			if err := q.Settings.Validate(q.Name); err != nil {
				t.Errorf("queue %s: %v", q.Name, err)
			}
		}
	})
}

func extensions() []string { return []string{".yaml", ".toml", ".json"} }

func judge(t *testing.T, path string, err error) {
	t.Helper()
	var ps Problems
	if !errors.As(err, &ps) {
		t.Fatalf("not a list of problems: %v", err)
	}
	last := 0
	for _, p := range ps {
		if line := p.Error(); !strings.HasPrefix(line, path+":") || strings.ContainsAny(line, "\n\r\x00") {
			t.Errorf("not one line with a place: %q", line)
		}
		if p.at.line < last || p.at.line == 0 {
			t.Errorf("out of order: %q", p.Error())
		}
		last = p.at.line
	}
}
