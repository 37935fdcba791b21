package dlq

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unique"
)

// ErrMalformed is wrapped by every error of ReadLetter and ReadHistory: the
// bytes are not what AppendLetter or AppendHistory writes.
var ErrMalformed = errors.New("malformed dead letter")

// minAttempt is the fewest bytes an attempt takes: one for each field.
const minAttempt = 5

// AppendLetter appends l to dst and returns the result.
func AppendLetter(dst []byte, l *Letter) []byte {
	dst = append(dst, byte(l.Reason))
	dst = appendString(dst, l.Error)
	dst = binary.AppendVarint(dst, l.DiedAt)
	dst = appendString(dst, l.OriginQueue)
	dst = appendString(dst, l.OriginSubject)
	dst = binary.AppendUvarint(dst, l.OriginSeq)
	dst = binary.AppendVarint(dst, l.PublishedAt)
	dst = binary.AppendUvarint(dst, uint64(l.Attempts))
	dst = binary.AppendUvarint(dst, uint64(l.Replays))
	return AppendHistory(dst, l.History)
}

// ReadLetter reads a letter from the front of src and returns what follows it.
// The letter shares no memory with src.
func ReadLetter(src []byte) (l Letter, rest []byte, err error) {
	r := reader{src: src}
	l = Letter{
		Reason:        Reason(r.byte("reason")),
		Error:         r.string("error"),
		DiedAt:        r.time("died at"),
		OriginQueue:   r.string("origin queue"),
		OriginSubject: r.string("origin subject"),
		OriginSeq:     r.number("origin seq", math.MaxUint64),
		PublishedAt:   r.time("published at"),
		Attempts:      uint32(r.number("attempts", math.MaxUint32)),
		Replays:       uint32(r.number("replays", math.MaxUint32)),
		History:       r.history(),
	}
	if r.err != nil {
		return Letter{}, nil, r.err
	}
	return l, r.src, nil
}

// AppendHistory appends h to dst and returns the result.
func AppendHistory(dst []byte, h History) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(h.records)))
	before := pack(Attempt{})
	for _, r := range h.records {
		dst = binary.AppendVarint(dst, r.at-before.ended)
		dst = binary.AppendVarint(dst, r.ended-r.at)
		dst = append(dst, byte(r.outcome))
		dst = appendChanged(dst, r.worker, before.worker)
		dst = appendChanged(dst, r.error, before.error)
		before = r
	}
	return dst
}

// ReadHistory reads a history from the front of src and returns what follows it.
// The history shares no memory with src.
func ReadHistory(src []byte) (h History, rest []byte, err error) {
	r := reader{src: src}
	h = r.history()
	if r.err != nil {
		return History{}, nil, r.err
	}
	return h, r.src, nil
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendChanged(dst []byte, s, before unique.Handle[string]) []byte {
	if s == before {
		return append(dst, 0)
	}
	text := s.Value()
	return append(binary.AppendUvarint(dst, uint64(len(text))+1), text...)
}

// reader takes fields from the front of src. After the first that cannot be
// read err is set and every further one is zero, so the error is looked at once.
type reader struct {
	src []byte
	err error
}

func (r *reader) fail(field string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s cannot be read", ErrMalformed, field)
	}
	r.src = nil // nothing else can be read either
}

func (r *reader) history() History {
	n := r.number("history length", MaxHistory)
	if n*minAttempt > uint64(len(r.src)) {
		r.fail("history")
		return History{}
	}
	if n == 0 {
		return History{} // equal to one that was never added to
	}
	records := make([]record, 0, n)
	before := pack(Attempt{})
	for range n {
		before = r.record(before)
		records = append(records, before)
	}
	return History{records}
}

func (r *reader) record(before record) (rec record) {
	rec.at = before.ended + r.time("attempt's start")
	rec.ended = rec.at + r.time("attempt's end")
	rec.outcome = Outcome(r.byte("attempt's outcome"))
	rec.worker = r.changed("attempt's worker", before.worker)
	rec.error = r.changed("attempt's error", before.error)
	return rec
}

func (r *reader) byte(field string) byte {
	if len(r.src) == 0 {
		r.fail(field)
		return 0
	}
	b := r.src[0]
	r.src = r.src[1:]
	return b
}

// number reads a uvarint that is at most limit.
func (r *reader) number(field string, limit uint64) uint64 {
	v, n := binary.Uvarint(r.src)
	if n <= 0 || v > limit {
		r.fail(field)
		return 0
	}
	r.src = r.src[n:]
	return v
}

func (r *reader) time(field string) int64 {
	v, n := binary.Varint(r.src)
	if n <= 0 {
		r.fail(field)
		return 0
	}
	r.src = r.src[n:]
	return v
}

func (r *reader) string(field string) string {
	return intern(r.bytes(field, r.number(field, math.MaxUint64)))
}

func (r *reader) changed(field string, before unique.Handle[string]) unique.Handle[string] {
	n := r.number(field, math.MaxUint64)
	if n == 0 {
		return before
	}
	return unique.Make(string(r.bytes(field, n-1)))
}

// bytes takes n bytes, if there are so many, before anything is allocated.
func (r *reader) bytes(field string, n uint64) []byte {
	if n > uint64(len(r.src)) {
		r.fail(field)
		return nil
	}
	b := r.src[:n]
	r.src = r.src[n:]
	return b
}
