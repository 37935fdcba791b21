package config

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dsend/durable/queue"
)

// A configuration written in each format loads as what it was, and its text is
// what the table makes of it again.
func TestFormatsSayTheSame(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := drawConfig(t)
		tree := treeOf(t, want)
		for name, encode := range encoders() {
			src, err := encode(tree)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, src, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Load(Options{File: path})
			if err != nil {
				t.Fatalf("%s:\n%s\n%v", name, src, err)
			}
			same(t, name, got, want)
		}
	})
}

// same compares all but places.
func same(t *rapid.T, name string, got, want *Config) {
	if changes, immutable := Diff(want, got); changes != nil || immutable != nil {
		t.Fatalf("%s: differs in %v %v", name, changes, immutable)
	}
	if len(got.Queues) != len(want.Queues) {
		t.Fatalf("%s: %d queues, want %d", name, len(got.Queues), len(want.Queues))
	}
	for i, q := range want.Queues {
		if got.Queues[i].Name != q.Name || !got.Queues[i].Settings.Equal(q.Settings) {
			t.Fatalf("%s: queue %d is %+v, want %+v", name, i, got.Queues[i], q)
		}
	}
	if !got.Defaults.Equal(want.Defaults) {
		t.Fatalf("%s: defaults are %+v, want %+v", name, got.Defaults, want.Defaults)
	}
}

func drawConfig(t *rapid.T) *Config {
	c := Default()
	c.Server.Listen = rapid.SampledFrom([]string{"127.0.0.1:4222", "[::1]:0", ":7"}).Draw(t, "listen")
	c.HTTP.Listen = rapid.SampledFrom([]string{"", "localhost:1"}).Draw(t, "http")
	c.Storage.Dir = drawText(t, "dir")
	c.Storage.Reserve = drawBytes(t, "reserve")
	c.Storage.Slack = max(LeastSlack, drawBytes(t, "slack"))
	c.Storage.Cache = drawBytes(t, "cache")
	c.Sync.AckInterval = drawDuration(t, 0, time.Minute, "ack_interval")
	c.Log.Level = rapid.SampledFrom([]string{"debug", "info", "warn", "error"}).Draw(t, "level")
	c.Prefix = rapid.StringMatching(`[A-Za-z][a-z0-9]{0,5}(\.[A-Za-z0-9]{1,5})?`).Draw(t, "prefix")
	c.WorkerGrace = drawDuration(t, 0, longest, "worker_grace")
	c.AutoCreate = rapid.Bool().Draw(t, "auto_create")
	c.Defaults = drawSettings(t, "defaults")
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z0-9_-]{1,50}`), 0, 4, rapid.ID[string]).Draw(t, "names")
	for i, name := range names {
		s := drawSettings(t, name)
		if s.VisibilityAuto { // what the form has no place for is the defaults'
			s.VisibilityTimeout = c.Defaults.VisibilityTimeout
		} else {
			s.VisibilityMin, s.VisibilityMax = c.Defaults.VisibilityMin, c.Defaults.VisibilityMax
		}
		for j := range rapid.IntRange(0, 3).Draw(t, "subjects") {
			token := rapid.SampledFrom([]string{"*", ">", "Ü", "a"}).Draw(t, "token")
			s.Subjects = append(s.Subjects, fmt.Sprintf("$q%d.%d.%s", i, j, token))
		}
		if rapid.Bool().Draw(t, "pushed") {
			s.Push.Subject = rapid.StringMatching(`[P-S][a-z]{0,3}\.[A-Za-z0-9]{1,5}`).Draw(t, "push")
			if strings.HasPrefix(s.Push.Subject, c.Prefix+".") {
				s.Push.Subject = ""
			}
		}
		c.Queues = append(c.Queues, Queue{Name: name, Settings: s})
	}
	return c
}

func drawSettings(t *rapid.T, label string) queue.Settings {
	s := queue.Defaults()
	if s.VisibilityAuto = rapid.Bool().Draw(t, label); s.VisibilityAuto {
		s.VisibilityMin = drawDuration(t, 1, queue.MaxDelay, label)
		s.VisibilityMax = drawDuration(t, s.VisibilityMin, queue.MaxDelay, label)
	} else {
		s.VisibilityTimeout = drawDuration(t, 1, queue.MaxDelay, label)
	}
	if rapid.Bool().Draw(t, label) {
		s.MaxHold = drawDuration(t, longestVisibility(s), queue.MaxDelay, label)
	}
	s.MaxAttempts = rapid.IntRange(0, math.MaxInt32).Draw(t, label)
	s.MaxInFlight = rapid.IntRange(1, 1<<40).Draw(t, label)
	s.Push.MaxInFlightPerWorker = rapid.IntRange(1, 100).Draw(t, label)
	s.DedupeWindow = drawDuration(t, 0, queue.MaxDelay, label)
	s.MaxMessages = rapid.Int64Min(0).Draw(t, label)
	s.MaxBytes = drawBytes(t, label)
	s.MaxMessageSize = drawBytes(t, label)
	s.MaxAge = drawDuration(t, 0, queue.MaxDelay, label)
	s.Paused = rapid.Bool().Draw(t, label)
	s.DeadLetter.Enabled = rapid.Bool().Draw(t, label)
	if s.DeadLetter.Enabled {
		s.DeadLetter.Queue = rapid.SampledFrom([]string{"", strings.Repeat("Z", 60)}).Draw(t, label)
	}
	s.Backoff.Jitter = rapid.Float64Range(0, 0.99).Draw(t, label)
	if rapid.Bool().Draw(t, label) {
		s.Backoff.Initial, s.Backoff.Max, s.Backoff.Factor = 0, 0, 0
		s.Backoff.List = rapid.SliceOfN(rapid.Map(rapid.Int64Range(0, int64(queue.MaxDelay)), func(n int64) time.Duration { return time.Duration(n) }), 1, 4).Draw(t, label)
		return s
	}
	s.Backoff.Initial = drawDuration(t, 0, queue.MaxDelay, label)
	s.Backoff.Max = drawDuration(t, s.Backoff.Initial, queue.MaxDelay, label)
	s.Backoff.Factor = rapid.Float64Range(1, 1e9).Draw(t, label)
	return s
}

// drawText has letters of any language, and what formats give a meaning to.
func drawText(t *rapid.T, label string) string {
	return rapid.StringMatching(`[./a-zA-Zäß語😀'"\\#:{}\[\]&*!|>%@=,~ -]{0,10}[a-zA-Z0-9'"\\#]`).Draw(t, label)
}

