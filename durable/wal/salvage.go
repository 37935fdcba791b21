package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// readGeneration adds what is whole in the file of g, and what is not. next is the first commit of the generation
// behind it, 0 if it is the newest.
func (s *Survey) readGeneration(g *generation, next uint64) error {
	if g.missing {
		s.noFile(g, next)
		return nil
	}
	file, err := os.Open(g.segment())
	if err != nil {
		return err
	}
	defer file.Close()
	sc, err := scanFile(file, g)
	if err != nil {
		return err
	}
	sc.file = patient{file}
	f := salvage{Survey: s, scanner: sc, g: g, next: next}
	return f.read()
}

// salvage goes over the file of a generation, past its damage.
type salvage struct {
	*Survey
	*scanner
	g       *generation
	next    uint64 // first commit of the generation behind it; 0: none, or it says nothing about this file
	strayed bool   // the file belongs to another generation
}

func (f *salvage) read() error {
	for more := true; more; {
		r, end, err := f.stretch()
		if err != nil {
			return err
		}
		if r.strayed = f.strayed; r.last >= r.first {
			f.whole = append(f.whole, r)
		}
		if more, err = f.pass(end); err != nil {
			return err
		}
	}
	return nil
}

// pass notes what is behind a row of whole entries, nil at the end of the file, and moves to the next row. It tells
// whether there is one.
func (f *salvage) pass(end *Damage) (more bool, err error) {
	if f.next == 0 && !f.strayed {
		if proven, err := f.judge(end); err != nil || !proven {
			return false, err
		}
	}
	if end == nil {
		f.checkNext()
		return false, nil
	}
	if f.stray() {
		f.strayed, f.next = true, 0
		f.damaged(Damage{File: f.path, Commit: f.g.first, Reason: end.Reason}, 0)
		return true, nil
	}
	at := f.off
	found, err := f.resume(f.next)
	if err != nil {
		return false, err
	}
	if !found {
		f.off = f.size
	}
	f.damaged(*end, f.off-at)
	return found, nil
}

func (s *Survey) damaged(d Damage, bytes int64) { s.Places = append(s.Places, Place{d, bytes}) }

// noFile is for a generation that has no segment file. The newest one may have none: its creation was cut short.
func (s *Survey) noFile(g *generation, next uint64) {
	d := Damage{File: g.dir, Commit: g.first, Reason: "it has no segment file"}
	if next == 0 {
		proof := s.mark.proof(g, len(s.gens) == 1, g.first, tail{})
		if proof == "" {
			return
		}
		d.Reason += ", but " + proof
	}
	s.damaged(d, 0)
}

// judge decides about the end of the whole entries in the newest generation as Recover does: whether it is proven that
// the commit that should be there was durable. end is nil where the file just ends.
func (f *salvage) judge(end *Damage) (proven bool, err error) {
	var torn tail
	if end != nil {
		if torn, err = f.readTail(); err != nil {
			return false, err
		}
	}
	proof := f.mark.proof(f.g, len(f.gens) == 1, f.scanner.next, torn)
	switch {
	case proof == "" && torn.content > 0:
		f.Torn = &Place{*end, torn.content}
	case proof == "":
	case end == nil:
		f.damaged(*f.damage("the file ends, but " + proof), 0)
	default:
		end.Reason += ", but " + proof
		f.Last = max(f.Last, end.Commit)
		if f.known { // else a stranger may have written what is heard there
			f.Last = max(f.Last, torn.witness)
		}
	}
	return proof != "", nil
}

// checkNext notes where a file that is read to its end does not end before the next generation begins.
func (f *salvage) checkNext() {
	last := f.scanner.next - 1
	switch {
	case f.next == 0:
	case last+1 < f.next:
		d := endsEarly(f.g, last, f.next-1)
		d.Offset = f.size
		f.damaged(*d, 0)
	case last+1 > f.next:
		reason := fmt.Sprintf("another generation begins with commit %d", f.next)
		f.damaged(Damage{File: f.path, Offset: f.size, Commit: f.next, Reason: reason}, 0)
	}
}

// stretch steps over the whole entries from here. end says what is behind them, nil is the end of the file.
func (s *scanner) stretch() (r stretch, end *Damage, err error) {
	r = stretch{path: s.path, start: s.spot, first: s.next}
	for err == nil {
		_, err = s.step()
	}
	r.last = s.next - 1
	if s.known {
		r.start.salt, r.start.known = s.salt, true
	}
	switch {
	case err == io.EOF:
		return r, nil, nil
	case errors.As(err, &end):
		return r, end, nil
	}
	return r, nil, err
}

