package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is somebody who has nothing but the nats command line.
type shell struct {
	*run
	s      *server
	path   string
	global []string
}

func TestNatsCLI(t *testing.T) {
	for client, global := range map[string][]string{"nats CLI": nil, "nats CLI, --js-domain dsend": {"--js-domain", "dsend"}} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			h := &shell{run: &run{t, client}, path: natsCLI(t), global: global}
			h.s = serve(t)
			h.managers()
			h.publishes()
			h.consumes()
			h.life()
			h.benches()
			h.restart()
			h.removes()
		})
	}
}

// natsCLI is the path of the nats command line.
func natsCLI(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("nats")
	if err != nil {
		if path, err = filepath.Abs("../../../../.cache/bin/nats"); err == nil {
			_, err = os.Stat(path)
		}
	}
	need(t, err == nil, "the nats CLI (go -C .ci/tools build -o ../../.cache/bin/nats github.com/nats-io/natscli/nats)")
	return path
}

// do runs a command, which must succeed, and gives what it says.
func (h *shell) do(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(h.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.path, append(append(args, "--server", h.s.url(), "--timeout", "30s"), h.global...)...)
	cmd.Env, cmd.Dir = environment(nil), workshop
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return said.String(), fmt.Errorf("nats %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return said.String(), nil
}

// view looks through the stream page by page, which the command does on a terminal
// only.
func (h *shell) view(words string) error {
	terminal, err := exec.LookPath("script")
	need(h, err == nil, "script (apt-get install bsdutils)")
	line := strings.Join(append([]string{h.path, "stream", "view", "orders", "--server", h.s.url()}, h.global...), " ")
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, terminal, "-qec", line, "/dev/null")
	cmd.Env, cmd.Dir = environment(nil), workshop
	said, err := cmd.CombinedOutput()
	if err == nil && !strings.Contains(string(said), words) {
		err = errors.New("nats stream view does not show it")
	}
	if err != nil {
		err = fmt.Errorf("%w:\n%s", err, said)
	}
	return err
}

// says is do, and looks for words in what the command says.
func (h *shell) says(words string, args ...string) error {
	said, err := h.do(args...)
	if err == nil && !strings.Contains(said, words) {
		err = fmt.Errorf("nats %s does not say %q:\n%s", strings.Join(args, " "), words, said)
	}
	return err
}

// command is an operation that is one command which must say something.
func (h *shell) command(op, words string, args ...string) {
	h.Helper()
	h.op(op, func() error { return h.says(words, args...) })
}

func (h *shell) managers() {
	h.command("account info", "Domain: dsend", "account", "info")
	h.command("stream create", "orders", "stream", "add", "orders", "--subjects", "orders.>", "--retention", "work", "--discard", "new", "--defaults")
	h.command("stream names", "orders", "stream", "ls", "--names")
	h.command("stream list", "orders", "stream", "ls")
	h.command("stream info", "WorkQueue", "stream", "info", "orders")
	h.command("consumer create", "w", "consumer", "add", "orders", "w", "--pull", "--ack", "explicit", "--wait", "30s", "--max-deliver", "3", "--defaults")
	h.command("consumer names", "w", "consumer", "ls", "orders", "--names")
	h.command("consumer list", "w", "consumer", "ls", "orders")
	h.command("consumer info", "Ack Wait: 30", "consumer", "info", "orders", "w")
}

func (h *shell) publishes() {
	h.command("publish", "Stored in Stream: orders Sequence: 1", "pub", "-J", "orders.new", "one")
	h.op("publish later", func() error {
		begin := time.Now()
		if err := h.says("Stored in Stream: orders", "pub", "orders.new", "later", "--schedule-after", "2s", "--schedule-dest", "orders.late"); err != nil {
			return err
		}
		if err := h.says("one", "consumer", "next", "orders", "w", "--ack"); err != nil {
			return err
		}
		if err := h.says("later", "consumer", "next", "orders", "w", "--ack"); err != nil {
			return err
		}
		if took := time.Since(begin); took < time.Second {
			return fmt.Errorf("it came after %s", took)
		}
		return h.holds("orders", 0)
	})
	h.op("message get", func() error {
		return errors.Join(h.says("Sequence: 3", "pub", "-J", "orders.new", "three"), h.says("three", "stream", "get", "orders", "3"))
	})
	h.op("stream view", func() error { return h.view("three") })
	h.op("stream purge", func() error {
		_, err := h.do("stream", "purge", "orders", "--force")
		return errors.Join(err, h.holds("orders", 0))
	})
}

