package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The import arrow is the path of a message: strictly one way.
func TestArrows(t *testing.T) {
	may := map[string][]string{
		"dsend/testkit":          {}, // of tests
		"dsend/retry":            {},
		"dsend/dlq":              {},
		"dsend/durable/queue":    {"dsend/retry", "dsend/dlq"},
		"dsend/durable/backup":   {"dsend/durable", "dsend/durable/queue", "dsend/durable/wal"},
		"dsend/durable/wal":      {},
		"dsend/durable/ballast":  {},
		"dsend/durable":          {"dsend/durable/queue"},
		"dsend/bridge/leaf":      {},
		"dsend/bridge":           {"dsend/bridge/leaf", "dsend/durable", "dsend/durable/queue", "dsend/dlq"},
		"dsend/bridge/admin":     {"dsend/durable", "dsend/durable/queue", "dsend/dlq", "dsend/retry"},
		"dsend/bridge/jetstream": {"dsend/durable/queue", "dsend/dlq"},
	}
	pure := []string{"dsend/retry", "dsend/dlq", "dsend/durable/queue"}
	impure := []string{"os", "net", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "sync", "context"}
	seen := 0
	for _, p := range packages(t) {
		if slices.Contains(p.Imports, "dsend/testkit") {
			t.Errorf("%s imports what is for tests", p.ImportPath)
		}
		allowed, known := may[p.ImportPath]
		if !known {
			if !strings.HasPrefix(p.ImportPath, "dsend/cmd/") && !strings.HasPrefix(p.ImportPath, "dsend/examples") {
				t.Errorf("package %s is in no place of the picture", p.ImportPath)
			}
			continue
		}
		seen++
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "dsend/") && !slices.Contains(allowed, i) {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
			if slices.Contains(pure, p.ImportPath) && slices.Contains(impure, i) {
				t.Errorf("%s is pure and imports %s", p.ImportPath, i)
			}
			if strings.HasPrefix(p.ImportPath, "dsend/durable") && strings.Contains(i, "nats-io") {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
			if i == "github.com/tidwall/wal" && p.ImportPath != "dsend/durable/wal" {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
			if strings.Contains(i, "viper") && p.ImportPath != "dsend/cmd/dsend/config" {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
		}
	}
	if seen != len(may) {
		t.Errorf("%d of %d packages of the picture are there", seen, len(may))
	}
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) (all []listed) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "dsend/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
