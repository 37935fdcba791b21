package dlq

import (
	"iter"
	"unique"
)

// MaxHistory is how many attempts a History keeps. It may be raised, but not
// lowered: logs hold histories of this length.
const MaxHistory = 20

// Attempt is one attempt that ended without an ack.
type Attempt struct {
	At      int64   // when it was handed out, in nanoseconds
	Ended   int64   // when it ended, in nanoseconds
	Worker  string  // to whom it was handed
	Outcome Outcome // how it ended
	Error   string  // what the worker said, or ""
}

// History is the last MaxHistory attempts of a message, oldest first. It is a
// value that never changes, so any number of goroutines may read and share it.
// The zero value is empty.
type History struct {
	records []record
}

// record is an Attempt with its strings interned: 40 bytes, whatever they say.
type record struct {
	at, ended     int64
	worker, error unique.Handle[string]
	outcome       Outcome
}

// Add returns a history with a at its end, without the oldest attempt if there
// would be too many. Worker and Error are passed through TrimError.
func (h History) Add(a Attempt) History {
	kept := h.records[max(0, len(h.records)+1-MaxHistory):]
	records := make([]record, 0, len(kept)+1)
	a.Worker, a.Error = TrimError(a.Worker), TrimError(a.Error)
	return History{append(append(records, kept...), pack(a))}
}

// Len returns how many attempts are kept.
func (h History) Len() int { return len(h.records) }

// All yields the attempts, oldest first.
func (h History) All() iter.Seq[Attempt] {
	return func(yield func(Attempt) bool) {
		for _, r := range h.records {
			if !yield(r.unpack()) {
				return
			}
		}
	}
}

// Last returns the latest attempt; ok is false when there is none.
func (h History) Last() (a Attempt, ok bool) {
	if len(h.records) == 0 {
		return a, false
	}
	return h.records[len(h.records)-1].unpack(), true
}

func pack(a Attempt) record {
	return record{a.At, a.Ended, unique.Make(a.Worker), unique.Make(a.Error), a.Outcome}
}

func (r record) unpack() Attempt {
	return Attempt{r.at, r.ended, r.worker.Value(), r.outcome, r.error.Value()}
}
