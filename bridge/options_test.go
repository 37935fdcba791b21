package bridge

import (
	"strings"
	"testing"
	"time"

	"dsend/durable/queue"
)

func header(lines ...string) []byte {
	return []byte("NATS/1.0\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n")
}

func TestReadOptions(t *testing.T) {
	p := queue.Publish{MaxAttempts: -1}
	target, err := readOptions(&p, header("Nats-Msg-Id: a b", "Nats-TTL: 90", "Dsend-Priority: 9", "Dsend-Key: k",
		"Dsend-Max-Attempts: 0", "Dsend-Visibility-Timeout: 2m", "Dsend-Delay: 1.5s", "nats-msg-id: other"))
	if err != nil || target != "" {
		t.Fatalf("target %q, error %v", target, err)
	}
	want := queue.Publish{
		ID: "a b", TTL: 90 * time.Second, Priority: 9, HasPriority: true, Key: "k",
		MaxAttempts: 0, Visibility: 2 * time.Minute, Delay: 1500 * time.Millisecond,
	}
	if p.ID != want.ID || p.TTL != want.TTL || p.Priority != want.Priority || !p.HasPriority || p.Key != want.Key ||
		p.MaxAttempts != want.MaxAttempts || p.Visibility != want.Visibility || p.Delay != want.Delay {
		t.Errorf("got %+v", p)
	}
}

func TestReadSchedule(t *testing.T) {
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	var p queue.Publish
	target, err := readOptions(&p, header("Nats-Schedule: @at "+at.Format(time.RFC3339Nano), "Nats-Schedule-Target: orders.new"))
	if off := time.Hour - p.Delay; err != nil || target != "orders.new" || off < 0 || off > time.Minute {
		t.Errorf("target %q, delay %s, error %v", target, p.Delay, err)
	}
	if _, err := readOptions(&p, header("Nats-Schedule: @at 0001-01-01T00:00:00Z")); err != nil || p.Delay != 0 {
		t.Errorf("long due: delay %s, error %v", p.Delay, err)
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"Nats-Msg-Id:", "is empty"},
		{"Nats-Msg-Id: a|Nats-Msg-Id: b", "given twice"},
		{"Nats-Msg-Id: " + strings.Repeat("x", optionLimit+1), "longer than"},
		{"Nats-TTL: 0", "too short"},
		{"Nats-TTL: 500ms", "too short"},
		{"Nats-TTL: soon", "not a duration"},
		{"Nats-TTL: 99999999999999999999", "not a duration"},
		{"Dsend-Delay: 30", "not a duration"},
		{"Dsend-Delay: -1s", "too short"},
		{"Dsend-Delay: 100000h", "above 10 years"},
		{"Dsend-Delay: 99999999999999999h", "not a duration"},
		{"Dsend-Priority: 10", "from 0 to 9"},
		{"Dsend-Priority: -1", "from 0 to 9"},
		{"Dsend-Priority:", "from 0 to 9"},
		{"Dsend-Key:", "is empty"},
		{"Dsend-Max-Attempts: -1", "not a number"},
		{"Dsend-Max-Attempts: 1.5", "not a number"},
		{"Dsend-Max-Attempts: 99999999999", "not a number"},
		{"Dsend-Visibility-Timeout: 0s", "too short"},
		{"Dsend-Visibility-Timeout: NaN", "not a duration"},
		{"Nats-Schedule: @every 5s", "not supported"},
		{"Nats-Schedule: 0 0 * * * *", "not supported"},
		{"Nats-Schedule: @at tomorrow", "RFC 3339"},
		{"Nats-Schedule: @at 2023-02-30T00:00:00Z", "RFC 3339"},
		{"Nats-Schedule: @at 9999-01-01T00:00:00Z", "more than 10 years"},
		{"Nats-Schedule-Target: a", "needs Nats-Schedule"},
		{"Nats-Schedule: @at 2030-01-01T00:00:00Z|Nats-Schedule-Target: a.*", "without wildcards"},
		{"Nats-Schedule: @at 2030-01-01T00:00:00Z|Dsend-Delay: 1s", "contradict"},
		{"Nats-Expected-Stream: orders", "not supported"},
		{"Nats-Expected-Last-Sequence: 1", "not supported"},
		{"Nats-Batch-Id: b", "not supported"},
		{"Nats-Rollup: all", "not supported"},
		{"Nats-Incr: 1", "not supported"},
		{"Nats-Schedule-TTL: 1s", "not supported"},
		{"Nats-Schedule-Time-Zone: UTC", "not supported"},
	} {
		t.Run(c.lines[:min(40, len(c.lines))], func(t *testing.T) {
			var p queue.Publish
			_, err := readOptions(&p, header(strings.Split(c.lines, "|")...))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if key, _, _ := strings.Cut(c.lines, ":"); !strings.Contains(err.Error(), key) {
				t.Errorf("error %q does not name the header %s", err, key)
			}
		})
	}
}
