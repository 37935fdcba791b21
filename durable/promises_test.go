package durable

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesAreProven: each row of PROMISES.md names tests, and they are there.
func TestPromisesAreProven(t *testing.T) {
	page, err := os.ReadFile("PROMISES.md")
	must(t, err)
	named := regexp.MustCompile("`([a-z/]+)\\.(Test\\w+)`")
	rows := 0
	for line := range strings.Lines(string(page)) {
		tests := named.FindAllStringSubmatch(line, -1)
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| fault ") {
			if rows++; len(tests) == 0 {
				t.Errorf("nothing proves %s", line)
			}
		}
		for _, test := range tests {
			if !isTest(t, filepath.Join("..", test[1]), test[2]) {
				t.Errorf("there is no test %s in %s", test[2], test[1])
			}
		}
	}
	if rows < 10 {
		t.Errorf("only %d rows were read", rows)
	}
}

// isTest tells whether a package has a test.
func isTest(t *testing.T, dir, name string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	must(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		must(t, err)
		if strings.Contains(string(source), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}
