package durable

import (
	"context"
	"fmt"

	"dsend/durable/queue"
)

// read asks the speaking goroutine for a message's body.
type read struct {
	place queue.Place
	size  uint32
	reply chan<- readResult
}

type readResult struct {
	m   queue.Message
	err error
}

// message reads a message from memory or from the log and proves it.
func (s *Store) message(place queue.Place, size uint32) (queue.Message, error) {
	data := s.cache.get(place.Commit, place.Offset, size)
	if data == nil {
		data = make([]byte, size)
		if err := s.fetch(place, data); err != nil {
			return queue.Message{}, err
		}
	}
	return decode(place, data)
}

// fetch fills data with bytes of the log.
func (s *Store) fetch(place queue.Place, data []byte) error {
	if err := s.log.Read(place.Commit, place.Offset, data); err != nil {
		return fmt.Errorf("commit %d, byte %d: %w", place.Commit, place.Offset, err)
	}
	return nil
}

func decode(place queue.Place, data []byte) (queue.Message, error) {
	m, err := queue.DecodeMessage(data)
	if err != nil {
		return m, fmt.Errorf("commit %d, byte %d: damaged: %w", place.Commit, place.Offset, err)
	}
	return m, nil
}

// Message looks a message up and reads its body. Without it the error is a
// *queue.Error. A body that cannot be read or is damaged is an error here and
// nothing more: the store goes on until it must be delivered.
func (s *Store) Message(ctx context.Context, name string, seq uint64) (queue.Entry, queue.Message, error) {
	e, err := s.Entry(ctx, name, seq)
	for err == nil {
		var m queue.Message
		if m, err = s.read(ctx, e); err == nil {
			return e, m, nil
		}
		failure, at := err, e.Place
		if e, err = s.Entry(ctx, name, seq); err == nil && e.Place == at {
			return e, m, fmt.Errorf("message %d of queue %s: %w", seq, name, failure)
		} // else it was carried forward, and what it was read from is gone
	}
	return queue.Entry{}, queue.Message{}, err
}

func (s *Store) read(ctx context.Context, e queue.Entry) (queue.Message, error) {
	reply := make(chan readResult, 1)
	select {
	case s.reads <- read{e.Place, e.Size, reply}:
		r := <-reply
		return r.m, r.err
	case <-ctx.Done():
		return queue.Message{}, ctx.Err()
	case <-s.silent:
		return queue.Message{}, s.ended()
	}
}
