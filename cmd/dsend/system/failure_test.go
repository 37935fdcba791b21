package system

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A failed write or sync: nothing that it held is answered with OK, the process
// ends with one clear line and exit code 1, and a new one goes on from what was
// answered before.
func TestFailure_WriteOrSync(t *testing.T) {
	t.Parallel()
	for _, play := range []struct {
		name, want string
		inject     func(segment string) []string
	}{
		{"sync fails", "sync commit", func(string) []string {
			return []string{"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO"}
		}},
		{"disk is full", "no space left on device", func(segment string) []string {
			return []string{"-P", segment, "-e", "trace=write", "-e", "inject=write:error=ENOSPC"}
		}},
		{"write fails", "input/output error", func(segment string) []string {
			return []string{"-P", segment, "-e", "trace=write", "-e", "inject=write:error=EIO"}
		}},
	} {
		t.Run(play.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{})
			c := s.connect(t)
			l := newLedger(dice(t), 30*time.Second)
			l.put(t, c, "orders", 20)
			held := c.take(t, "orders", 10)
			if err := l.ackAll(held[:5]); err != nil {
				t.Fatal(err)
			}
			s.trace(t, play.inject(newestSegment(t, s.dir))...)

			ctx, cancel := context.WithCancel(t.Context())
			answers := make(chan error, 1)
			go func() {
				answers <- l.publish(c.until(ctx), l.draw("orders"))
			}()
			if code := s.wait(t); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			cancel()
			var refused *refusal
			if err := <-answers; err == nil {
				t.Error("the publish was answered with OK")
			} else if !errors.As(err, &refused) && !errors.Is(err, context.Canceled) && !errors.Is(err, nats.ErrConnectionClosed) {
				t.Errorf("the publish: %v", err)
			}
			lines := s.err.with("dsend: ")
			if len(lines) != 1 || !strings.Contains(lines[0], play.want) || !strings.Contains(lines[0], "nothing of it was confirmed") {
				t.Errorf("want one line that says %q:\n%s", play.want, s.err.last(20))
			}
			s.start()
			c.back(t)
			l.balance(t, c)
			mustAll(t, held[5:], nakFor(1), "ok")
			l.drain(t, c)
		})
	}
}
