package durable

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"dsend/durable/queue"
)

var (
	// ErrHeld is returned by Hold while another one is not released.
	ErrHeld = errors.New("the log is already being copied")
	// ErrGivenUp is returned by a Hold that was released: by its owner, or
	// because the disk is nearly full and the log needs the room.
	ErrGivenUp = errors.New("the copy of the log was given up: the disk is nearly full, and its room was needed")
	// ErrNoCopy is returned by Hold of a log that cannot be copied.
	ErrNoCopy = errors.New("this log cannot be copied")
)

// Copier is a Log that can be copied while it is in use. Its ReadFile and Scan
// may be called beside everything else.
type Copier interface {
	Log
	// Seal ends the generation that is being written. It is called as Append
	// is.
	Seal() error
	// ReadFile fills p from byte off of the file of a generation that is not
	// being written.
	ReadFile(first uint64, off int64, p []byte) error
}

// Hold is the log as of one commit. What of it has not been read yet is not
// dropped, unless the disk is nearly full: the log comes first. It is read from
// the front.
type Hold struct {
	files  []Generation
	store  *Store
	log    Copier
	needs  atomic.Uint64 // generations that begin with this commit or later are needed
	gone   atomic.Bool   // released
	proven uint64        // the generation that was read through last
}

// Hold takes hold of the log as it is now: with everything that was answered.
// It must be released. One may be held at a time.
func (s *Store) Hold(ctx context.Context) (h *Hold, err error) {
	failed := s.view(ctx, item{urgent: true, view: func(*queue.State) { h, err = s.hold() }})
	if failed != nil {
		return nil, failed
	}
	return h, err
}

// hold is Hold between two commits.
func (s *Store) hold() (*Hold, error) {
	log, ok := s.log.(Copier)
	switch {
	case !ok:
		return nil, ErrNoCopy
	case s.held.Load() != nil:
		return nil, ErrHeld
	}
	if err := log.Seal(); err != nil {
		return nil, err
	}
	h := &Hold{files: s.needed(log.Generations()), store: s, log: log}
	h.needs.Store(h.files[0].First)
	s.held.Store(h)
	return h, nil
}

// needed leaves out generations that are about to be dropped.
func (s *Store) needed(all []Generation) []Generation {
	if len(s.usage.parts) == 0 { // nothing was written since a new store was founded
		return all
	}
	return slices.DeleteFunc(all, func(g Generation) bool { return g.First < s.usage.parts[0].first })
}

// Files are the generations, oldest first: whole files.
func (h *Hold) Files() []Generation { return h.files }

// Read fills p from byte off of the file of a generation, and lets go of those
// before it. A file is proven before the first byte of it is given.
func (h *Hold) Read(first uint64, off int64, p []byte) error {
	h.need(max(h.needs.Load(), first))
	err := h.prove(first)
	if err == nil {
		err = h.log.ReadFile(first, off, p)
	}
	if h.gone.Load() { // it may have been dropped under our hands
		return ErrGivenUp
	}
	return err
}

// prove reads a file and checks every commit in it.
func (h *Hold) prove(first uint64) error {
	if h.proven == first || h.gone.Load() {
		return nil
	}
	if err := h.log.Scan(first, func(uint64, []byte) error { return nil }); err != nil {
		return err
	}
	h.proven = first
	return nil
}

// need lets go of the generations before the one that begins with commit first.
func (h *Hold) need(first uint64) {
	if h.needs.Swap(first) == first {
		return
	}
	select {
	case h.store.letGo <- struct{}{}:
	default:
	}
	_ = h.store.put(item{urgent: true, view: func(*queue.State) { h.store.clean(false) }}) // it is ending, otherwise
}

// Release lets go of the log.
func (h *Hold) Release() {
	h.gone.Store(true)
	h.store.held.CompareAndSwap(h, nil)
	h.need(math.MaxUint64)
}

// holds tells whether the generation that begins with commit first is needed.
func (s *Store) holds(first uint64) bool {
	h := s.held.Load()
	return h != nil && first >= h.needs.Load()
}

// kept tells whether the oldest generation is held, so that it need not be
// compacted now. While the disk is nearly full nothing is: the log needs the
// room.
func (s *Store) kept(want bool) bool {
	held := want && s.holds(s.usage.parts[0].first)
	if h := s.held.Load(); h != nil && s.usage.tight && (held || s.stuck.Load()) {
		s.cfg.Logger.Warn("the copy of the log is given up: the disk is nearly full, and its room is needed")
		h.Release()
		return false
	}
	return held
}

// wait waits, before a generation is dropped, until it is not held any longer.
// It tells whether the store goes on.
func (s *Store) wait(p part) bool {
	for s.holds(p.first) {
		s.stuck.Store(true)
		select {
		case <-s.letGo:
		case <-s.ending:
			return false
		}
	}
	s.stuck.Store(false)
	return true
}
