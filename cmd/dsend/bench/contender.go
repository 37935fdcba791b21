package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Kind is what takes part in a comparison.
type Kind string

// The contenders.
const (
	KindDsend     Kind = "dsend"
	KindDialect   Kind = "dsend-as-jetstream" // a Dsend that is spoken to as JetStream is
	KindEcho      Kind = "echo"
	KindJetStream Kind = "jetstream"
	KindAlways    Kind = "jetstream-always"
)

// contender is one of them that runs, as a process of its own.
type contender struct {
	Server
	kind   Kind
	data   string
	cmd    *exec.Cmd
	stderr tail
	ended  chan struct{} // closed when the process has ended
}

func (c *contender) isDsend() bool { return c.kind == KindDsend || c.kind == KindDialect }

// stopTime is how long a contender may take to stop before it is killed.
const stopTime = 20 * time.Second

// launch starts a contender and waits until it takes work. self makes the command
// of this program with arguments; flags are more of them for a Dsend.
func launch(ctx context.Context, self func(...string) *exec.Cmd, kind Kind, data string, flags ...string) (*contender, error) {
	c := &contender{kind: kind, data: data, ended: make(chan struct{})}
	c.Server = Server{Mode: Native, Prefix: "dsend", Queue: "bench"}
	if c.isDsend() {
		c.cmd = self(append([]string{"serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", data}, flags...)...)
	} else {
		c.cmd = self("bench", "contender", string(kind), "--data", data)
	}
	if kind != KindDsend && kind != KindEcho {
		c.Mode = JetStream
	}
	c.cmd.Stderr = &c.stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", kind, err)
	}
	ready := make(chan struct{})
	go c.watch(stdout, ready)
	select {
	case <-ready:
		return c, nil
	case <-c.ended:
		return nil, fmt.Errorf("%s did not start: %s", kind, c.stderr.String())
	case <-ctx.Done():
	case <-time.After(patience):
		err = fmt.Errorf("%s is not ready after %v", kind, patience)
	}
	return nil, errors.Join(err, context.Cause(ctx), c.stop())
}

// watch reads what the contender says until it ends.
func (c *contender) watch(stdout io.Reader, ready chan<- struct{}) {
	defer close(c.ended)
	told := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		for word := range strings.FieldsSeq(lines.Text()) {
			switch {
			case told:
			case strings.HasPrefix(word, "nats://"):
				c.URL = word
			case strings.HasPrefix(word, "http://"):
				c.Metrics = word + "/metrics"
			}
		}
		if !told && c.URL != "" && (!c.isDsend() || c.Metrics != "") {
			told = true
			close(ready)
		}
	}
	_ = c.cmd.Wait() // stop tells how it ended
}

// stop ends a contender in order.
func (c *contender) stop() error {
	_ = c.cmd.Process.Signal(os.Interrupt) // it may be over
	select {
	case <-c.ended:
	case <-time.After(stopTime):
		_ = c.cmd.Process.Kill()
		<-c.ended
		return fmt.Errorf("%s does not stop", c.kind)
	}
	if !c.cmd.ProcessState.Success() {
		return fmt.Errorf("%s ended with %v: %s", c.kind, c.cmd.ProcessState, c.stderr.String())
	}
	return nil
}

// tailSize is how many bytes of what a contender complains of are kept.
const tailSize = 2 << 10

// tail keeps the end of what is written to it. It is read when the writer has
// ended.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.kept)) }
