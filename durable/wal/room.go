package wal

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

const (
	// A sync takes nearly twice the time if the file has grown since the last one; see BenchmarkRoom. So zeros are written
	// in front of the commits, this many bytes at a time, and the commits over them.
	roomStep = 256 << 10
	// What is larger than this gains less by room than the zeros cost.
	roomFor = roomStep / 4
)

var zeros [roomStep]byte

// makeRoom has zeros lie in the file where the next size bytes will, and some more, as long as the generation does not
// reach its size with them: so its file ends where its last commit does.
//
// Room is a matter of speed. Where the disk has none, the commit is written without.
func (w *writer) makeRoom(size int64) error {
	if w.bytes+size <= w.room || size > roomFor {
		return nil
	}
	begin := max(w.room, w.bytes)
	end := min(w.bytes+roomStep, w.limit)
	if end <= begin {
		return nil
	}
	w.room = end
	_, err := w.file.WriteAt(zeros[:end-begin], begin)
	if full(err) {
		w.room = w.limit // no more of it in this generation
		return nil
	}
	if err != nil {
		return fmt.Errorf("make room in %s: %w", w.segment(), err)
	}
	return nil
}

// full tells whether a write failed because there is no room for it.
func full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// takeRoom takes away, durably, what is left of the room: a sealed file has nothing behind its last commit.
func (w *writer) takeRoom() error {
	size, err := w.file.Seek(0, io.SeekEnd)
	if err != nil || size == w.bytes {
		return err
	}
	if err := w.file.Truncate(w.bytes); err != nil {
		return err
	}
	return w.file.Sync()
}
