package queue

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dsend/retry"
)

// ConsumerSettings are what a consumer can be told. What is not set is as the
// queue has it. They are kept in the log with the consumer.
type ConsumerSettings struct {
	// Durable consumers were made to stay; the others have an
	// InactiveThreshold. It is only shown.
	Durable bool `json:"durable,omitempty"`
	// Description and Metadata are their maker's words.
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	// VisibilityTimeout is how long a delivery may stay unanswered; 0 is the
	// queue's.
	VisibilityTimeout time.Duration `json:"visibility_timeout,omitempty"`
	// MaxAttempts is the attempt that is the last one if it fails through this
	// consumer; 0 is the queue's.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Backoff says how long a failed attempt waits, the last entry for all
	// that follow; none is the queue's.
	Backoff []time.Duration `json:"backoff,omitempty"`
	// MaxInFlight bounds the unanswered deliveries through this consumer; 0 is
	// the queue's bound alone.
	MaxInFlight int `json:"max_in_flight,omitempty"`
	// MaxWaiting bounds the requests that wait here; 0 is no bound.
	MaxWaiting int `json:"max_waiting,omitempty"`
	// MaxBatch, MaxExpires and MaxBytes bound what one request may ask for; 0 is
	// no bound.
	MaxBatch   int           `json:"max_batch,omitempty"`
	MaxExpires time.Duration `json:"max_expires,omitempty"`
	MaxBytes   int           `json:"max_bytes,omitempty"`
	// InactiveThreshold is after how long without a request that waits and
	// without a message in flight the consumer is removed; 0 is never.
	InactiveThreshold time.Duration `json:"inactive_threshold,omitempty"`
	// PausedUntil is until when nothing is delivered here; 0 is not paused.
	PausedUntil int64 `json:"paused_until,omitempty"`
}

// maxConsumers bounds the consumers of one queue.
const maxConsumers = 1000

// Bounds of a consumer's own words.
const (
	maxConsumerName = 255     // bytes
	maxWords        = 4 << 10 // bytes of a description
	maxMetadata     = 128 << 10
	maxBackoff      = 1000 // entries
)

// ValidConsumerName tells whether a name can be a consumer's: it is a token of
// the reply subjects of its deliveries.
func ValidConsumerName(name string) bool {
	return name != "" && len(name) <= maxConsumerName && !strings.ContainsFunc(name, notInConsumer)
}

func notInConsumer(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`.*>/\@`, r) }

// Validate refuses settings that are out of range. The error is a
// *SettingError.
func (s *ConsumerSettings) Validate() error {
	checks := []struct {
		bad  bool
		key  string
		what string
	}{
		{outside(s.VisibilityTimeout), "visibility_timeout", "is negative or above 10 years"},
		{s.MaxAttempts < 0 || s.MaxAttempts > math.MaxInt32, "max_attempts", "is negative or above 2147483647"},
		{len(s.Backoff) > maxBackoff, "backoff", fmt.Sprintf("has more than %d entries", maxBackoff)},
		{slices.ContainsFunc(s.Backoff, outside), "backoff", "has an entry that is negative or above 10 years"},
		{s.MaxInFlight < 0, "max_in_flight", "is negative"},
		{s.MaxWaiting < 0, "max_waiting", "is negative"},
		{s.MaxBatch < 0, "max_batch", "is negative"},
		{outside(s.MaxExpires), "max_expires", "is negative or above 10 years"},
		{s.MaxBytes < 0, "max_bytes", "is negative"},
		{outside(s.InactiveThreshold), "inactive_threshold", "is negative or above 10 years"},
		{s.PausedUntil < 0, "paused_until", "is before 1970"},
		{len(s.Description) > maxWords, "description", fmt.Sprintf("is longer than %d bytes", maxWords)},
		{wordsOf(s.Metadata) > maxMetadata, "metadata", fmt.Sprintf("is longer than %d bytes", maxMetadata)},
	}
	for _, c := range checks {
		if c.bad {
			return &SettingError{c.key, c.what}
		}
	}
	return nil
}

func outside(d time.Duration) bool { return d < 0 || d > MaxDelay }

// wordsOf is how long metadata is, in bytes.
func wordsOf(metadata map[string]string) (n int) {
	for k, v := range metadata {
		n += len(k) + len(v)
	}
	return n
}

// Equal tells whether two settings say the same.
func (s ConsumerSettings) Equal(o ConsumerSettings) bool {
	a, errA := json.Marshal(s)
	b, errB := json.Marshal(o)
	return errA == nil && errB == nil && string(a) == string(b)
}

// exceeded is the status for a request that asks for more than one may, with the
// bound; 0 if it does not.
func (s *ConsumerSettings) exceeded(op *Pull) (Status, int64) {
	switch {
	case s.MaxBatch > 0 && op.Batch > s.MaxBatch:
		return StatusMaxBatch, int64(s.MaxBatch)
	case s.MaxExpires > 0 && op.Expires > s.MaxExpires:
		return StatusMaxExpires, int64(s.MaxExpires)
	case s.MaxBytes > 0 && op.MaxBytes > s.MaxBytes:
		return StatusMaxBytes, int64(s.MaxBytes)
	}
	return 0, 0
}

// policy is the backoff of a consumer that has one of its own.
func (s *ConsumerSettings) policy() retry.Policy { return retry.Policy{List: s.Backoff} }
