package retry

import (
	"math"
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are a sixteenth of their place
// wide, from about a millisecond to the longest there is. It has memory for the
// buckets from the lowest to the highest in use: 4 bytes each, 2.6 KB at the
// very most.
type histogram struct {
	first  int // the bucket of counts[0]
	counts []uint32
}

// add counts a duration n times more. A full bucket stays full.
func (h *histogram) add(d time.Duration, n uint64) {
	b := bucket(d)
	h.reach(b)
	h.raise(b, n)
}

// merge adds what another histogram has counted.
func (h *histogram) merge(o *histogram) {
	if len(o.counts) == 0 {
		return
	}
	h.reach(o.first)
	h.reach(o.end() - 1)
	for i, n := range o.counts {
		h.raise(o.first+i, uint64(n))
	}
}

func (h *histogram) raise(b int, n uint64) {
	c := &h.counts[b-h.first]
	*c += uint32(min(n, uint64(math.MaxUint32-*c)))
}

// reach makes room for a bucket.
func (h *histogram) reach(b int) {
	switch {
	case len(h.counts) == 0:
		h.first, h.counts = b, make([]uint32, 1)
	case b < h.first:
		h.counts = append(make([]uint32, h.first-b), h.counts...)
		h.first = b
	case b >= h.end():
		h.counts = append(h.counts, make([]uint32, b-h.end()+1)...)
	}
}

// end is the bucket behind the highest in use.
func (h *histogram) end() int { return h.first + len(h.counts) }

func (h *histogram) at(b int) uint64 {
	if b < h.first || b >= h.end() {
		return 0
	}
	return uint64(h.counts[b-h.first])
}

func (h *histogram) total() (n uint64) {
	for _, c := range h.counts {
		n += uint64(c)
	}
	return n
}

// The unit is a little more than a millisecond. Below fine units a bucket is
// one of them; above, each power of two has fine buckets.
const (
	unitBits = 20
	fineBits = 4
	fine     = 1 << fineBits
)

func bucket(d time.Duration) int {
	units := uint64(max(0, d)) >> unitBits
	if units < fine {
		return int(units)
	}
	power := bits.Len64(units) - fineBits - 1
	return power*fine + int(units>>power)
}

// ceiling is the end of a bucket: every duration in it is shorter.
func ceiling(b int) time.Duration {
	power, units := 0, uint64(b+1)
	if b >= fine {
		power = b/fine - 1
		units = uint64(b - power*fine + 1)
	}
	if bits.Len64(units)+power+unitBits > 63 {
		return math.MaxInt64
	}
	return time.Duration(units << power << unitBits)
}