// holds waits until a stream holds so many messages.
func (h *shell) holds(stream string, n int) error {
	return eventually("messages in "+stream, func() error {
		return h.says(fmt.Sprintf(`"messages": %d,`, n), "stream", "info", stream, "--json")
	})
}

func (h *shell) consumes() {
	h.op("consumer pause", func() error {
		if _, err := h.do("consumer", "pause", "orders", "w", "1h", "--force"); err != nil {
			return err
		}
		return h.says("Paused Until", "consumer", "info", "orders", "w")
	})
	h.op("consumer resume", func() error {
		_, err := h.do("consumer", "resume", "orders", "w", "--force")
		return err
	})
	h.op("next", func() error {
		return errors.Join(h.says("Sequence", "pub", "-J", "orders.new", "x"), h.says("x", "consumer", "next", "orders", "w", "--ack"), h.holds("orders", 0))
	})
	h.op("ack", func() error { return h.holds("orders", 0) })
	h.op("term", func() error {
		return errors.Join(h.says("Sequence", "pub", "-J", "orders.new", "x"), h.says("x", "consumer", "next", "orders", "w", "--term"),
			h.holds("orders", 0), h.holds("orders-dlq", 1))
	})
}

func (h *shell) life() {
	h.op("life", func() error {
		if _, err := h.do("stream", "purge", "orders-dlq", "--force"); err != nil {
			return err
		}
		if err := h.says("Sequence", "pub", "-J", "orders.new", "life"); err != nil {
			return err
		}
		for attempt := 1; attempt <= 3; attempt++ {
			if err := h.says(fmt.Sprintf("tries: %d", attempt), "consumer", "next", "orders", "w", "--nak"); err != nil {
				return err
			}
		}
		if err := errors.Join(h.holds("orders", 0), h.holds("orders-dlq", 1)); err != nil {
			return err
		}
		if _, err := h.do("request", "dsend.api.dlq.replay", `{"queue":"orders"}`); err != nil {
			return err
		}
		return errors.Join(h.says("tries: 1", "consumer", "next", "orders", "w", "--ack"), h.holds("orders", 0), h.holds("orders-dlq", 0))
	})
}

func (h *shell) benches() {
	const n = "2000"
	small := []string{"--msgs", n, "--no-progress"}
	bench := func(args ...string) []string { return append(append([]string{"bench", "js"}, args...), small...) }
	h.command("bench js pub sync", "msgs/sec", append(bench("pub", "sync", "bench"), "--create", "--size", "64")...)
	h.command("bench js pub async", "msgs/sec", append(bench("pub", "async", "bench"), "--purge")...)
	h.command("bench js consume", "msgs/sec", bench("consume")...)
	h.command("bench js pub async, again", "msgs/sec", append(bench("pub", "async", "bench"), "--purge")...)
	h.command("bench js fetch", "msgs/sec", bench("fetch")...)
}

// restart: a worker on the command line is there before the server is killed, and goes
// on by itself.
func (h *shell) restart() {
	h.op("server killed", func() error {
		cmd := exec.CommandContext(h.Context(), h.path, "reply", "dsend.work.jobs", "--queue", "workers", "done", "--server", h.s.url())
		cmd.Env, cmd.Dir = environment(nil), workshop
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		if err := errors.Join(h.says("Sequence: 1", "pub", "-J", "dsend.publish.jobs", "before"), h.holds("jobs", 0)); err != nil {
			return err
		}
		h.s.restart()
		return errors.Join(h.says("Sequence: 2", "pub", "-J", "dsend.publish.jobs", "after"), h.holds("jobs", 0))
	})
}

func (h *shell) removes() {
	h.op("consumer delete", func() error {
		_, err := h.do("consumer", "rm", "orders", "w", "--force")
		if err == nil {
			if _, there := h.do("consumer", "info", "orders", "w"); there == nil {
				err = errors.New("it is there")
			}
		}
		return err
	})
	h.op("stream delete", func() error {
		_, err := h.do("stream", "rm", "orders", "--force")
		if err == nil {
			if _, there := h.do("stream", "info", "orders"); there == nil {
				err = errors.New("it is there")
			}
		}
		return err
	})
}
