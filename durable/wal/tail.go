package wal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// tail is what lies in a segment file from the first bad entry to the end.
type tail struct {
	offset  int64  // where it begins
	size    int64  // bytes in it
	content int64  // bytes in it without the zeros at its end
	commits int    // whole headers in it: commits that were written there
	witness uint64 // the last commit in it that says that the bad entry was durable; 0: none says so
}

// readTail looks at every byte from the bad entry of s to the end of the file.
func (s *scanner) readTail() (tail, error) {
	t := tail{offset: s.off, size: s.size - s.off}
	for off := s.off; off < s.size; {
		b, err := s.bytes(off, int(min(chunk, s.size-off)))
		if err != nil {
			return t, s.unreadable(err)
		}
		if content := bytes.TrimRight(b, "\x00"); len(content) > 0 {
			t.content = off + int64(len(content)) - t.offset
		}
		t.hear(s, b)
		off += int64(len(b))
		if off < s.size {
			off -= headerSize - 1 // a header may lie across two pieces
		}
	}
	return t, nil
}

// hear takes the testimony of the headers in b, a piece of the tail. A header has a checksum of its own, so it is heard
// even where its data is torn. Only those with the salt of the generation count; where the first frame is so hurt that
// the salt is not known, all do, because to refuse is the safer mistake.
func (t *tail) hear(s *scanner, b []byte) {
	for {
		h, at := findHeader(b)
		if at < 0 {
			return
		}
		b = b[at+1:]
		if s.known && h.salt != s.salt || h.commit < s.next || h.watermark >= h.commit {
			continue
		}
		t.commits++
		if h.watermark >= s.next {
			t.witness = h.commit
		}
	}
}

// cut takes the torn tail off the segment file of g. What is cut is kept beside the generations, for people to look at;
// zeros are the room for commits that never came. The new length becomes durable with the rewrite, or the removal, that
// follows.
func (l *Log) cut(g *generation, t tail, why *Damage) error {
	file, err := os.OpenFile(g.segment(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if t.content == 0 {
		return file.Truncate(t.offset)
	}
	kept, err := l.keep(io.NewSectionReader(file, t.offset, t.content), why.Commit)
	if err != nil {
		return fmt.Errorf("keep the torn end of %s: %w", g.segment(), err)
	}
	if err := file.Truncate(t.offset); err != nil {
		return err
	}
	l.logger.Warn("cut the torn end of the log: nothing in the log says that it was durable",
		"file", g.segment(), "offset", t.offset, "bytes", t.content,
		"commit", why.Commit, "commits", t.commits, "reason", why.Reason, "kept", kept)
	return nil
}

// keep copies the torn bytes to a side file, durably, and returns its path. The name holds their checksum, so that a
// recovery which is itself cut short and repeated does not leave a second copy. On a full disk, a usual cause of a torn
// tail, the bytes are not kept: the server must be able to start, and consume, and so make room.
func (l *Log) keep(torn *io.SectionReader, commit uint64) (string, error) {
	check := crc32.New(castagnoli)
	if _, err := io.Copy(check, torn); err != nil {
		return "", err
	}
	if _, err := torn.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	path := filepath.Join(l.dir, fmt.Sprintf("%020d-%08x%s", commit, check.Sum32(), cutSuffix))
	err := writeFile(path, torn)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) { // there may have been no room for its name
			return "nothing, the disk is full", err
		}
		return "nothing, the disk is full", nil
	}
	if err != nil {
		return "", err
	}
	return path, syncDir(l.dir)
}

// writeFile creates path, or empties it, and makes what r holds its durable content.
func writeFile(path string, r io.Reader) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	return cmp.Or(err, file.Sync(), file.Close())
}
