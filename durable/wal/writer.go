package wal

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"crypto/rand"

	tidwall "github.com/tidwall/wal"
)

// writer is the generation being written: a log of the library in a directory of its own, and our own descriptor to
// sync it by. The library is given an empty directory and asked to write, nothing else.
type writer struct {
	*generation
	log   *tidwall.Log
	limit int64    // the generation ends with the commit that reaches it
	room  int64    // the byte behind the room that was made
	file  *os.File // the segment file, opened before the first byte was written so that no error of the kernel is missed
	salt  salt
	frame []byte // memory for the next frame
	named bool   // the names of the file, the directory and the directory's place in the log are durable
}

// create starts the generation that begins with commit first. Nothing of it is durable before the first sync.
func create(dir string, first uint64, limit int64) (*writer, error) {
	w := &writer{limit: limit, generation: &generation{first: first, dir: filepath.Join(dir, generationName(first))}}
	rand.Read(w.salt[:]) // never fails
	if err := os.Mkdir(w.dir, dirPerm); err != nil {
		return nil, err
	}
	var err error
	w.log, err = tidwall.Open(w.dir, &tidwall.Options{
		NoSync: true, SegmentSize: math.MaxInt, NoCopy: true, DirPerms: dirPerm, FilePerms: filePerm,
	})
	if err != nil {
		return nil, err
	}
	if w.file, err = os.OpenFile(w.segment(), os.O_RDWR, 0); err != nil {
		return nil, cmp.Or(err, w.log.Close())
	}
	return w, nil
}

// write appends a commit and returns the byte behind it in the file.
func (w *writer) write(commit, watermark uint64, data []byte) (end int64, err error) {
	w.frame = appendFrame(w.frame[:0], header{salt: w.salt, commit: commit, watermark: watermark}, data)
	n := len(w.frame)
	size := int64(prefixSize(n) + n)
	if err := w.makeRoom(size); err != nil {
		return 0, err
	}
	if err := w.log.Write(commit-w.first+1, w.frame); err != nil {
		return 0, fmt.Errorf("write commit %d to %s: %w", commit, w.segment(), err)
	}
	if cap(w.frame) > 2*chunk {
		w.frame = nil // one large commit is no reason to hold that memory
	}
	return w.bytes + size, nil
}

// sync makes all that was written durable: the first time the names too, from the inside out.
func (w *writer) sync() error {
	if w.named {
		return syncData(w.file)
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	if err := cmp.Or(syncDir(w.dir), syncDir(filepath.Dir(w.dir))); err != nil {
		return err
	}
	w.named = true
	return nil
}

// close ends the writing. The library syncs once more on the way.
func (w *writer) close() error { return cmp.Or(w.log.Close(), w.file.Close()) }
