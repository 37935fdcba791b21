package durable

import (
	"crypto/rand"
	"errors"
	"fmt"

	"dsend/durable/queue"
)

// Closed is a log that no server has open, as it was found on disk. Commits
// calls whole for each commit that is whole, and lost for those from first to
// last that are not, in order.
type Closed interface {
	Commits(whole func(commit uint64, data []byte) error, lost func(first, last uint64) error) error
}

// Examination is what a closed log holds.
type Examination struct {
	Commits  uint64 // whole ones
	Last     uint64 // the last commit, whole or lost
	Queues   []queue.Info
	Messages int64
	Bytes    int64 // of messages
	Losses   queue.Losses
	// Mending is the data of a commit that makes the store whole again; nil if
	// no commit was lost.
	Mending []byte
	// Front is the last of the commits before the first one in the log, if what
	// was carried forward from them is missing; 0 if nothing is.
	Front uint64

	first uint64 // the first commit, whole or lost
}

// Examine rebuilds the queues from a closed log, as a server would, and proves
// them: each message is in exactly one state, and its record is where it will
// be read from, whole. Nothing is changed. An error says that the log cannot be
// read, or, although its checksums are right, not understood.
func Examine(log Closed, cfg queue.Config) (*Examination, error) {
	e, v, err := examine(log, cfg, 0)
	if err != nil {
		return nil, err
	}
	if fault := e.unfounded(v.State()); fault != nil {
		if e.first <= 1 {
			return nil, fault
		}
		if e, v, err = examine(log, cfg, e.first-1); err != nil {
			return nil, err
		}
	}
	if err := prove(log, v.State()); err != nil {
		return nil, err
	}
	e.Queues = v.State().Infos()
	for _, q := range e.Queues {
		e.Messages += q.Ready + q.Delayed + q.InFlight
		e.Bytes += q.Bytes
	}
	return e, nil
}

// unfounded is why a server would not take the State of a log without losses:
// what was carried forward from the commits before it is missing.
func (e *Examination) unfounded(s *queue.State) error {
	if e.Mending != nil || e.Commits == 0 {
		return nil
	}
	if s.Key() == [16]byte{} {
		return errNoKey
	}
	return s.Recovered()
}

// examine recovers the log. If front is not 0, the commits up to it, which the
// log should not need any more, are missing.
func examine(log Closed, cfg queue.Config, front uint64) (*Examination, *queue.Salvage, error) {
	v, e := queue.NewSalvage(cfg), &Examination{Front: front}
	begin := func(commit uint64) {
		if e.first > 0 {
			return
		}
		if e.first = commit; front > 0 {
			v.Lose(1, front)
		}
	}
	err := log.Commits(func(commit uint64, data []byte) error {
		begin(commit)
		e.Commits++
		e.Last = commit
		if err := v.Recover(commit, data); err != nil {
			return fmt.Errorf("commit %d: %w", commit, err)
		}
		return nil
	}, func(first, last uint64) error {
		begin(first)
		v.Lose(first, last)
		e.Last = last
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	e.Losses = v.Losses()
	if e.Losses.Commits == 0 {
		return e, v, nil
	}
	e.Mending = mend(v, e.Last+1)
	if err := v.State().Recovered(); err != nil {
		return nil, nil, err
	}
	return e, v, nil
}

// mend makes the commit that makes the State whole.
func mend(v *queue.Salvage, commit uint64) []byte {
	var key [16]byte
	rand.Read(key[:]) // never fails
	var out queue.Out
	v.State().Begin(commit, v.State().Now(), &out)
	v.Mend(key, &out)
	return out.Records
}

// errTwice says what must never be.
var errTwice = errors.New("a message is not in exactly one state")

// prove proves a State, and that each message in it has its record in the log.
func prove(log Closed, state *queue.State) error {
	if err := state.Check(); err != nil {
		return fmt.Errorf("%w: %w", errTwice, err)
	}
	records := int64(0)
	err := log.Commits(func(commit uint64, data []byte) error {
		for offset, record := range queue.Messages(data) {
			if state.Holds(queue.Place{Commit: commit, Offset: offset}, record) {
				records++
			}
		}
		return nil
	}, func(uint64, uint64) error { return nil })
	if total := state.Total(); err == nil && records != total {
		err = fmt.Errorf("%d messages, and the log has the records of %d of them", total, records)
	}
	return err
}
