//go:build unix

package leaf

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// direct returns what writes to a connection as much as fits into the kernel's buffer and never waits, and tells
// how many bytes that were; nil if the connection has no such way (TLS, a pipe). Errors are left for the writer, who
// meets them with the next bytes.
func direct(conn net.Conn) func(p []byte) int {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return func(p []byte) (n int) {
		err := raw.Write(func(fd uintptr) bool {
			n, _ = unix.Write(int(fd), p) // the descriptor does not block
			return true
		})
		if err != nil {
			return 0
		}
		return max(n, 0)
	}
}
