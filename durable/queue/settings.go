package queue

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"dsend/retry"
)

// Settings are what a queue can be told. They are kept in the log with the
// queue, so that a queue behaves after a restart as it did before. Durations
// are in nanoseconds in JSON.
type Settings struct {
	// Subjects are captured: what is published to them is a publish to the
	// queue. NATS wildcards are allowed.
	Subjects []string `json:"subjects,omitempty"`
	// VisibilityTimeout is how long a delivery may stay unanswered.
	VisibilityTimeout time.Duration `json:"visibility_timeout"`
	// VisibilityAuto lets it follow how long workers take, between VisibilityMin
	// and VisibilityMax; VisibilityTimeout is where it begins.
	VisibilityAuto bool          `json:"visibility_auto,omitempty"`
	VisibilityMin  time.Duration `json:"visibility_timeout_min,omitempty"`
	VisibilityMax  time.Duration `json:"visibility_timeout_max,omitempty"`
	// MaxHold bounds what "in progress" answers can add up to, counted from
	// the delivery. 0 is no bound.
	MaxHold time.Duration `json:"max_hold,omitempty"`
	// MaxAttempts is how many attempts a message has, the first included.
	// 0 is unlimited.
	MaxAttempts int `json:"max_attempts"`
	// Backoff says how long a failed attempt waits.
	Backoff retry.Policy `json:"backoff"`
	// MaxInFlight bounds the deliveries of the queue that are unanswered.
	MaxInFlight int `json:"max_in_flight"`
	// Push is about workers that subscribe in a queue group.
	Push Push `json:"push"`
	// DedupeWindow is how long a message id is remembered, from its first
	// publish. 0 turns dedupe off.
	DedupeWindow time.Duration `json:"dedupe_window"`
	// MaxMessages bounds the messages stored; 0 is no bound.
	MaxMessages int64 `json:"max_messages,omitempty"`
	// MaxBytes bounds the bytes stored (subject, headers, body and what the
	// log adds to a message); 0 is no bound.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// MaxMessageSize bounds headers and body of one message, in bytes; 0 is
	// the bound of the server (max_payload).
	MaxMessageSize int64 `json:"max_message_size,omitempty"`
	// MaxAge is when a message that is not in flight expires, counted from
	// its publish; 0 is never.
	MaxAge time.Duration `json:"max_age,omitempty"`
	// DeadLetter says where messages go that are given up.
	DeadLetter DeadLetter `json:"dead_letter"`
	// Paused queues take publishes and answers, and deliver nothing.
	Paused bool `json:"paused,omitempty"`
	// Description and Metadata are the words of who made the queue. They are
	// never changed in place.
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// Push is how deliveries are pushed to workers.
type Push struct {
	// Subject is where workers subscribe; empty is the work subject of the
	// queue.
	Subject string `json:"subject,omitempty"`
	// MaxInFlightPerWorker times the members of a group bounds what the
	// group holds.
	MaxInFlightPerWorker int `json:"max_in_flight_per_worker"`
}

// DeadLetter is where the messages of a queue go that are given up.
type DeadLetter struct {
	// Enabled queues keep dead messages; others drop them, with an event.
	Enabled bool `json:"enabled"`
	// Queue is the dead-letter queue; empty is the queue's name with "-dlq".
	Queue string `json:"queue,omitempty"`
}

// Defaults are the settings of a queue nobody configured.
func Defaults() Settings {
	return Settings{
		VisibilityTimeout: 30 * time.Second,
		VisibilityMin:     5 * time.Second,
		VisibilityMax:     time.Hour,
		MaxAttempts:       5,
		Backoff:           retry.Default(),
		MaxInFlight:       10_000,
		Push:              Push{MaxInFlightPerWorker: 1},
		DedupeWindow:      2 * time.Minute,
		DeadLetter:        DeadLetter{Enabled: true},
	}
}

// ForDead are these settings for a dead-letter queue that nobody configured:
// nothing dead is refused or held back by what was meant for living messages.
func (s Settings) ForDead(name string) Settings {
	s.MaxMessages, s.MaxBytes, s.MaxMessageSize, s.MaxAge, s.Paused = 0, 0, 0, 0, false
	if s.Validate(name) != nil { // its own name leaves no room for "-dlq", or is that of all dead letters
		s.DeadLetter.Queue = name // what is published here and fails stays here
	}
	return s
}

// MaxDelay is the longest wait that can be asked for (10 years).
const MaxDelay = 10 * 365 * 24 * time.Hour

// maxName is the longest queue name, in bytes.
const maxName = 64

// ValidName tells whether a name can be a queue's: [A-Za-z0-9_-]{1,64}.
func ValidName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// DLQName is the dead-letter queue of a queue with these settings.
func (s *Settings) DLQName(name string) string {
	if s.DeadLetter.Queue != "" {
		return s.DeadLetter.Queue
	}
	return name + "-dlq"
}

// A SettingError names the key of a setting and what is wrong with it.
type SettingError struct {
	Key  string // as in the configuration, e.g. "backoff.max"
	What string
}

func (e *SettingError) Error() string { return e.Key + ": " + e.What }

// Validate refuses settings that contradict themselves or the queue's name.
// The error is a *SettingError.
func (s *Settings) Validate(name string) error {
	checks := []struct {
		bad  bool
		key  string
		what string
	}{
		{s.VisibilityTimeout <= 0, "visibility_timeout", "must be above 0"},
		{s.VisibilityTimeout > MaxDelay, "visibility_timeout", "is above 10 years"},
		{s.VisibilityMin < 0 || s.VisibilityAuto && s.VisibilityMin == 0, "visibility_timeout_min", "must be above 0"},
		{s.VisibilityMax < 0, "visibility_timeout_max", "must be above 0"},
		{s.VisibilityMax > MaxDelay, "visibility_timeout_max", "is above 10 years"},
		{s.VisibilityMin > s.VisibilityMax, "visibility_timeout_min", "is above visibility_timeout_max"},
		{s.MaxHold < 0, "max_hold", "must not be negative"},
		{s.MaxHold > MaxDelay, "max_hold", "is above 10 years"},
		{s.MaxHold > 0 && s.MaxHold < s.VisibilityTimeout && !s.VisibilityAuto, "max_hold", "is below visibility_timeout"},
		{s.MaxHold > 0 && s.MaxHold < s.VisibilityMax && s.VisibilityAuto, "max_hold", "is below visibility_timeout_max"},
		{s.MaxAttempts < 0, "max_attempts", "must not be negative (0 is unlimited)"},
		{s.MaxAttempts > math.MaxInt32, "max_attempts", "is above 2147483647"},
		{s.MaxInFlight <= 0, "max_in_flight", "must be above 0"},
		{s.Push.MaxInFlightPerWorker <= 0, "push.max_in_flight_per_worker", "must be above 0"},
		{s.Push.MaxInFlightPerWorker > math.MaxInt32, "push.max_in_flight_per_worker", "is above 2147483647"},
		{s.DedupeWindow > MaxDelay, "dedupe_window", "is above 10 years"},
		{s.DedupeWindow < 0, "dedupe_window", "must not be negative (0 turns it off)"},
		{s.MaxMessages < 0, "max_messages", "must not be negative (0 is no bound)"},
		{s.MaxBytes < 0, "max_bytes", "must not be negative (0 is no bound)"},
		{s.MaxMessageSize < 0, "max_message_size", "must not be negative (0 is the server's max_payload)"},
		{s.MaxAge < 0, "max_age", "must not be negative (0 is never)"},
		{s.MaxAge > MaxDelay, "max_age", "is above 10 years"},
		{s.Push.Subject != "" && !ValidSubject(s.Push.Subject), "push.subject", "is not a literal NATS subject"},
		{s.DeadLetter.Queue != "" && !ValidName(s.DeadLetter.Queue), "dead_letter.queue", "is not a queue name"},
		{s.DeadLetter.Enabled && !ValidName(s.DLQName(name)), "dead_letter.queue", "the default name " + s.DLQName(name) + " is too long; set one"},
		{wordsOf(s.Metadata) > maxMetadata, "metadata", fmt.Sprintf("is longer than %d bytes", maxMetadata)},
		{s.DeadLetter.Enabled && s.DLQName(name) == name, "dead_letter.queue", "is the queue itself"},
	}
	for _, c := range checks {
		if c.bad {
			return &SettingError{c.key, c.what}
		}
	}
	if err := s.Backoff.Validate(); err != nil {
		return &SettingError{"backoff", err.Error()}
	}
	return validateSubjects(s.Subjects)
}

// Each subject of a queue is compared with each, while everybody waits: with
// these bounds not for long.
const (
	maxSubjects     = 1000
	maxSubjectBytes = 64 << 10
)

// validateSubjects refuses what is not a subject, and two that overlap: what is
// published to both would come twice.
func validateSubjects(subjects []string) error {
	size := 0
	for _, subject := range subjects {
		size += len(subject)
	}
	switch {
	case len(subjects) > maxSubjects:
		return &SettingError{"subjects", fmt.Sprintf("are more than %d", maxSubjects)}
	case size > maxSubjectBytes:
		return &SettingError{"subjects", fmt.Sprintf("have more than %d bytes together", maxSubjectBytes)}
	}
	for i, subject := range subjects {
		if !ValidPattern(subject) {
			return &SettingError{"subjects", fmt.Sprintf("%q is not a NATS subject", subject)}
		}
		for _, other := range subjects[:i] {
			if Overlap(subject, other) {
				return &SettingError{"subjects", fmt.Sprintf("%q overlaps with %q", subject, other)}
			}
		}
	}
	return nil
}

// Equal tells whether two settings say the same.
func (s Settings) Equal(o Settings) bool {
	a, errA := json.Marshal(s)
	b, errB := json.Marshal(o)
	return errA == nil && errB == nil && string(a) == string(b)
}

// ValidSubject tells whether a subject is literal and well formed.
func ValidSubject(subject string) bool {
	return ValidPattern(subject) && !strings.ContainsAny(subject, "*>")
}

// ValidPattern tells whether a subject, with or without wildcards, is well
// formed: tokens are not empty, have no white space, and a wildcard is a whole
// token, ">" the last.
func ValidPattern(subject string) bool {
	if subject == "" {
		return false
	}
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		switch {
		case token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return false
		case strings.Contains(token, "*") && token != "*":
			return false
		case strings.Contains(token, ">") && (token != ">" || i != len(tokens)-1):
			return false
		}
	}
	return true
}

// Overlap tells whether some subject matches both patterns.
func Overlap(a, b string) bool {
	for {
		x, restA, moreA := strings.Cut(a, ".")
		y, restB, moreB := strings.Cut(b, ".")
		switch {
		case x == ">" || y == ">":
			return true
		case x != y && x != "*" && y != "*", moreA != moreB:
			return false
		case !moreA:
			return true
		}
		a, b = restA, restB
	}
}
