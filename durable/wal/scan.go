package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// scanner reads a segment file from front to back and verifies every entry.
type scanner struct {
	window
	spot
	path string
}

// spot is where a scanner is, and what it knows of the file by then.
type spot struct {
	off  int64  // where the next entry begins
	next uint64 // the commit that must come next
	low  uint64 // watermarks only grow: the next one is at least this

	first uint64 // the commit that the file must begin with
	salt  salt   // of the first frame
	known bool   // salt is known
}

// entry is one verified entry of a segment file.
type entry struct {
	commit uint64
	offset int64  // byte in the file where it begins
	raw    []byte // the length prefix and the frame, as they lie in the file; valid until the next step
	data   []byte // the data in it, likewise
}

// end is the byte behind the entry in its file.
func (e entry) end() int64 { return e.offset + int64(len(e.raw)) }

// newScanner reads the first size bytes of file; path is its name for messages. Commit first must come first in it.
func newScanner(file io.ReaderAt, path string, size int64, first uint64) *scanner {
	return &scanner{window: window{file: file, size: size}, path: path, spot: spot{first: first, next: first, low: first - 1}}
}

// step returns the next entry, or io.EOF behind the last one. *Damage says that what lies at s.off is not the commit
// that must come next; any other error, that the file could not be read there.
func (s *scanner) step() (entry, error) {
	rest := s.size - s.off
	if rest == 0 {
		return entry{}, io.EOF
	}
	head, err := s.bytes(s.off, int(min(rest, prefixMax+headerSize)))
	if err != nil {
		return entry{}, s.unreadable(err)
	}
	length, prefix := binary.Uvarint(head)
	if reason := s.badLength(length, prefix, rest); reason != "" {
		return entry{}, s.damage(reason)
	}
	h, ok := parseHeader(head[prefix:])
	if reason := s.badHeader(h, ok, length); reason != "" {
		return entry{}, s.damage(reason)
	}
	raw, err := s.bytes(s.off, prefix+int(length))
	if err != nil {
		return entry{}, s.unreadable(err)
	}
	data := raw[prefix+headerSize:]
	if crc32.Checksum(data, castagnoli) != h.dataCheck {
		return entry{}, s.damage("the checksum of the data is wrong")
	}
	e := entry{commit: h.commit, offset: s.off, raw: raw, data: data}
	s.off, s.next, s.low = e.end(), h.commit+1, h.watermark
	return e, nil
}

// badLength says what is wrong with a length prefix of that many bytes, where rest bytes are left in the file.
func (s *scanner) badLength(length uint64, prefix int, rest int64) string {
	switch {
	case prefix <= 0 || length > headerSize+MaxData || prefix != prefixSize(int(length)):
		return "the length is not a number"
	case length < headerSize:
		return fmt.Sprintf("an entry of %d bytes is too short", length)
	case int64(length) > rest-int64(prefix):
		return fmt.Sprintf("an entry of %d bytes reaches beyond the end of the file", length)
	case s.off+int64(prefix)+int64(length) > math.MaxUint32:
		return "the file is larger than any generation" // offsets are kept in 32 bits
	}
	return ""
}

// badHeader says what is wrong with the header of an entry of that many bytes. The first one gives the salt.
func (s *scanner) badHeader(h header, ok bool, length uint64) string {
	if ok && s.off == 0 && h.commit == s.first {
		s.salt, s.known = h.salt, true
	}
	switch {
	case !ok:
		return "the checksum of the header is wrong"
	case h.commit != s.next:
		return fmt.Sprintf("it holds commit %d", h.commit)
	case h.salt != s.salt:
		return "it was written for another generation"
	case uint64(h.length)+headerSize != length:
		return "the two lengths differ"
	case h.watermark < s.low || h.watermark >= h.commit:
		return fmt.Sprintf("its watermark is %d", h.watermark)
	}
	return ""
}

func (s *scanner) damage(reason string) *Damage {
	return &Damage{File: s.path, Offset: s.off, Commit: s.next, Reason: reason}
}

func (s *scanner) unreadable(err error) error {
	return fmt.Errorf("%s cannot be read (commit %d): %w", s.path, s.next, err)
}

// each calls fn for each entry to the end of the file. An error from fn ends it and is returned.
func (s *scanner) each(fn func(entry) error) error {
	for {
		e, err := s.step()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// scanFile returns a scanner of file, the segment file of g.
func scanFile(file *os.File, g *generation) (*scanner, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return newScanner(file, g.segment(), info.Size(), g.first), nil
}

// scan calls fn for each entry of the segment file of g.
func scan(g *generation, fn func(entry) error) error {
	file, err := os.Open(g.segment())
	if err != nil {
		return err
	}
	defer file.Close()
	s, err := scanFile(file, g)
	if err != nil {
		return err
	}
	return s.each(fn)
}
