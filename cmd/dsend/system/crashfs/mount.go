//go:build linux

package crashfs

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Missing says what this machine lacks for Mount; "" if nothing.
func Missing() string {
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		return "root and /dev/fuse (modprobe fuse)"
	}
	return ""
}

// mount is where a disk can be used.
type mount struct {
	dir    string
	server *fuse.Server
	served chan struct{} // closed when nothing is served any longer
}

// maxWrite is the most that comes in one write.
const maxWrite = 1 << 20

// Mount shows the disk at a folder. Calls are served by this process until Unmount.
func (d *Disk) Mount(dir string) error {
	// The library would mount it with a descriptor that the programs which this process starts inherit.
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=0,group_id=0,allow_other,max_read=%d", device, typeFolder, maxWrite)
	if err := unix.Mount("crashfs", dir, "fuse.crashfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return errors.Join(fmt.Errorf("mount %s: %w", dir, err), unix.Close(device))
	}
	server, err := fuse.NewServer(&server{fuse.NewDefaultRawFileSystem(), d}, fmt.Sprintf("/dev/fd/%d", device),
		&fuse.MountOptions{
			Name: "crashfs", MaxWrite: maxWrite, DisableXAttrs: true, DisableReadDirPlus: true,
			Logger:       log.New(io.Discard, "", 0), // it tells of connections that end with the mount
			PanicHandler: func(fault any) fuse.Status { panic(fault) },
		})
	if err != nil {
		return errors.Join(fmt.Errorf("serve %s: %w", dir, err), unix.Unmount(dir, unix.MNT_DETACH))
	}
	m := &mount{dir, server, make(chan struct{})}
	go func() {
		defer close(m.served)
		server.Serve()
	}()
	d.mount = m
	if err := errors.Join(server.WaitMount(), m.noPolling()); err != nil {
		return errors.Join(err, d.Unmount())
	}
	return nil
}

// noPolling has the kernel learn that files here cannot be polled. Go's runtime polls what is opened, and waits for the
// answer in a way in which the goroutine that would give it may never run; see the library's poll.go, which does not do
// this for a device that it did not open.
func (m *mount) noPolling() error {
	file, err := unix.Open(filepath.Join(m.dir, ".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(file), Events: unix.POLLIN}}, 0)
	return errors.Join(err, unix.Close(file))
}

// Unmount takes the disk away. It waits a while for the last files to be closed: the kernel does that a moment after a
// process has ended, and the garbage collector with those that this process has lost after an error.
func (d *Disk) Unmount() error {
	m := d.mount
	if m == nil {
		return nil
	}
	err := unix.Unmount(m.dir, 0)
	for begin := time.Now(); err == unix.EBUSY && time.Since(begin) < 30*time.Second; err = unix.Unmount(m.dir, 0) {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", m.dir, err)
	}
	d.mount = nil
	<-m.served
	return nil
}

// Discard takes the disk away even if it is in use. It is for the end of a test that failed.
func (d *Disk) Discard() error {
	m := d.mount
	if m == nil {
		return nil
	}
	d.Cut()
	d.mount = nil
	return unix.Unmount(m.dir, unix.MNT_DETACH)
}