// stray tells whether the file, of which nothing has been read yet, begins with a commit that belongs into another
// place; then reading may go on from there.
func (s *scanner) stray() bool {
	if s.off != 0 {
		return false
	}
	head, err := s.bytes(0, int(min(s.size, prefixMax+headerSize)))
	if err != nil {
		return false
	}
	_, prefix := binary.Uvarint(head)
	if prefix <= 0 {
		return false
	}
	h, ok := parseHeader(head[prefix:])
	if !ok || h.commit == s.first || h.commit == 0 {
		return false
	}
	before := s.spot
	s.spot = spot{first: h.commit, next: h.commit, low: h.commit - 1}
	_, err = s.step()
	if err != nil {
		s.spot = before
		return false
	}
	s.spot = spot{first: h.commit, next: h.commit, low: h.commit - 1}
	return true
}

// resume moves to the next whole entry behind damage. It must bear the salt of the generation; and where that is not
// known, it must be shown in one of two ways, because what a stranger published could look like an entry: see trusts.
// behind is above every commit of the generation; 0 is not known.
func (s *scanner) resume(behind uint64) (found bool, err error) {
	damage := s.spot
	for at := s.off; ; {
		h, pos, err := s.nextHeader(at)
		if err != nil || pos < 0 {
			s.spot = damage
			return false, err
		}
		at = pos + 1
		prefix := int64(prefixSize(headerSize + int(h.length)))
		if h.commit < damage.next || behind != 0 && h.commit >= behind || pos-prefix < damage.off || damage.known && h.salt != damage.salt {
			continue
		}
		entry := spot{off: pos - prefix, next: h.commit, low: damage.low, first: damage.first, salt: h.salt, known: true}
		s.spot = entry
		if _, err := s.step(); err != nil {
			if !errors.As(err, new(*Damage)) {
				return false, err
			}
			continue
		}
		trusted, err := s.trusts(damage, behind)
		if err != nil {
			return false, err
		}
		if trusted {
			s.spot = entry
			return true, nil
		}
		at = max(at, s.off) // what is in between leads to the same end
	}
}

// trusts tells whether the entry just read, behind the given damage, is of this generation. If the salt was not read
// with the first entry, it is believed if it is like what stands in its place there: no stranger can guess 56 of 64
// bits. Or if a row of entries goes on from here to the end of the file and to the last commit that the generation had,
// which the next generation's name says.
func (s *scanner) trusts(damage spot, behind uint64) (bool, error) {
	if damage.known {
		return true, nil
	}
	head, err := s.bytes(0, int(min(s.size, prefixMax+headerSize)))
	if err != nil {
		return false, err
	}
	for at := 2; at <= prefixMax+1 && at+len(s.salt) <= len(head); at++ {
		wrong := binary.LittleEndian.Uint64(head[at:]) ^ binary.LittleEndian.Uint64(s.salt[:])
		if bits.OnesCount64(wrong) <= 8 {
			return true, nil
		}
	}
	_, end, err := s.stretch()
	return end == nil && behind != 0 && s.next == behind, err
}

// nextHeader finds the next header at byte at or behind it, wherever in the file; pos is -1 if there is none.
func (s *scanner) nextHeader(at int64) (h header, pos int64, err error) {
	for at < s.size {
		b, err := s.bytes(at, int(min(chunk, s.size-at)))
		if err != nil {
			return h, -1, err
		}
		if h, i := findHeader(b); i >= 0 {
			return h, at + int64(i), nil
		}
		at += int64(len(b))
		if at < s.size {
			at -= headerSize - 1 // a header may lie across two pieces
		}
	}
	return h, -1, nil
}

// read calls fn for each commit of r from r.from on.
func (r stretch) read(fn func(commit uint64, data []byte) error) error {
	file, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	s := newScanner(patient{file}, r.path, info.Size(), r.first)
	s.spot = r.start
	for s.next <= r.last {
		e, err := s.step()
		if err == io.EOF {
			err = s.damage("the file has changed")
		}
		if err != nil {
			return err
		}
		if e.commit < r.from {
			continue
		}
		if err := fn(e.commit, e.data); err != nil {
			return err
		}
	}
	return nil
}

// patient reads a file on a failing disk: a block that cannot be read is zeros, which no entry consists of, so that what
// is behind it can still be found.
type patient struct{ file io.ReaderAt }

const block = 4096

func (p patient) ReadAt(b []byte, off int64) (n int, err error) {
	if n, err = p.file.ReadAt(b, off); !errors.Is(err, unix.EIO) {
		return n, err
	}
	for n = 0; n < len(b); {
		size := min(len(b)-n, int(block-(off+int64(n))%block))
		got, err := p.file.ReadAt(b[n:n+size], off+int64(n))
		if errors.Is(err, unix.EIO) {
			clear(b[n+got : n+size])
			got, err = size, nil
		}
		if n += got; err != nil {
			return n, err
		}
	}
	return n, nil
}
