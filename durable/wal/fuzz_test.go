package wal

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// FuzzScan reads arbitrary bytes as a segment file. What is delivered must be, byte for byte, entries as we write them;
// everything else ends the scan at the byte where it begins.
func FuzzScan(f *testing.F) {
	var file []byte
	for n := uint64(1); n <= 4; n++ {
		data := small(n)
		file = append(file, byte(headerSize+len(data)))
		file = appendFrame(file, header{commit: n, watermark: n - 1}, data)
		f.Add(file)
	}
	f.Add(append(bytes.Clone(file), make([]byte, 100)...))
	f.Add(append(bytes.Clone(file), 0xff, 0xff, 0xff, 0xff, 0x0f, version))
	f.Add(file[90:])
	f.Add(bytes.Repeat([]byte{version}, 200))
	f.Fuzz(func(t *testing.T, file []byte) {
		s := newScanner(bytes.NewReader(file), "file", int64(len(file)), 1)
		next := uint64(1)
		var d *Damage
		for {
			e, err := s.step()
			if err == io.EOF || errors.As(err, &d) {
				break
			}
			check(t, err)
			h, _ := parseHeader(file[e.end()-int64(len(e.data))-headerSize:])
			again := append(appendPrefix(nil, headerSize+len(e.data)), appendFrame(nil, h, e.data)...)
			if e.commit != next || !bytes.Equal(again, file[e.offset:e.end()]) {
				t.Fatalf("commit %d at byte %d", e.commit, e.offset)
			}
			next++
		}
		if cap(s.buf) > chunk+len(file) {
			t.Fatalf("%d bytes of memory for a file of %d", cap(s.buf), len(file))
		}
		if d == nil {
			return
		}
		if d.Offset != s.off || d.Commit != next {
			t.Fatalf("%v after commit %d, byte %d", d, next-1, s.off)
		}
		torn, err := s.readTail()
		check(t, err)
		if torn.offset+torn.size != int64(len(file)) || torn.content > torn.size || torn.witness > 0 && torn.commits == 0 {
			t.Fatalf("%+v", torn)
		}
	})
}

// appendPrefix is the length prefix of the library.
func appendPrefix(dst []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}
