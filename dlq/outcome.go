package dlq

import "fmt"

// Outcome says how an attempt ended without an ack. The numbers are in the log:
// a word may be added at the end, none is ever renumbered.
type Outcome uint8

const (
	OutcomeNak        Outcome = iota + 1 // the worker said: failed, retry
	OutcomeTimeout                       // no answer within the visibility timeout
	OutcomeGone                          // the worker went away with it
	OutcomeTerminated                    // the worker said: failed, never retry
	OutcomeGivenBack                     // the worker gave it back unworked; not counted
	OutcomeExpired                       // its time to live ended while it was in flight
	OutcomeManual                        // somebody moved it by hand while it was in flight
)

const lastOutcome = OutcomeManual

// String returns the word for o: nak, timeout, gone, terminated, given_back,
// expired or manual; "outcome(n)" for a number without a word.
func (o Outcome) String() string {
	switch o {
	case OutcomeNak:
		return "nak"
	case OutcomeTimeout:
		return "timeout"
	case OutcomeGone:
		return "gone"
	case OutcomeTerminated:
		return "terminated"
	case OutcomeGivenBack:
		return "given_back"
	case OutcomeExpired:
		return "expired"
	case OutcomeManual:
		return "manual"
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// ParseOutcome returns the outcome whose word is s, or an error that lists all.
func ParseOutcome(s string) (Outcome, error) {
	for o := Outcome(1); o <= lastOutcome; o++ {
		if o.String() == s {
			return o, nil
		}
	}
	return 0, fmt.Errorf("%q is not an outcome (nak, timeout, gone, terminated, given_back, expired, manual)", s)
}

// MarshalText returns the word for o. It never fails.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText is ParseOutcome.
func (o *Outcome) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOutcome(string(text))
	return err
}
