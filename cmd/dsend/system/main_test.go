package system

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// plays is how many tests run side by side: most of their time they wait for a
// process, so it is more than there are processors.
const plays = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if !given("test.parallel") {
		if err := flag.Set("test.parallel", plays); err != nil {
			panic(err)
		}
	}
	dog, err := newWatchdog()
	if err != nil {
		panic(err)
	}
	machine = dog
	code := m.Run()
	machine.close()
	if workshop != "" {
		_ = os.RemoveAll(workshop)
	}
	os.Exit(code)
}

func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// workshop is where binaries are built.
var workshop string

// build makes the binary, once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "dsend-system-")
	if err != nil {
		return "", err
	}
	workshop = dir
	if path := os.Getenv("TEST_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(dir, "dsend")
	args := []string{"build", "-o", path}
	if raced {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "dsend/cmd/dsend")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build dsend: %w\n%s", err, out)
	}
	return path, nil
})

// binary is the path of the dsend that is tested.
func binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
