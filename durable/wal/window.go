package wal

import (
	"fmt"
	"io"
)

// chunk is how many bytes are read from a file at once.
const chunk = 256 << 10

// window shows a file from front to back. Its memory is one chunk, or the largest piece asked for.
type window struct {
	file io.ReaderAt
	size int64 // bytes in file

	buf []byte // what the file holds from byte at on
	at  int64
}

// bytes returns the n bytes at off, which must lie inside the file. They are valid until the next call.
func (w *window) bytes(off int64, n int) ([]byte, error) {
	if off < w.at || off+int64(n) > w.at+int64(len(w.buf)) {
		if err := w.fill(off, n); err != nil {
			return nil, err
		}
	}
	return w.buf[off-w.at:][:n], nil
}

// fill moves the window to off and makes it at least n bytes long.
func (w *window) fill(off int64, n int) error {
	want := int(min(int64(max(n, chunk)), w.size-off))
	buf := w.buf[:0]
	if cap(buf) < want {
		buf = make([]byte, 0, want)
	}
	if off >= w.at && off < w.at+int64(len(w.buf)) {
		buf = append(buf, w.buf[off-w.at:]...) // may be the same memory: append moves it as copy does
	}
	have := len(buf)
	w.buf, w.at = buf[:0], off // should the read fail, the window is empty
	if got, err := w.file.ReadAt(buf[have:want], off+int64(have)); got < want-have {
		return fmt.Errorf("read %d bytes at byte %d: %w", want-have, off+int64(have), err)
	}
	w.buf = buf[:want]
	return nil
}
