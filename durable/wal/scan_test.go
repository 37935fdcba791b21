package wal

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// entryOf is an entry of a generation that begins with commit 5.
func entryOf(h header, data string) []byte {
	frame := appendFrame(nil, h, []byte(data))
	return append(appendPrefix(nil, len(frame)), frame...)
}

// TestBadEntries is every way in which a second entry can be wrong, with checksums that are right where they can be.
func TestBadEntries(t *testing.T) {
	good := entryOf(header{commit: 5, watermark: 4}, "five")
	six := header{commit: 6, watermark: 4}
	second := entryOf(six, "six")
	shorter := bytes.Clone(second)
	shorter[0]--
	for _, c := range []struct {
		bytes  []byte
		reason string
	}{
		{[]byte{0}, "an entry of 0 bytes is too short"},
		{[]byte{headerSize - 1}, "an entry of 36 bytes is too short"},
		{[]byte{0x80}, "the length is not a number"},
		{append([]byte{second[0] | 0x80, 0}, second[1:]...), "the length is not a number"},
		{bytes.Repeat([]byte{0xff}, 60), "the length is not a number"},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, "the length is not a number"},
		{second[:len(second)-1], "an entry of 40 bytes reaches beyond the end of the file"},
		{shorter, "the two lengths differ"},
		{entryOf(header{commit: 7, watermark: 4}, "seven"), "it holds commit 7"},
		{good, "it holds commit 5"},
		{entryOf(header{commit: 6, watermark: 4, salt: salt{1}}, "six"), "it was written for another generation"},
		{entryOf(header{commit: 6, watermark: 3}, "six"), "its watermark is 3"},
		{entryOf(header{commit: 6, watermark: 6}, "six"), "its watermark is 6"},
		{append(second[:len(second)-1:len(second)-1], 'X'), "the checksum of the data is wrong"},
		{append([]byte{second[0], 2}, second[2:]...), "the checksum of the header is wrong"}, // another version
	} {
		file := append(bytes.Clone(good), c.bytes...)
		s := newScanner(bytes.NewReader(file), "file", int64(len(file)), 5)
		_, err := s.step()
		check(t, err)
		_, err = s.step()
		d := wantDamage(t, err, "file", 6, int64(len(good)))
		if d.Reason != c.reason {
			t.Fatalf("%x: %s, want: %s", c.bytes, d.Reason, c.reason)
		}
	}
	s := newScanner(bytes.NewReader(append(good, second...)), "file", int64(len(good)+len(second)), 5)
	var all []string
	check(t, s.each(func(e entry) error { all = append(all, string(e.data)); return nil }))
	if strings.Join(all, " ") != "five six" {
		t.Fatal(all)
	}
}

// TestTestimonyAnywhere puts a header that testifies at every place around the edge of what is read at once.
func TestTestimonyAnywhere(t *testing.T) {
	testimony := entryOf(header{commit: 9, watermark: 7}, "")
	for at := chunk - 2*headerSize; at < chunk+headerSize; at++ {
		file := append(make([]byte, at), testimony...)
		s := newScanner(bytes.NewReader(file), "file", int64(len(file)), 6)
		torn, err := s.readTail()
		check(t, err)
		if torn.witness != 9 || torn.commits != 1 || torn.content != int64(len(bytes.TrimRight(file, "\x00"))) {
			t.Fatalf("at byte %d: %+v", at, torn)
		}
	}
}

// broken is a disk that cannot read byte at.
type broken struct {
	file io.ReaderAt
	at   int64
}

func (b broken) ReadAt(p []byte, off int64) (int, error) {
	if n := b.at - off; n < int64(len(p)) {
		n, _ := b.file.ReadAt(p[:max(n, 0)], off)
		return n, unix.EIO
	}
	return b.file.ReadAt(p, off)
}

// TestUnreadable: what cannot be read is neither torn nor damaged. It may be readable tomorrow.
func TestUnreadable(t *testing.T) {
	file := append(entryOf(header{commit: 1}, "one"), entryOf(header{commit: 2}, strings.Repeat("two", chunk))...)
	for _, at := range []int64{0, 20, 50, 100, chunk + 1, int64(len(file)) - 1} {
		s := newScanner(broken{bytes.NewReader(file), at}, "file", int64(len(file)), 1)
		err := s.each(func(entry) error { return nil })
		var d *Damage
		if !errors.Is(err, unix.EIO) || errors.As(err, &d) || !strings.Contains(err.Error(), "file") {
			t.Fatalf("byte %d: %v", at, err)
		}
		s.off = 0
		if _, err := s.readTail(); !errors.Is(err, unix.EIO) {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
}
