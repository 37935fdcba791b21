package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"time"

	"dsend/durable"
	"dsend/durable/wal"
)

// The names in a backup.
const (
	folder   = "log"
	sumsName = "SHA256SUMS"
)

// Source is the log as of one commit.
type Source interface {
	// Generations are its files, oldest first.
	Generations() []durable.Generation
	// Read gives some bytes of the file of a generation, from byte off on: as
	// many as the source likes, and never none. Files are read from the first
	// to the last, each from front to back.
	Read(first uint64, off int64) ([]byte, error)
}

// Write writes a backup of s, with the time when it was made.
func Write(w io.Writer, s Source, now time.Time) error {
	gens := s.Generations()
	if len(gens) == 0 {
		return fmt.Errorf("there is nothing to back up: the log has no file")
	}
	b := writer{tar: tar.NewWriter(w), now: now.Truncate(time.Second)}
	mark := wal.Mark(gens[0].First, gens[len(gens)-1].Last)
	err := b.file(path.Join(folder, wal.LockName), int64(len(mark)), func(to io.Writer) error {
		_, err := to.Write(mark)
		return err
	})
	if err != nil {
		return err
	}
	for _, g := range gens {
		name := path.Join(folder, filepath.ToSlash(wal.FileName(g.First)))
		if err := b.file(name, g.Bytes, func(to io.Writer) error { return copyFile(to, s, g) }); err != nil {
			return err
		}
	}
	if err := b.put(sumsName, b.sums.Bytes()); err != nil {
		return err
	}
	return b.tar.Close()
}

// copyFile copies the file of a generation.
func copyFile(to io.Writer, s Source, g durable.Generation) error {
	for off := int64(0); off < g.Bytes; {
		data, err := s.Read(g.First, off)
		switch {
		case err != nil:
			return err
		case len(data) == 0 || off+int64(len(data)) > g.Bytes:
			return fmt.Errorf("read %d bytes at byte %d of the generation of commit %d, which has %d", len(data), off, g.First, g.Bytes)
		}
		if _, err := to.Write(data); err != nil {
			return err
		}
		off += int64(len(data))
	}
	return nil
}

// writer is a backup that is being written.
type writer struct {
	tar  *tar.Writer
	now  time.Time
	sums bytes.Buffer
}

// file adds a file of size bytes, and its checksum to the sums.
func (b *writer) file(name string, size int64, fill func(io.Writer) error) error {
	if err := b.header(name, size); err != nil {
		return err
	}
	sum := sha256.New()
	if err := fill(io.MultiWriter(b.tar, sum)); err != nil {
		return err
	}
	fmt.Fprintf(&b.sums, "%x  %s\n", sum.Sum(nil), name)
	return nil
}

func (b *writer) put(name string, data []byte) error {
	if err := b.header(name, int64(len(data))); err != nil {
		return err
	}
	_, err := b.tar.Write(data)
	return err
}

func (b *writer) header(name string, size int64) error {
	return b.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: b.now})
}
