package wal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"testing"
)

// TestBytes compares a frame with the picture in doc.go, byte for byte: the format can never change under this name.
func TestBytes(t *testing.T) {
	h := header{salt: salt{1, 2, 3, 4, 5, 6, 7, 8}, commit: 0x0a0b, watermark: 0x0c0d}
	got := appendFrame(nil, h, []byte("hello"))
	want := "01" + "0102030405060708" + "0b0a000000000000" + "0d0c000000000000" + "05000000" + "4cbb719a" + "cd9c6e31" + "68656c6c6f"
	if hex.EncodeToString(got) != want {
		t.Fatalf("%x\nwant %s", got, want)
	}
	back, ok := parseHeader(got)
	if h.length, h.dataCheck = 5, 0x9a71bb4c; !ok || back != h {
		t.Fatalf("%+v", back)
	}

	l := open(t, folder(t), Options{})
	check(t, l.Append([]byte("hello")))
	file, err := os.ReadFile(l.writer.segment())
	check(t, err)
	want2 := append([]byte{headerSize + 5}, appendFrame(nil, header{salt: l.writer.salt, commit: 1}, []byte("hello"))...)
	if file, room := file[:len(want2)], file[len(want2):]; !bytes.Equal(file, want2) || !bytes.Equal(room, make([]byte, len(room))) {
		t.Fatalf("%x\nwant %x", file, want2)
	}
}

func TestSizes(t *testing.T) {
	for _, data := range []int{0, 1, 90, 91, 1000, 16383 - headerSize, 16384 - headerSize, 1 << 21, MaxData} {
		frame := headerSize + data
		prefix := len(binary.AppendUvarint(nil, uint64(frame)))
		if prefixSize(frame) != prefix || dataSize(prefix+frame) != data {
			t.Fatalf("%d bytes: prefix %d, data %d", data, prefixSize(frame), dataSize(prefix+frame))
		}
	}
}

func TestFindHeader(t *testing.T) {
	frame := appendFrame(nil, header{commit: 7}, nil)
	for at := range 100 {
		junk := bytes.Repeat([]byte{version}, at)
		h, found := findHeader(append(junk, frame...))
		if found != at || h.commit != 7 {
			t.Fatalf("found commit %d at %d, want it at %d", h.commit, found, at)
		}
	}
	for n := range frame {
		if _, found := findHeader(frame[:n]); found >= 0 {
			t.Fatalf("found in the first %d bytes", n)
		}
	}
}

// TestWindow reads pieces of all sizes across the edges of what is read at once.
func TestWindow(t *testing.T) {
	file := noise(1, 3*chunk+100)
	w := window{file: bytes.NewReader(file), size: int64(len(file))}
	for off, n := 0, 1; off < len(file); off, n = off+n/2+1, (n*7+13)%(chunk+chunk/3) {
		n = min(n, len(file)-off)
		got, err := w.bytes(int64(off), n)
		check(t, err)
		if !bytes.Equal(got, file[off:off+n]) {
			t.Fatalf("%d bytes at %d", n, off)
		}
	}
	w.file = bytes.NewReader(file[:10]) // the file has been cut
	if _, err := w.bytes(0, 20); err == nil {
		t.Fatal("read behind the end")
	}
	if got, err := w.bytes(0, 10); err == nil && !bytes.Equal(got, file[:10]) {
		t.Fatal("wrong after an error")
	}
}
