package system

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// free is how many bytes the disk has left for others.
func (d *disk) free() int64 {
	d.t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(d.dir, &fs); err != nil {
		d.t.Fatal(err)
	}
	return int64(fs.Bavail) * fs.Frsize
}

// fill is somebody else who takes all that the disk has left now, to the last
// block, with a file of this name, and tells how many bytes that were. What Dsend
// gives back meanwhile is left to it.
func (d *disk) fill(name string) (bytes int64) {
	d.t.Helper()
	file, err := os.Create(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	left := d.free()
	for block := make([]byte, 1<<20); len(block) >= 512 && bytes < left; {
		n, err := file.Write(block[:min(int64(len(block)), left-bytes)])
		bytes += int64(n)
		switch {
		case errors.Is(err, unix.ENOSPC):
			block = block[:len(block)/2]
		case err != nil:
			d.t.Fatal(err)
		}
	}
	if err := file.Sync(); err != nil {
		d.t.Fatal(err)
	}
	return bytes
}

// remove gives back what fill took.
func (d *disk) remove(name string) {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.dir, name)); err != nil {
		d.t.Fatal(err)
	}
}

// ballast is how many bytes of the disk Dsend holds for a day like this.
func (d *disk) ballast() int64 {
	d.t.Helper()
	return allocated(d.t, filepath.Join(d.data(), "ballast"))
}

// allocated is how many bytes of its disk a file takes; none if it is not there.
func allocated(t testing.TB, path string) int64 {
	t.Helper()
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil && !errors.Is(err, unix.ENOENT) {
		t.Fatal(err)
	}
	return s.Blocks * 512
}
