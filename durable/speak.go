package durable

import (
	"context"
	"errors"
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

// speak says what the commits allow, in order, and reads bodies for people
// in between.
func (s *Store) speak() {
	for {
		select {
		case b, ok := <-s.speech:
			if !ok {
				return
			}
			s.say(b)
			s.recycle(b)
		case r := <-s.reads:
			m, err := s.message(r.place, r.size)
			r.reply <- readResult{m, err}
		}
	}
}

func (s *Store) say(b *batch) {
	if b.out.Changed {
		s.cfg.Speaker.Changed(b.changed)
	}
	if len(b.out.Replies) > 0 {
		s.cfg.Speaker.Replies(b.out.Replies)
	}
	for _, c := range b.calls {
		c.to <- c.reply
	}
	s.deliver(b.out.Speech)
	s.tell(b.out.Events)
}

// recycle keeps the memory of a batch for another one, but not the records:
// the cache has them.
func (s *Store) recycle(b *batch) {
	b.out.Reset()
	clear(b.calls)
	b.calls, b.changed, b.ops = b.calls[:0], nil, 0
	select {
	case s.spare <- b:
	default:
	}
}

func (s *Store) deliver(speech []queue.Speech) {
	if len(speech) == 0 {
		return
	}
	spoken := make([]Spoken, 0, len(speech))
	for i := range speech {
		sp := Spoken{Speech: &speech[i]}
		if sp.Status == 0 {
			m, err := s.message(sp.Place, sp.Size)
			if err != nil {
				s.fail(fmt.Errorf("message %d of queue %s: %w", sp.Seq, sp.Queue, err))
				return
			}
			sp.Message = m
		}
		spoken = append(spoken, sp)
	}
	s.cfg.Speaker.Speak(spoken)
}

func (s *Store) tell(events []queue.Event) {
	if len(events) == 0 {
		return
	}
	told := make([]Event, 0, len(events))
	for i := range events {
		e := Event{Event: &events[i]}
		if e.Kind == queue.EventDied {
			m, err := s.message(e.Place, e.Size)
			if err != nil {
				s.fail(fmt.Errorf("message %d of queue %s: %w", e.Seq, e.Queue, err))
				return
			}
			e.Message = m
		}
		told = append(told, e)
	}
	s.cfg.Speaker.Events(told)
}

// message reads a message from memory or from the log and proves it.
func (s *Store) message(place queue.Place, size uint32) (queue.Message, error) {
	data := s.cache.get(place.Commit, place.Offset, size)
	if data == nil {
		data = make([]byte, size)
		if err := s.log.Read(place.Commit, place.Offset, data); err != nil {
			return queue.Message{}, err
		}
	}
	return queue.DecodeMessage(data)
}

// errMoved is returned when a message moved in the log while it was looked up.
var errMoved = errors.New("the message has moved")

// Message reads the body of a message.
func (s *Store) Message(ctx context.Context, name string, seq uint64) (queue.Entry, queue.Message, error) {
	for range 3 { // it may be carried forward between the look-up and the read
		e, err := s.entry(ctx, name, seq)
		if err != nil {
			return queue.Entry{}, queue.Message{}, err
		}
		m, err := s.read(ctx, e)
		if err == nil {
			return e, m, nil
		}
		if !errors.Is(err, errMoved) {
			return e, m, err
		}
	}
	return queue.Entry{}, queue.Message{}, errMoved
}

func (s *Store) entry(ctx context.Context, name string, seq uint64) (e queue.Entry, err error) {
	err = errors.Join(s.View(ctx, func(state *queue.State) {
		var refused *queue.Error
		if e, refused = state.Entry(name, seq); refused != nil {
			err = refused
		}
	}), err)
	return e, err
}

func (s *Store) read(ctx context.Context, e queue.Entry) (queue.Message, error) {
	reply := make(chan readResult, 1)
	select {
	case s.reads <- read{e.Place, e.Size, reply}:
	case <-ctx.Done():
		return queue.Message{}, ctx.Err()
	case <-s.ending:
		return queue.Message{}, s.ended()
	}
	r := <-reply
	if r.err != nil {
		return r.m, fmt.Errorf("%w: %w", errMoved, r.err)
	}
	return r.m, nil
}
