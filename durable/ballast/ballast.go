package ballast

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// Most is how many bytes a ballast has at the most.
const Most = 8 << 20

// SizeFor is the size for a disk of which so many bytes are to stay free: a
// quarter of them, and Most at the most.
func SizeFor(reserve int64) int64 { return min(Most, reserve/4) }

// Ballast is one such file. It is for one goroutine.
type Ballast struct {
	path string
	size int64
}

// New is the ballast of so many bytes at a path, as an earlier process has left
// it: held, or not.
func New(path string, size int64) *Ballast { return &Ballast{path: path, size: size} }

// Size is how many bytes it has when it is held.
func (b *Ballast) Size() int64 { return b.size }

// Held tells whether it is: the whole file is there, and has its blocks.
func (b *Ballast) Held() bool {
	info, err := os.Lstat(b.path)
	return err == nil && info.Mode().IsRegular() && info.Size() == b.size && allocated(info) >= b.size
}

// Take makes the file, durably.
func (b *Ballast) Take() error {
	if err := b.Give(); err != nil { // a part, or one of another size
		return err
	}
	if err := b.create(); err != nil {
		return errors.Join(fmt.Errorf("take the ballast: %w", err), b.Give())
	}
	return nil
}

func (b *Ballast) create() error {
	file, err := os.OpenFile(b.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = b.fill(file)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close(), syncDir(filepath.Dir(b.path)))
}

// fill gives the file its blocks: all at once where the file system can, and
// else by writing what it can neither leave out nor make smaller.
func (b *Ballast) fill(file *os.File) error {
	if err := reserve(file, b.size); err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil || info.Size() == b.size && allocated(info) >= b.size {
		return err
	}
	return b.write(file)
}

// write gives the file content that takes as many blocks as it has bytes.
func (b *Ballast) write(file *os.File) error {
	_, err := io.Copy(file, io.LimitReader(rand.NewChaCha8([32]byte{}), b.size))
	return err
}

// Give deletes the file, durably: what it held is free when Give returns.
func (b *Ballast) Give() error {
	err := os.Remove(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncDir(filepath.Dir(b.path)) // some file systems free blocks only then
	}
	if err != nil {
		return fmt.Errorf("give the ballast back: %w", err)
	}
	return nil
}

// allocated is how many bytes of the disk a file takes.
func allocated(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512 // the unit of st_blocks, whatever the file system's own
	}
	return 0
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
