package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLoad is a file of 10,000 queues, each with its own subjects.
func BenchmarkLoad(b *testing.B) {
	var y, t strings.Builder
	y.WriteString("queues:\n")
	for i := range 10_000 {
		fmt.Fprintf(&y, "- name: q%d\n  subjects: [q%d.*, x.*.%d]\n  max_attempts: %d\n  backoff: {initial: 2s}\n", i, i, i, i)
		fmt.Fprintf(&t, "[[queues]]\nname = 'q%d'\nsubjects = ['q%d.*', 'x.*.%d']\nmax_attempts = %d\nbackoff = {initial = '2s'}\n", i, i, i, i)
	}
	for name, src := range map[string]string{"d.yaml": y.String(), "d.toml": t.String()} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), name)
			if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				c, err := Load(Options{File: path})
				if err != nil || len(c.Queues) != 10_000 {
					b.Fatal(err)
				}
				c.Check()
			}
		})
	}
}
