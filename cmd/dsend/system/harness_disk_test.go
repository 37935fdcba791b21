package system

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// disk is a small ext4 file system of its own, whose power can be cut.
type disk struct {
	t     testing.TB
	image string
	dir   string // where it is mounted
}

// newDisk makes a disk. Only root can.
func newDisk(t testing.TB) *disk { return newDiskOf(t, "256M") }

// newDiskOf makes a disk of a size. Nothing of it is kept for root, who is not to
// find room where others would not.
func newDiskOf(t testing.TB, size string) *disk {
	t.Helper()
	_, noTool := exec.LookPath("mkfs.ext4")
	_, noLoop := os.Stat("/dev/loop-control")
	need(t, os.Geteuid() == 0 && noTool == nil && noLoop == nil, "root, mkfs.ext4 (apt-get install e2fsprogs) and loop devices")
	d := &disk{t: t, image: filepath.Join(t.TempDir(), "image"), dir: filepath.Join(t.TempDir(), "disk")}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d.run("truncate", "-s", size, d.image)
	d.run("mkfs.ext4", "-q", "-m", "0", d.image)
	d.mount()
	t.Cleanup(func() { _ = exec.Command("umount", "-l", d.dir).Run() })
	return d
}

func (d *disk) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

func (d *disk) mount() { d.t.Helper(); d.run("mount", "-o", "loop", d.image, d.dir) }

// data is a data folder on the disk.
func (d *disk) data() string { return filepath.Join(d.dir, "data") }

// cut is a power cut: what was not synced is gone, and nothing can be written any
// more. The process that used the disk must be killed, and then repaired called.
func (d *disk) cut() {
	d.t.Helper()
	dir, err := os.Open(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer dir.Close()
	const shutdown, noFlush = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH
	if err := unix.IoctlSetPointerInt(int(dir.Fd()), shutdown, noFlush); err != nil {
		d.t.Fatalf("shut the file system down: %v", err)
	}
}

// powerOn mounts the disk as it is after the cut.
func (d *disk) powerOn() {
	d.t.Helper()
	d.run("umount", d.dir)
	d.mount()
}

// check checks the file system, and takes the disk away.
func (d *disk) check() {
	d.t.Helper()
	d.run("umount", d.dir)
	d.run("e2fsck", "-fn", d.image)
}