func drawBytes(t *rapid.T, label string) int64 {
	unit := rapid.SampledFrom(units()).Draw(t, label).bytes
	return unit * rapid.Int64Range(0, (1<<62)/unit).Draw(t, label)
}

func drawDuration(t *rapid.T, least, most time.Duration, label string) time.Duration {
	d := time.Duration(rapid.Int64Range(int64(least), int64(most)).Draw(t, label))
	round := rapid.SampledFrom([]time.Duration{1, time.Millisecond, time.Second, time.Minute, time.Hour}).Draw(t, label)
	return max(least, d.Truncate(round))
}

// treeOf has every key of a configuration, as a file would.
func treeOf(t *rapid.T, c *Config) map[string]any {
	tree := map[string]any{}
	for _, k := range globalKeys() {
		if !replaced(k.name, &c.Defaults) {
			put(tree, k.name, native(t, k.kind, k.kind.texts(k.global(c))))
		}
	}
	queues := []any{}
	for _, q := range c.Queues {
		table := map[string]any{"name": q.Name}
		for _, k := range queueKeys() {
			if !replaced(k.name, &q.Settings) {
				put(table, k.name, native(t, k.kind, k.kind.texts(k.perQueue(&q.Settings))))
			}
		}
		queues = append(queues, table)
	}
	tree["queues"] = queues
	return tree
}

// replaced tells whether a key is of a form that a backoff or a visibility
// timeout does not have.
func replaced(name string, s *queue.Settings) bool {
	listed := len(s.Backoff.List) > 0
	switch strings.TrimPrefix(name, "defaults.") {
	case "backoff.list":
		return !listed
	case "backoff.initial", "backoff.factor", "backoff.max":
		return listed
	case "visibility_timeout_min", "visibility_timeout_max":
		return !s.VisibilityAuto
	}
	return false
}
