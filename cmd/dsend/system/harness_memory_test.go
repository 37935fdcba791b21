package system

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// buildLean makes a binary without the race detector, which takes many times the
// memory and the processor, once for all tests.
var buildLean = sync.OnceValues(func() (string, error) {
	path, err := build()
	if err != nil || !raced {
		return path, err
	}
	path = filepath.Join(workshop, "dsend-lean")
	if out, err := exec.Command("go", "build", "-o", path, "dsend/cmd/dsend").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build dsend without the race detector: %w\n%s", err, out)
	}
	return path, nil
})

// lean is the path of a dsend whose memory and processor time can be measured.
func lean(t testing.TB) string {
	t.Helper()
	path, err := buildLean()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// peak is how much memory the process had at the most.
func (s *server) peak(t testing.TB) (bytes int64) {
	t.Helper()
	_, after, _ := strings.Cut(s.proc(t, "status"), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatalf("VmHWM: %v", err)
	}
	return kib << 10
}

// files is how many files and connections the process has open.
func (s *server) files(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid()))
	if err != nil {
		need(t, false, "/proc, as Linux has it: "+err.Error())
	}
	return len(all)
}

// worked is for how long processors have worked for the process.
func (s *server) worked(t testing.TB) time.Duration {
	t.Helper()
	text := s.proc(t, "stat")
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	var user, system int64 // of 10 ms, on any Linux that Go runs on
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatalf("stat %q: %v", text, err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// proc is what Linux says of the process.
func (s *server) proc(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.pid(), name))
	if err != nil {
		need(t, false, "/proc, as Linux has it: "+err.Error())
	}
	return string(text)
}
