package jetstream_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dsend/testkit"
)

// nats runs the nats command line, without a JetStream domain, and gives what it
// writes.
func (n *node) nats(t *testing.T, arguments ...string) string {
	t.Helper()
	path, err := exec.LookPath("nats")
	if err != nil {
		path, err = filepath.Abs("../../.cache/bin/nats")
		if err == nil {
			_, err = os.Stat(path)
		}
	}
	testkit.Need(t, err == nil, "the nats CLI (go -C .ci/tools build -o ../../.cache/bin/nats github.com/nats-io/natscli/nats)")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(arguments, "--server", n.server.URL(), "--timeout", "30s")...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("nats %v: %v\n%s", arguments, err, out)
	}
	return string(out)
}

// The benchmarks of the command line run without a flag that is about Dsend.
func TestBench(t *testing.T) {
	n := start(t)
	const many = "2000"
	n.nats(t, "bench", "js", "pub", "async", "js.bench", "--create", "--msgs", many, "--no-progress")
	info, err := n.store.Info(t.Context(), "benchstream")
	if err != nil || info.Ready != 2000 {
		t.Fatalf("%d messages are published, %v", info.Ready, err)
	}
	n.nats(t, "bench", "js", "consume", "--msgs", many, "--no-progress")
	n.nats(t, "bench", "js", "pub", "sync", "js.bench", "--msgs", "100", "--no-progress")
	n.nats(t, "bench", "js", "fetch", "--msgs", "100", "--no-progress")
	eventually(t, "all acks have come", func() bool {
		info, err := n.store.Info(t.Context(), "benchstream")
		return err == nil && info.Ready+info.InFlight+info.Delayed == 0 && info.Dead == 0
	})
}

// What people look at with the command line is there.
func TestCommandLine(t *testing.T) {
	n := start(t)
	n.nats(t, "stream", "add", "orders", "--subjects", "orders.>", "--defaults")
	n.nats(t, "pub", "-J", "orders.new", "hello", "--count", "2")
	n.nats(t, "consumer", "add", "orders", "w", "--pull", "--defaults")
	for _, see := range []struct{ command, words string }{
		{"stream ls", "orders"},
		{"stream info orders", "Retention: WorkQueue"},
		{"stream get orders 1", "hello"},
		{"stream get orders -S orders.new", "orders#2"},
		{"consumer ls orders", "w"},
		{"consumer info orders w", "Unprocessed Messages: 2"},
		{"consumer next orders w --ack", "hello"},
		{"consumer info orders w", "Unprocessed Messages: 1"},
		{"consumer pause orders w 1h --force", "Paused orders > w"},
		{"consumer resume orders w --force", "resumed"},
		{"account info", "Streams: 1"},
		{"stream purge orders --force", "Messages: 0"},
		{"consumer rm orders w --force", ""},
		{"stream rm orders --force", ""},
	} {
		if out := n.nats(t, strings.Fields(see.command)...); !strings.Contains(out, see.words) {
			t.Errorf("nats %s says\n%s", see.command, out)
		}
	}
	js := newClient(t, n)
	for range js.ListStreams(within(t)).Info() {
		t.Error("a stream is left")
	}
}
