package wal

import (
	"fmt"
	"os"
	"slices"
	"sync"
)

// openFiles is how many segment files are kept open for reading. A log may have more generations than a process may
// have descriptors.
const openFiles = 64

// readers are the segment files that were read last.
type readers struct {
	mu     sync.Mutex // held during a read, so that no file is closed under it
	files  []*os.File // the last used first
	closed bool
}

// readAt fills p from byte off of the file at path.
func (r *readers) readAt(path string, p []byte, off int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := r.open(path)
	if err != nil {
		return err
	}
	if n, err := file.ReadAt(p, off); n < len(p) {
		return fmt.Errorf("%s cannot be read (%d bytes at byte %d): %w", path, len(p), off, err)
	}
	return nil
}

// open returns the file at path and puts it to the front.
func (r *readers) open(path string) (*os.File, error) {
	if r.closed {
		return nil, ErrClosed
	}
	at := slices.IndexFunc(r.files, func(f *os.File) bool { return f.Name() == path })
	if at < 0 {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if len(r.files) == openFiles {
			r.drop(openFiles - 1)
		}
		r.files = slices.Insert(r.files, 0, file)
		return file, nil
	}
	file := r.files[at]
	copy(r.files[1:at+1], r.files[:at])
	r.files[0] = file
	return file, nil
}

// forget closes the file at path, so that the disk space of a deleted file is free.
func (r *readers) forget(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := slices.IndexFunc(r.files, func(f *os.File) bool { return f.Name() == path }); at >= 0 {
		r.drop(at)
	}
}

// close closes all files, and refuses all that come later.
func (r *readers) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for len(r.files) > 0 {
		r.drop(0)
	}
}

// drop closes one file. It was only read, so there is nothing that a failing close could lose.
func (r *readers) drop(at int) {
	_ = r.files[at].Close()
	r.files = slices.Delete(r.files, at, at+1)
}
