package durable

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"dsend/durable/queue"
)

// maxGap is up to how many bytes between two messages that nobody wants are
// read with them: as many as cost no more than another read.
const maxGap = 1 << 10

// bodies reads the messages of deliveries. Those that are not in memory are
// read in the order of the log, whatever order they are said in: what lies
// together is one read, and what was retried at random times is at least no
// walk to and fro.
func (v *voice) bodies(spoken []Spoken) error {
	defer func() { clear(v.missing); v.missing = v.missing[:0] }()
	for i := range spoken {
		sp := &spoken[i]
		if sp.Status != 0 {
			continue
		}
		data := v.cache.get(sp.Place.Commit, sp.Place.Offset, sp.Size)
		if data == nil {
			v.missing = append(v.missing, sp)
		} else if err := sp.decode(data); err != nil {
			return err
		}
	}
	slices.SortFunc(v.missing, func(a, b *Spoken) int {
		return cmp.Or(cmp.Compare(a.Place.Commit, b.Place.Commit), cmp.Compare(a.Place.Offset, b.Place.Offset))
	})
	for near := range neighbours(v.missing) {
		if err := v.readAll(near); err != nil {
			return err
		}
	}
	return nil
}

// neighbours cuts deliveries, in the order of the log, into those that are
// worth one read.
func neighbours(all []*Spoken) iter.Seq[[]*Spoken] {
	return func(yield func([]*Spoken) bool) {
		for len(all) > 0 {
			n := 1
			for n < len(all) && near(all[0].Place, all[n-1], all[n]) {
				n++
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// near tells whether next, behind last, is read with what begins at a place.
func near(from queue.Place, last, next *Spoken) bool {
	return next.Place.Commit == from.Commit &&
		next.Place.Offset <= last.Place.Offset+last.Size+maxGap &&
		next.Place.Offset-from.Offset < maxPieceBytes
}

// readAll reads the messages of deliveries that lie near each other.
func (v *voice) readAll(near []*Spoken) error {
	from, last := near[0].Place, near[len(near)-1]
	data := v.room(int(last.Place.Offset - from.Offset + last.Size))
	if err := v.fetch(from, data); err != nil {
		return near[0].wrong(err)
	}
	for _, sp := range near {
		at := sp.Place.Offset - from.Offset
		if err := sp.decode(data[at : at+sp.Size : at+sp.Size]); err != nil {
			return err
		}
	}
	return nil
}

// keepRead is up to how much memory is kept to read bodies to: a piece, whose
// last message has its size once more, and what lies in between.
const keepRead = 2*maxPieceBytes + 64<<10

// room gives memory for n bytes of bodies, until their piece is said. It is used
// again: the next piece follows at once, and each would be as much garbage.
func (v *voice) room(n int) []byte {
	at := len(v.read)
	if at+n > cap(v.read) { // what was given before stays with who has it
		at, v.read = 0, make([]byte, 0, max(n, min(2*cap(v.read), keepRead)))
	}
	v.read = v.read[:at+n]
	return v.read[at : at+n : at+n]
}

// done is called when a piece is said.
func (v *voice) done() {
	if cap(v.read) > keepRead {
		v.read = nil
	}
	v.read = v.read[:0]
	clear(v.spoken)
	v.spoken = v.spoken[:0]
}

// decode reads the message of a delivery and proves it.
func (sp *Spoken) decode(data []byte) (err error) {
	if sp.Message, err = decode(sp.Place, data); err != nil {
		return sp.wrong(err)
	}
	return nil
}

func (sp *Spoken) wrong(err error) error {
	return fmt.Errorf("message %d of queue %s: %w", sp.Seq, sp.Queue, err)
}
