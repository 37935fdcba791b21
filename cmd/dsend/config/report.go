package config

import (
	"fmt"
	"slices"
	"strings"
)

// Report is what a good configuration comes to: what "dsend config check"
// prints, or its JSON.
type Report struct {
	File   string        `json:"file,omitempty"`
	Queues []QueueReport `json:"queues"`
	// Defaults is the report of a queue that nobody configured.
	Defaults QueueReport `json:"defaults"`
}

// QueueReport is what a queue will do.
type QueueReport struct {
	Name              string    `json:"name,omitempty"`
	Line              int       `json:"line,omitempty"`
	Subjects          []string  `json:"subjects"`
	PushSubject       string    `json:"push_subject"`
	VisibilityTimeout string    `json:"visibility_timeout"`
	Retry             Timetable `json:"retry"`
	// DeadLetters is the queue they are kept in; empty if they are dropped.
	DeadLetters string `json:"dead_letters"`
	// HoldsDead are the queues whose dead letters this one keeps.
	HoldsDead []string `json:"holds_dead"`
	Limits    []Limit  `json:"limits"`
	Paused    bool     `json:"paused"`
}

// Limit is a bound of a queue by its key; those that are off are left out.
type Limit struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Check says what the configuration comes to.
func (c *Config) Check() Report {
	holds := map[string][]string{}
	for _, q := range c.Queues {
		if q.Settings.DeadLetter.Enabled {
			dlq := q.Settings.DLQName(q.Name)
			holds[dlq] = append(holds[dlq], q.Name)
		}
	}
	r := Report{File: c.File, Queues: []QueueReport{}}
	for _, q := range c.Queues {
		r.Queues = append(r.Queues, c.report(q, holds[q.Name]))
	}
	r.Defaults = c.report(Queue{Name: "NAME", Settings: c.Defaults}, nil)
	r.Defaults.Name = ""
	return r
}

func (c *Config) report(q Queue, holds []string) QueueReport {
	s := q.Settings
	r := QueueReport{
		Name: q.Name, Line: q.Line,
		Subjects:          append([]string{}, s.Subjects...),
		PushSubject:       s.Push.Subject,
		VisibilityTimeout: shownVisibility(s),
		Retry:             timetable(s),
		HoldsDead:         append([]string{}, holds...),
		Limits:            limits(q),
		Paused:            s.Paused,
	}
	if r.PushSubject == "" {
		r.PushSubject = c.Prefix + ".work." + q.Name
	}
	if s.DeadLetter.Enabled {
		r.DeadLetters = s.DLQName(q.Name)
	}
	return r
}

// limits are the bounds that are on.
func limits(q Queue) []Limit {
	bounds := []string{
		"max_in_flight", "push.max_in_flight_per_worker", "max_hold",
		"max_messages", "max_bytes", "max_message_size", "max_age", "dedupe_window",
	}
	out := []Limit{}
	for _, k := range queueKeys() {
		text := strings.Join(k.kind.texts(k.perQueue(&q.Settings)), ",")
		if slices.Contains(bounds, k.name) && text != "0" && text != "0s" {
			out = append(out, Limit{k.name, text})
		}
	}
	return out
}

// String is the report for people, a few lines for each queue.
func (r Report) String() string {
	var b strings.Builder
	name := r.File
	if name == "" {
		name = "no file"
	}
	fmt.Fprintf(&b, "%s: good, queues: %d\n", name, len(r.Queues))
	for _, q := range r.Queues {
		fmt.Fprintf(&b, "\n%s\n%s", q.Name, q)
	}
	fmt.Fprintf(&b, "\nany other queue\n%s", r.Defaults)
	return b.String()
}

// String is the report of one queue, without its name.
func (r QueueReport) String() string {
	var b strings.Builder
	row := func(word, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-13s %s\n", word, text)
		}
	}
	row("captures", strings.Join(r.Subjects, ", "))
	row("pushes to", r.PushSubject)
	row("visibility", r.VisibilityTimeout)
	row("retry", r.Retry.String())
	row("dead letters", r.deadLetters())
	if len(r.HoldsDead) > 0 {
		row("keeps dead of", strings.Join(r.HoldsDead, ", ")+" (they stay, however often they fail here)")
	}
	row("limits", r.limits())
	if r.Paused {
		row("paused", "delivers nothing")
	}
	return b.String()
}

func (r QueueReport) deadLetters() string {
	if r.DeadLetters == "" {
		return "dropped"
	}
	return r.DeadLetters
}

func (r QueueReport) limits() string {
	words := make([]string, len(r.Limits))
	for i, l := range r.Limits {
		words[i] = l.Key + " " + l.Value
	}
	return strings.Join(words, ", ")
}
