package durable

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"dsend/durable/queue"
)

// errNoKey is what a log says that has commits, but not the first one or what
// compaction made of it.
var errNoKey = errors.New("the log does not begin with the store's own record: a part of it is missing")

// recover builds the state from the log and gives a new store its secret.
func (s *Store) recover() error {
	if err := s.readLog(); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	s.usage = newUsage(s.cfg.Slack, s.log.Generations(), s.state.Spans())
	s.base = time.Now()
	s.epoch = max(s.base.UnixNano(), s.state.Now())
	if s.state.Key() == [16]byte{} {
		if s.log.Last() > 0 {
			return fmt.Errorf("recover: %w", errNoKey)
		}
		if err := s.found(); err != nil {
			return fmt.Errorf("write the first commit: %w", err)
		}
	}
	s.key = s.state.Key()
	return nil
}

func (s *Store) readLog() error {
	var out queue.Out
	r := s.recovery()
	err := s.log.Recover(func(commit uint64, data []byte) error {
		if err := s.state.Recover(commit, data, &out); err != nil {
			return fmt.Errorf("commit %d: %w", commit, err)
		}
		out.Reset()
		return r.add(len(data))
	})
	if err != nil {
		return err
	}
	if err := s.state.Recovered(); err != nil {
		return err
	}
	r.end(s.log.Last())
	return nil
}

// found makes the first commit of a new store.
func (s *Store) found() error {
	var key [16]byte
	rand.Read(key[:]) // never fails
	var out queue.Out
	s.state.Begin(s.log.Last()+1, s.now(), &out)
	s.state.Found(key, &out)
	if err := s.log.Append(out.Records); err != nil {
		return err
	}
	return s.log.Sync()
}
