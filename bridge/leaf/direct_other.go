//go:build !unix

package leaf

import "net"

// direct is for systems whose sockets we can write to without waiting.
func direct(net.Conn) func(p []byte) int { return nil }
