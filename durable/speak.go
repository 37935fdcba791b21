package durable

import (
	"fmt"
	"iter"

	"dsend/durable/queue"
)

// A Speaker is told this many things at a time, or about this many bytes of
// bodies: however much one commit lets us say, it is not in memory at once.
const (
	maxPiece      = 1024
	maxPieceBytes = 1 << 20
)

// maxBrief is up to how many replies and deliveries the loop says by itself.
// While it does, the disk rests; what more there is, is said while it works.
const maxBrief = 64

// voice is the state of who speaks.
type voice struct {
	*Store
	spoken  []Spoken // memory
	missing []*Spoken
	read    []byte // bodies of one piece
	told    []Event
}

// handOver has a commit said. What is brief, and comes when everything before
// it is said, the loop says by itself: a lone publisher does not wait until the
// speaking goroutine has woken.
func (w *worker) handOver(b *batch) error {
	if w.unsaid.Load() > 0 || !w.brief(b) {
		w.unsaid.Add(1)
		w.speech <- b
		return nil
	}
	err := w.voice.say(b)
	w.recycle(b)
	return err
}

// brief tells whether a batch is said quickly: there is little in it, and no
// body that must be read from the disk.
func (s *Store) brief(b *batch) bool {
	if len(b.out.Replies)+len(b.out.Speech) > maxBrief || len(b.out.Events) > 0 {
		return false
	}
	kept := s.cache.oldest()
	for i := range b.out.Speech {
		if sp := &b.out.Speech[i]; sp.Status == 0 && sp.Place.Commit < kept {
			return false
		}
	}
	return true
}

// speak says what the commits allow, in order, and reads bodies for people in
// between. After a failure nothing more is said.
func (s *Store) speak() {
	defer close(s.silent)
	failed := false
	for {
		select {
		case b, ok := <-s.speech:
			if !ok {
				return
			}
			if failed {
				continue
			}
			if err := s.voice.say(b); err != nil {
				failed = true // and unsaid for ever
				s.fail(err)
				continue
			}
			s.recycle(b)
			s.unsaid.Add(-1)
		case r := <-s.reads:
			m, err := s.message(r.place, r.size)
			r.reply <- readResult{m, err}
		}
	}
}

// say says a batch. A call is answered last: a generation is dropped when its
// last Carry is answered, and until then bodies are read from it.
func (v *voice) say(b *batch) error {
	if len(b.changed) > 0 {
		v.cfg.Speaker.Changed(b.changed)
	}
	if len(b.out.Replies) > 0 {
		v.cfg.Speaker.Replies(b.out.Replies)
	}
	for piece := range pieces(b.out.Speech, func(s *queue.Speech) uint32 { return s.Size }) {
		if err := v.deliver(piece); err != nil {
			return err
		}
	}
	for piece := range pieces(b.out.Events, func(e *queue.Event) uint32 { return e.Size }) {
		if err := v.tell(piece); err != nil {
			return err
		}
	}
	for _, c := range b.calls {
		c.to <- c.reply
	}
	return nil
}

// pieces cuts a list into pieces of bounded size; one thing is never too
// large.
func pieces[T any](list []T, size func(*T) uint32) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(list) > 0 {
			n, bytes := 0, 0
			for n < min(len(list), maxPiece) && bytes < maxPieceBytes {
				bytes += int(size(&list[n]))
				n++
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

func (v *voice) deliver(speech []queue.Speech) error {
	defer v.done()
	for i := range speech {
		v.spoken = append(v.spoken, Spoken{Speech: &speech[i]})
	}
	if err := v.bodies(v.spoken); err != nil {
		return err
	}
	v.cfg.Speaker.Speak(v.spoken)
	return nil
}

func (v *voice) tell(events []queue.Event) error {
	defer func() { clear(v.told); v.told = v.told[:0] }()
	for i := range events {
		e := Event{Event: &events[i]}
		if e.Kind == queue.EventDied {
			var err error
			if e.Message, err = v.message(e.Place, e.Size); err != nil {
				return fmt.Errorf("message %d of queue %s: %w", e.Seq, e.Queue, err)
			}
		}
		v.told = append(v.told, e)
	}
	v.cfg.Speaker.Events(v.told)
	return nil
}
