package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// clockFile is the variable that names the file with the seconds that a process of
// the steered build adds to its wall clock.
const clockFile = "TEST_CLOCK"

// steering is put into the standard library's package time. The monotonic clock is
// left alone, as it is when an administrator or NTP steps the wall clock. Now is
// called where hardly anything may be done (timers call it on the system stack),
// so the file is read elsewhere: by helm, which is put into dsend.
const (
	steering = `
var ahead atomic.Int64

// SetAhead sets by how many seconds Now is ahead of the true time.
func SetAhead(seconds int64) { ahead.Store(seconds) }
`
	helm = `package main

import (
	"os"
	"strconv"
	"time"
)

func init() {
	read := func() {
		text, _ := os.ReadFile(os.Getenv("` + clockFile + `"))
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			time.SetAhead(n)
		}
	}
	read()
	go func() {
		for range time.Tick(time.Millisecond) {
			read()
		}
	}()
}
`
)

// steered is the source of package time with a clock that can be set.
func steered(source string) (string, error) {
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	const reading = "sec, nsec, mono := runtimeNow()\n"
	changed := strings.Replace(string(text), reading, reading+"\tsec += ahead.Load()\n", 1)
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"sync/atomic\"\n", 1)
	if !strings.Contains(changed, "ahead.Load") || !strings.Contains(changed, `"sync/atomic"`) {
		return "", errors.New("time.Now is not what it was: " + source)
	}
	return changed + steering, nil
}

// buildSteered makes a binary with a wall clock that can be moved while it runs,
// once for all tests.
var buildSteered = sync.OnceValues(func() (string, error) {
	if _, err := build(); err != nil { // makes the workshop
		return "", err
	}
	where, err := exec.Command("go", "list", "-f", "{{.Dir}}", "time", "dsend/cmd/dsend").Output()
	if err != nil {
		return "", err
	}
	dirs := strings.Fields(string(where))
	library, main := filepath.Join(dirs[0], "time.go"), filepath.Join(dirs[1], "steered.go")
	text, err := steered(library)
	if err != nil {
		return "", err
	}
	in := func(name string) string { return filepath.Join(workshop, name) }
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{library: in("time.txt"), main: in("helm.txt")}})
	if err != nil {
		return "", err
	}
	for name, content := range map[string]string{"time.txt": text, "helm.txt": helm, "overlay.json": string(overlay)} {
		if err := os.WriteFile(in(name), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	path := in("dsend-steered")
	if out, err := exec.Command("go", "build", "-overlay", in("overlay.json"), "-o", path, "dsend/cmd/dsend").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build dsend with a steered clock: %w\n%s", err, out)
	}
	return path, nil
})

// wallClock is the wall clock of a server, and of nobody else.
type wallClock struct {
	t    testing.TB
	file string
	off  time.Duration
}

// startSteered starts a server whose wall clock can be moved.
func startSteered(t testing.TB, s setup) (*server, *wallClock) {
	t.Helper()
	path, err := buildSteered()
	if err != nil {
		t.Fatal(err)
	}
	k := &wallClock{t: t, file: filepath.Join(t.TempDir(), "clock")}
	k.set(0)
	s.binary, s.env = path, append(s.env, clockFile+"="+k.file)
	return start(t, s), k
}

// set puts the clock ahead of the true one, or behind it.
func (k *wallClock) set(off time.Duration) {
	k.t.Helper()
	k.off = off
	text := strconv.FormatInt(int64(off/time.Second), 10)
	// Renamed into place: a reader finds the old one or the new one.
	if err := errors.Join(os.WriteFile(k.file+".new", []byte(text), 0o600), os.Rename(k.file+".new", k.file)); err != nil {
		k.t.Fatal(err)
	}
}

// now is what the clock shows.
func (k *wallClock) now() time.Time { return time.Now().Add(k.off) }

// shown checks that the server's own clock shows what it was set to: by the time
// in the log line that a command leaves. The server looks at the file now and then,
// so the command is given until it does.
func (k *wallClock) shown(s *server, c *client) {
	k.t.Helper()
	eventually(k.t, "the log shows the time", func() error {
		if err := c.api("queue.purge", args{"queue": "spare"}, nil); err != nil {
			return err
		}
		lines := s.err.with("admin queue.purge")
		if len(lines) == 0 {
			return errors.New("there is no line yet")
		}
		word, _, _ := strings.Cut(strings.TrimPrefix(lines[len(lines)-1], "time="), " ")
		at, err := time.Parse(time.RFC3339Nano, word)
		if off := at.Sub(k.now()).Abs(); err == nil && off > time.Hour {
			err = fmt.Errorf("the server's clock shows %v, not %v", at, k.now())
		}
		return err
	})
}
