package config

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"dsend/durable/queue"
	"dsend/retry"
)

func TestTimetable(t *testing.T) {
	for _, row := range []struct {
		attempts int
		backoff  retry.Policy
		want     string
	}{
		{5, retry.Default(), "try 1, +1s, +2s, +4s, +8s: dead after 15s at the latest, plus the tries (2m45s if none is answered)"},
		{1, retry.Default(), "try 1: dead when it fails (30s if it is not answered)"},
		{0, retry.Default(), "try 1, +1s, +2s, +4s, +8s, +16s, +32s, +1m4s, +2m8s, +4m16s, +8m32s, +10m, +10m, then every 10m: never dead"},
		{14, retry.Default(), "try 1, +1s, +2s, +4s, +8s, +16s, +32s, +1m4s, +2m8s, +4m16s, +8m32s, +10m, +10m, … up to +10m, 14 tries: dead after 47m3s at the latest, plus the tries (54m3s if none is answered)"},
		{4, retry.Policy{List: []time.Duration{time.Second, time.Minute}}, "try 1, +1s, +1m, +1m: dead after 2m1s at the latest, plus the tries (4m1s if none is answered)"},
		{0, retry.Policy{List: []time.Duration{0}}, "try 1, +0s, +0s, +0s, +0s, +0s, +0s, +0s, +0s, +0s, +0s, +0s, +0s, then every 0s: never dead"},
		{math.MaxInt, retry.Default(), "try 1, +1s, +2s, +4s, +8s, +16s, +32s, +1m4s, +2m8s, +4m16s, +8m32s, +10m, +10m, … up to +10m, 9223372036854775807 tries: dead after 292 years or more at the latest, plus the tries (292 years or more if none is answered)"},
	} {
		s := queue.Defaults()
		s.MaxAttempts, s.Backoff = row.attempts, row.backoff
		if got := timetable(s).String(); got != row.want {
			t.Errorf("%d attempts, %v:\ngot  %s\nwant %s", row.attempts, row.backoff, got, row.want)
		}
	}
}

// What is added up in one go is never less than the sum of the waits.
func TestTotalIsABound(t *testing.T) {
	for _, p := range []retry.Policy{
		{Initial: 1000, Factor: 1.00001, Max: time.Hour},
		{Initial: 1000, Factor: 1.0001, Max: 1001},
		{Initial: time.Second, Factor: 1, Max: time.Hour},
		{Initial: 0, Factor: 2, Max: time.Hour},
		{List: []time.Duration{5, 3, 5, 3}},
	} {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 100, exact, exact + 1, exact + 1000} {
			want := 0.0
			for _, d := range p.Timetable(n + 1) {
				want += float64(d)
			}
			if got := total(p, n); got < want || got > want*1.02 {
				t.Errorf("%v, %d waits: got %v, want a little over %v", p, n, got, want)
			}
		}
	}
}

// An automatic timeout is shown with its bounds, and reckoned with at its
// longest.
func TestReportOfAnAutomaticTimeout(t *testing.T) {
	c := load(t, Options{File: write(t, "d.yaml", `
defaults: {visibility_timeout: 2m, max_attempts: 1}
queues:
- name: orders
  visibility_timeout: auto
  visibility_timeout_max: 1m
`)})
	q := c.Check().Queues[0]
	if q.VisibilityTimeout != "auto, from 5s to 1m, begins with 1m" || q.Retry.Unanswered != "1m" {
		t.Errorf("%q, %q", q.VisibilityTimeout, q.Retry.Unanswered)
	}
}

const reportSample = `
defaults: {max_attempts: 3}
queues:
- name: orders
  subjects: [orders.>, audit]
  max_bytes: 1GiB
- name: mail
  push: {subject: mail.send}
  backoff: [1s]
  dead_letter: {queue: orders-dlq}
- name: orders-dlq
  paused: true
- name: drop
  max_attempts: 1
  dead_letter: {enabled: false}
`

func TestReport(t *testing.T) {
	c := load(t, Options{File: write(t, "d.yaml", reportSample)})
	want := `d.yaml: good, queues: 4

orders
  captures      orders.>, audit
  pushes to     dsend.work.orders
  visibility    30s
  retry         try 1, +1s, +2s: dead after 3s at the latest, plus the tries (1m33s if none is answered)
  dead letters  orders-dlq
  limits        max_in_flight 10000, push.max_in_flight_per_worker 1, dedupe_window 2m, max_bytes 1GiB

mail
  pushes to     mail.send
  visibility    30s
  retry         try 1, +1s, +1s: dead after 2s at the latest, plus the tries (1m32s if none is answered)
  dead letters  orders-dlq
  limits        max_in_flight 10000, push.max_in_flight_per_worker 1, dedupe_window 2m

orders-dlq
  pushes to     dsend.work.orders-dlq
  visibility    30s
  retry         try 1, +1s, +2s: dead after 3s at the latest, plus the tries (1m33s if none is answered)
  dead letters  orders-dlq-dlq
  keeps dead of orders, mail (they stay, however often they fail here)
  limits        max_in_flight 10000, push.max_in_flight_per_worker 1, dedupe_window 2m
  paused        delivers nothing

drop
  pushes to     dsend.work.drop
  visibility    30s
  retry         try 1: dropped when it fails (30s if it is not answered)
  dead letters  dropped
  limits        max_in_flight 10000, push.max_in_flight_per_worker 1, dedupe_window 2m

any other queue
  pushes to     dsend.work.NAME
  visibility    30s
  retry         try 1, +1s, +2s: dead after 3s at the latest, plus the tries (1m33s if none is answered)
  dead letters  NAME-dlq
  limits        max_in_flight 10000, push.max_in_flight_per_worker 1, dedupe_window 2m
`
	if got := c.Check().String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A script reads the same, and lists are lists also when they are empty.
func TestReportJSON(t *testing.T) {
	c := load(t, Options{File: write(t, "d.yaml", reportSample)})
	raw, err := json.Marshal(c.Check())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "null") {
		t.Errorf("has a null: %s", raw)
	}
	var back Report
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if q := back.Queues[0]; q.Name != "orders" || q.Retry.Attempts != 3 || q.Retry.Waiting != "3s" || q.Line != 4 {
		t.Errorf("got %+v", q)
	}
	if raw, err = json.Marshal(load(t, Options{}).Check()); err != nil || !strings.Contains(string(raw), `"queues":[]`) {
		t.Errorf("without queues: %s, %v", raw, err)
	}
}

func TestProblemsJSON(t *testing.T) {
	_, err := Load(Options{File: write(t, "d.yaml", "zz: 1\n"), Env: []string{"DSEND_PREFIX="}})
	raw, jsonErr := json.Marshal(err)
	want := `[{"where":"d.yaml:1","key":"zz","what":"unknown key"},{"where":"environment DSEND_PREFIX","key":"prefix","what":"must not be empty"}]`
	if jsonErr != nil || string(raw) != want {
		t.Errorf("got %s, %v", raw, jsonErr)
	}
}
