package bridge

import (
	"bytes"
	"log/slog"
	"testing"
)

// What the NATS server says keeps its level, but for a leaf that closes while it is written to.
func TestServerLog(t *testing.T) {
	var out bytes.Buffer
	l := &serverLog{log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})), fatal: make(chan string, 1)}
	l.Errorf("127.0.0.1:1 - lid:5 - Error flushing: %v", "broken pipe")
	l.Errorf("no %s", "memory")
	if got, want := out.String(), "level=ERROR msg=\"no memory\" from=nats-server\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}
