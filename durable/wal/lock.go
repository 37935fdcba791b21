package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// lock keeps other processes off the folder: an flock, which the kernel drops when the process ends in whatever way, on
// the file "lock". The file's content is the mark.
type lock struct {
	file *os.File
	mu   sync.Mutex // guards mark and the content
	mark mark
}

// mark is what the log says of itself outside its generations, so that a missing first or last generation is noticed.
// It is a tripwire: where it is missing or torn, nothing is concluded from it. It never claims too much: first is
// raised, and durable, before the generations below are dropped, and durable is only raised to what is durable.
type mark struct {
	first   uint64 // the log begins at this commit, or before; 0: not known
	durable uint64 // commits up to this one were durable
}

// The content of the file: one line for people, of fixed width so that it is overwritten in place.
const (
	markText  = "dsend log: begins with commit %020d, durable up to commit %020d, check "
	checkText = "%08x\n"
)

// acquire locks dir.
func acquire(dir string) (*lock, error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, filePerm) // a pipe is not waited for
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EISDIR) {
		return nil, fmt.Errorf("%s: %w", path, ErrUnknownFile)
	}
	if err != nil {
		return nil, notWritable(dir, err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, ErrUnknownFile), err, file.Close())
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	l := &lock{file: file}
	l.mark, err = readMark(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be read: %w", path, err), file.Close())
	}
	return l, nil
}

// raise writes a mark that claims as much as m and no less than before. It is durable only after sync.
func (l *lock) raise(m mark) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	m = mark{first: max(m.first, l.mark.first), durable: max(m.durable, l.mark.durable)}
	if l.mark == m {
		return nil
	}
	if _, err := l.file.WriteAt([]byte(m.String()), 0); err != nil {
		return err
	}
	l.mark = m
	return nil
}

func (l *lock) sync() error { return l.file.Sync() }

// renew writes the mark whether it has changed or not, and makes it durable: after a failed sync the page cache may show
// a mark that the disk does not have, and a later sync would not say so.
func (l *lock) renew() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.WriteAt([]byte(l.mark.String()), 0); err != nil {
		return err
	}
	return l.file.Sync()
}

// release lets others in.
func (l *lock) release() error { return l.file.Close() }

// String is the content of the file for m.
func (m mark) String() string {
	text := fmt.Sprintf(markText, m.first, m.durable)
	return text + fmt.Sprintf(checkText, crc32.Checksum([]byte(text), castagnoli))
}

// readMark reads the mark, or the zero mark where the file has none, or a torn one.
func readMark(r io.ReaderAt) (mark, error) {
	b := make([]byte, len(mark{}.String()))
	n, err := r.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return mark{}, err
	}
	var m mark
	if _, err := fmt.Sscanf(string(b[:n]), markText, &m.first, &m.durable); err != nil || m.String() != string(b[:n]) {
		return mark{}, nil
	}
	return m, nil
}
