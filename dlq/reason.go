package dlq

import "fmt"

// Reason says why a message was given up. The numbers are in the log: a word may
// be added at the end, none is ever renumbered.
type Reason uint8

const (
	ReasonMaxAttempts  Reason = iota + 1 // the last attempt allowed has failed
	ReasonTerminated                     // a worker said: never retry
	ReasonExpired                        // its time to live ended
	ReasonLimitLowered                   // max attempts was lowered below what it had used
	ReasonManual                         // somebody moved it by hand
)

const lastReason = ReasonManual

// String returns the word for r: max_attempts, terminated, expired,
// limit_lowered or manual; "reason(n)" for a number without a word.
func (r Reason) String() string {
	switch r {
	case ReasonMaxAttempts:
		return "max_attempts"
	case ReasonTerminated:
		return "terminated"
	case ReasonExpired:
		return "expired"
	case ReasonLimitLowered:
		return "limit_lowered"
	case ReasonManual:
		return "manual"
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// ParseReason returns the reason whose word is s, or an error that lists all.
func ParseReason(s string) (Reason, error) {
	for r := Reason(1); r <= lastReason; r++ {
		if r.String() == s {
			return r, nil
		}
	}
	return 0, fmt.Errorf("%q is not a reason (max_attempts, terminated, expired, limit_lowered, manual)", s)
}

// MarshalText returns the word for r. It never fails.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseReason.
func (r *Reason) UnmarshalText(text []byte) (err error) {
	*r, err = ParseReason(string(text))
	return err
}
