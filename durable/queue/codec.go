package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// headSize is the size of a record's kind and length.
const headSize = 1 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errShort = errors.New("queue: record is cut short")

// begin starts a record of a kind at the end of dst.
func begin(dst []byte, kind byte) []byte {
	return append(dst, kind, 0, 0, 0, 0)
}

// end writes the length of the record that begins at start.
func end(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start+1:], uint32(len(dst)-start-headSize))
	return dst
}

// split takes the first record off data: its kind, its fields, its size with
// the head, and what follows.
func split(data []byte) (kind byte, fields []byte, size int, err error) {
	if len(data) < headSize {
		return 0, nil, 0, errShort
	}
	n := uint64(binary.LittleEndian.Uint32(data[1:]))
	if n > uint64(len(data)-headSize) {
		return 0, nil, 0, errShort
	}
	size = headSize + int(n)
	return data[0], data[headSize:size], size, nil
}

func appendUint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

func appendText[T string | []byte](dst []byte, v T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(v)))
	return append(dst, v...)
}

func appendTime(dst []byte, at int64) []byte { return appendUint(dst, uint64(at)) }

// The sizes of what these append.
func uintSize(v uint64) int               { return (bits.Len64(v|1) + 6) / 7 }
func timeSize(at int64) int               { return uintSize(uint64(at)) }
func textSize[T string | []byte](v T) int { return uintSize(uint64(len(v))) + len(v) }

// A fields value reads the fields of a record. After the first error all
// reads give zero values, so that it is asked for once, at the end.
type fields struct {
	b   []byte
	err error
}

func (f *fields) uint() uint64 {
	v, n := binary.Uvarint(f.b)
	if n <= 0 {
		f.fail(errShort)
		return 0
	}
	f.b = f.b[n:]
	return v
}

func (f *fields) uint32() uint32 {
	v := f.uint()
	if v > 1<<32-1 {
		f.fail(fmt.Errorf("queue: %d is above 32 bits", v))
		return 0
	}
	return uint32(v)
}

// maxSeq is above every number a message will ever have.
const maxSeq = 1 << 60

// seq reads the number of a message.
func (f *fields) seq() uint64 {
	v := f.uint()
	if v >= maxSeq {
		f.fail(fmt.Errorf("queue: %d is not the number of a message", v))
		return 0
	}
	return v
}

func (f *fields) time() int64 { return int64(f.uint()) }

func (f *fields) byte() byte {
	if len(f.b) == 0 {
		f.fail(errShort)
		return 0
	}
	v := f.b[0]
	f.b = f.b[1:]
	return v
}

func (f *fields) bytes() []byte {
	n := f.uint()
	if n > uint64(len(f.b)) {
		f.fail(errShort)
		return nil
	}
	v := f.b[:n:n]
	f.b = f.b[n:]
	return v
}

func (f *fields) text() string { return string(f.bytes()) }

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
	f.b = nil
}

// done gives the first error, or one if fields are left.
func (f *fields) done() error {
	if f.err == nil && len(f.b) > 0 {
		return fmt.Errorf("queue: %d bytes follow the last field of a record", len(f.b))
	}
	return f.err
}
