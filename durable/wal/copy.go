package wal

import (
	"fmt"
	"path/filepath"
)

// Seal ends the generation that is being written: the next Append begins a new one. What was appended is durable then.
// It is called by the goroutine that appends; after an error the log is dead, as with Append.
func (l *Log) Seal() error {
	if err := l.settle(); err != nil {
		return err
	}
	if err := l.closeWriter(); err != nil {
		return l.fail(err)
	}
	return nil
}

// ReadFile fills p from byte off of the file of the generation that begins with commit first, which must not be the one
// that is being written. Nothing is verified; see Scan.
func (l *Log) ReadFile(first uint64, off int64, p []byte) error {
	g, err := l.sealed(first)
	if err != nil {
		return err
	}
	if off < 0 || off+int64(len(p)) > g.bytes {
		return fmt.Errorf("%w: %d bytes at byte %d of generation %d, which has %d", ErrNoCommit, len(p), off, first, g.bytes)
	}
	return l.readers.readAt(g.segment(), p, off)
}

// LockName is the name of the lock file in a log's folder, and Mark its content for a log with the commits from first to
// last: so that a copy of a log is noticed to be incomplete, too.
const LockName = lockName

// Mark is the content of a lock file.
func Mark(first, last uint64) []byte { return []byte(mark{first, last}.String()) }

// FileName is the name, below the log's folder, of the file of the generation that begins with commit first.
func FileName(first uint64) string { return filepath.Join(generationName(first), segmentName) }

// ParseFileName is the inverse of FileName.
func ParseFileName(name string) (first uint64, ok bool) {
	dir, file := filepath.Split(name)
	first, ok = parseGenerationName(filepath.Clean(dir))
	return first, ok && file == segmentName && FileName(first) == name
}
