package wal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// MaxData is the largest commit that Append takes, in bytes.
const MaxData = 256 << 20

const (
	version    = 1                     // first byte of a frame; another layout would also take another name than ".gen"
	headerSize = 37                    // bytes of a frame before its data, see doc.go
	prefixMax  = binary.MaxVarintLen32 // longest length prefix, in bytes, that the library writes before a frame of ours
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// salt is 8 random bytes, one value for all frames of a generation. Whoever sends messages does not know it, so no
// message can contain bytes that recovery would take for a frame.
type salt [8]byte

// header is what stands before the data of a commit.
type header struct {
	salt      salt
	commit    uint64 // the number of this commit
	watermark uint64 // the highest commit that was known to be durable when this one was written
	length    uint32 // bytes of data
	dataCheck uint32 // CRC-32C of the data
}

// appendFrame appends h, completed with the length and the checksums of data, and data.
func appendFrame(dst []byte, h header, data []byte) []byte {
	start := len(dst)
	dst = append(dst, version)
	dst = append(dst, h.salt[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, h.commit)
	dst = binary.LittleEndian.AppendUint64(dst, h.watermark)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(data)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(data, castagnoli))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	return append(dst, data...)
}

// parseHeader returns the header that b begins with, and whether there is one: right version, right checksum.
func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < headerSize || b[0] != version {
		return h, false
	}
	if crc32.Checksum(b[:headerSize-4], castagnoli) != binary.LittleEndian.Uint32(b[headerSize-4:]) {
		return h, false
	}
	copy(h.salt[:], b[1:])
	h.commit = binary.LittleEndian.Uint64(b[9:])
	h.watermark = binary.LittleEndian.Uint64(b[17:])
	h.length = binary.LittleEndian.Uint32(b[25:])
	h.dataCheck = binary.LittleEndian.Uint32(b[29:])
	return h, true
}

// findHeader returns the first header in b and where it begins, or -1.
func findHeader(b []byte) (header, int) {
	for at := 0; at+headerSize <= len(b); at++ {
		skip := bytes.IndexByte(b[at:len(b)-headerSize+1], version)
		if skip < 0 {
			break
		}
		at += skip
		if h, ok := parseHeader(b[at:]); ok {
			return h, at
		}
	}
	return header{}, -1
}

// prefixSize is the number of bytes that the library's length prefix takes before a frame of n bytes.
func prefixSize(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// dataSize is the number of bytes of data in an entry (length prefix, header and data) of n bytes.
func dataSize(n int) int {
	prefix := 1
	for prefixSize(n-prefix) > prefix {
		prefix++
	}
	return n - prefix - headerSize
}
