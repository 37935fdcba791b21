package admin

import (
	"time"

	"dsend/durable/queue"
	"dsend/retry"
)

// Settings are a queue's settings with every field, also those that are empty.
type Settings struct {
	Subjects          []string      `json:"subjects"`
	VisibilityTimeout time.Duration `json:"visibility_timeout" about:"where it begins, if it is automatic"`
	VisibilityAuto    bool          `json:"visibility_auto" about:"it follows how long workers take"`
	VisibilityMin     time.Duration `json:"visibility_timeout_min" about:"of an automatic one"`
	VisibilityMax     time.Duration `json:"visibility_timeout_max" about:"of an automatic one"`
	MaxHold           time.Duration `json:"max_hold"`
	MaxAttempts       int           `json:"max_attempts" about:"0 is unlimited"`
	Backoff           retry.Policy  `json:"backoff"`
	MaxInFlight       int           `json:"max_in_flight"`
	Push              Push          `json:"push"`
	DedupeWindow      time.Duration `json:"dedupe_window"`
	MaxMessages       int64         `json:"max_messages" about:"0 is no bound"`
	MaxBytes          int64         `json:"max_bytes" about:"0 is no bound"`
	MaxMessageSize    int64         `json:"max_message_size" about:"0 is the server's max_payload"`
	MaxAge            time.Duration `json:"max_age" about:"0 is never"`
	DeadLetter        DeadLetter    `json:"dead_letter"`
	Paused            bool          `json:"paused"`
}

// Push is how deliveries are pushed to workers.
type Push struct {
	Subject              string `json:"subject" about:"empty is the work subject of the queue"`
	MaxInFlightPerWorker int    `json:"max_in_flight_per_worker"`
}

// DeadLetter is where the messages go that are given up.
type DeadLetter struct {
	Enabled bool   `json:"enabled"`
	Queue   string `json:"queue" about:"empty is the queue's name with -dlq"`
}

func viewSettings(s queue.Settings) Settings {
	return Settings{
		append([]string{}, s.Subjects...), s.VisibilityTimeout, s.VisibilityAuto, s.VisibilityMin, s.VisibilityMax, s.MaxHold, s.MaxAttempts, s.Backoff, s.MaxInFlight,
		Push{s.Push.Subject, s.Push.MaxInFlightPerWorker}, s.DedupeWindow, s.MaxMessages, s.MaxBytes, s.MaxMessageSize,
		s.MaxAge, DeadLetter{s.DeadLetter.Enabled, s.DeadLetter.Queue}, s.Paused,
	}
}
