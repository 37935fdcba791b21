package wal

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the content of file durable, and its size, but not its times.
func syncData(file *os.File) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	sync := unix.EINTR
	err = conn.Control(func(fd uintptr) {
		for sync == unix.EINTR {
			sync, _ = unix.Fdatasync(int(fd)).(unix.Errno)
		}
	})
	if err == nil && sync != 0 {
		err = os.NewSyscallError("fdatasync "+file.Name(), sync)
	}
	return err
}
