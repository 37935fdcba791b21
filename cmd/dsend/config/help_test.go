package config

import (
	"os"
	"path/filepath"
	"testing"
)

// write puts a file into a folder of its own and goes there, so that messages
// begin with the bare name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	save(t, name, text)
	return name
}

// touch makes an empty file here.
func touch(t *testing.T, name string) { t.Helper(); save(t, name, "") }

func save(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// load loads what must be good.
func load(t *testing.T, o Options, args ...string) *Config {
	t.Helper()
	if len(args) > 0 {
		o.Flags = Flags()
		if err := o.Flags.Parse(args); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(o)
	if err != nil {
		t.Fatalf("%s:\n%v", filepath.Base(o.File), err)
	}
	return c
}
