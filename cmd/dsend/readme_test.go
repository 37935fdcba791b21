package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dsend/testkit"
)

// TestReadme runs `make run` and every command that README shows, in order,
// and compares what they print.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"make run ", "make test "} { // this test runs the one, and is run by the other
		if !bytes.Contains(readme, []byte("\n"+command)) {
			t.Errorf("README does not show %q", command)
		}
	}
	steps := consoleSteps(string(readme))
	if len(steps) < 9 {
		t.Fatalf("README shows %d commands, fewer than were written", len(steps))
	}
	url, bin := makeRun(t)
	env := append(os.Environ(), "NATS_URL="+url, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, s := range steps {
		if strings.HasPrefix(s.command, "nats ") && !natsThere(t) {
			s.command = withoutNATS(s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		cmd := exec.CommandContext(ctx, "sh", "-c", s.command)
		cmd.Env, cmd.Dir = env, t.TempDir()
		var both bytes.Buffer
		cmd.Stdout = &both
		if strings.Contains(s.command, "cat >&2") {
			cmd.Stderr = &both
		}
		err := cmd.Run()
		cancel()
		if got := squeeze(both.String()); err != nil || got != squeeze(s.output) {
			t.Fatalf("$ %s\n%s(%v)\nREADME says\n%s", s.command, got, err, s.output)
		}
	}
}

// withoutNATS is a command that does what later ones build on, and prints the same.
func withoutNATS(s step) string {
	instead := "echo '" + s.output + "'"
	if strings.Contains(s.command, "dsend.publish.orders") {
		return "dsend pub orders 'second order' >/dev/null; " + instead
	}
	return instead
}

// natsThere tells whether there is a nats command to run; where everything is
// required, it must be.
func natsThere(t *testing.T) bool {
	_, err := exec.LookPath("nats")
	if err != nil && testkit.RequireAll() {
		t.Fatal("no nats command; .ci/run builds it")
	}
	if err != nil {
		t.Log("no nats command (go -C .ci/tools install github.com/nats-io/natscli/nats): its lines are not run")
	}
	return err == nil
}

type step struct{ command, output string }

// consoleSteps are the commands in the console blocks of a page.
func consoleSteps(page string) (steps []step) {
	inside := false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = strings.TrimSpace(line) == "```console"
		case inside && strings.HasPrefix(line, "$ "):
			steps = append(steps, step{command: strings.TrimSpace(line[2:])})
		case inside:
			steps[len(steps)-1].output += line
		}
	}
	return steps
}

// squeeze drops empty lines, with which the nats CLI is generous.
func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// makeRun runs `make run` on free ports, and gives the server's URL and the
// folder that has its dsend.
func makeRun(t *testing.T) (url, bin string) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("make", "-s", "-C", root, "run")
	cmd.Env = append(withoutOurs(os.Environ()), "DSEND_SERVER_LISTEN=127.0.0.1:0", "DSEND_HTTP_LISTEN=127.0.0.1:0",
		"DSEND_STORAGE_DIR="+filepath.Join(t.TempDir(), "data"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // make and dsend, as one Ctrl-C meets both
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // it may have ended
		if err := cmd.Wait(); err != nil && t.Failed() {
			t.Logf("make run: %v\n%s", err, log.String())
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if i := strings.Index(lines.Text(), "nats://"); i >= 0 {
			go io.Copy(io.Discard, out) //nolint:errcheck // ends with the process
			return lines.Text()[i:], root
		}
	}
	t.Fatalf("make run did not start:\n%s", log.String())
	return "", ""
}

// withoutOurs is an environment without what is meant for the tests.
func withoutOurs(env []string) (rest []string) {
	for _, v := range env {
		if !strings.HasPrefix(v, "DSEND_") {
			rest = append(rest, v)
		}
	}
	return rest
}
