package durable

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// large makes a log of some MiB.
func large(t *testing.T) *memLog {
	log := newMemLog()
	s, _ := open(t, log)
	for range 10 {
		do(t, s, publish(string(make([]byte, recoveryStep))))
	}
	must(t, s.Close())
	return log.crash(0)
}

// Who asks is told how far recovery is, and every few seconds so does a line of
// the log.
func TestRecoveryTellsHowFarItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		var told []int64
		cfg := config(&recorder{})
		cfg.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		cfg.Progress = func(done, total int64) error {
			if done > total || len(told) > 0 && done <= told[len(told)-1] {
				t.Errorf("%d of %d bytes after %v", done, total, told)
			}
			told = append(told, done)
			time.Sleep(time.Second) // of work
			return nil
		}
		s, err := Open(large(t), cfg)
		must(t, err)
		must(t, s.Close())
		if len(told) != 10 {
			t.Errorf("told %d times", len(told))
		}
		text := lines.String()
		if n := strings.Count(text, "recovering the log"); n != 3 || !strings.Contains(text, "percent=") {
			t.Errorf("%d lines in 10 s:\n%s", n, text)
		}
		if !strings.Contains(text, `msg="recovered the log"`) || !strings.Contains(text, "took=10s") {
			t.Errorf("nothing says that it was done:\n%s", text)
		}
	})
}

// A start that is given up ends, and changes nothing.
func TestRecoveryIsGivenUp(t *testing.T) {
	log := large(t)
	cfg := config(&recorder{})
	cfg.Progress = func(int64, int64) error { return context.Canceled }
	if s, err := Open(log, cfg); s != nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("opened with %v", err)
	}
	log.check(t)
	s, _ := open(t, log.crash(0))
	must(t, s.View(t.Context(), func(state *queue.State) {
		if i, _ := state.Info("q"); i.Ready != 10 {
			t.Errorf("%d messages after the second start", i.Ready)
		}
	}))
}
