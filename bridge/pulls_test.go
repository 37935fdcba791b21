package bridge

import (
	"strings"
	"testing"
	"time"

	"dsend/durable/queue"
)

func TestReadPull(t *testing.T) {
	for _, c := range []struct {
		body string
		want queue.Pull
	}{
		{"", queue.Pull{Batch: 1}},
		{" 7\n", queue.Pull{Batch: 7}},
		{`{}`, queue.Pull{Batch: 1}},
		{`{"batch":5,"no_wait":true}`, queue.Pull{Batch: 5, NoWait: true}},
		{`{"expires":30000000000,"batch":500,"idle_heartbeat":15000000000}`, queue.Pull{Batch: 500, Expires: 30 * time.Second, Heartbeat: 15 * time.Second}},
		{`{"batch":3,"no_headers":true}`, queue.Pull{Batch: 3, NoHeaders: true}},
		{`{"batch":1,"max_bytes":1024,"idle_heartbeat":0}`, queue.Pull{Batch: 1, MaxBytes: 1024}},
	} {
		var p queue.Pull
		if err := readPull(&p, []byte(c.body)); err != nil || p != c.want {
			t.Errorf("%q: got %+v (%v)", c.body, p, err)
		}
	}
}

func TestRefusedPulls(t *testing.T) {
	for body, want := range map[string]string{
		"ten":              "not a number",
		"0":                "at least 1",
		"-1":               "at least 1",
		"1000000000":       "above",
		"{":                "JSON",
		`{"batch":"a"}`:    "batch",
		`{"batch":0}`:      "at least 1",
		`{"batch":-3}`:     "at least 1",
		`{"expires":-1}`:   "out of range",
		`{"max_bytes":-1}`: "negative",
		`{"expires":1000000000,"idle_heartbeat":600000000}`: "heartbeat value too large",
		`{"idle_heartbeat":1}`:                              "below",
		`{"idle_heartbeat":-1}`:                             "negative",
		`{"group":"a"}`:                                     "not supported",
		`{"min_pending":3}`:                                 "not supported",
	} {
		var p queue.Pull
		if err := readPull(&p, []byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", body, err, want)
		}
	}
}
