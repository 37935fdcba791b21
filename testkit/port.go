package testkit

import (
	"fmt"
	"net"
	"sync"
	"testing"
)

// Ports that are picked lie below those that the kernel gives to connections: a
// client that keeps dialling a dead server could otherwise get the server's own
// port, and connect to itself.
const (
	firstPort  = 12000
	lastPort   = 31999
	blockPorts = 1000
)

// ports are those of this process.
var ports struct {
	sync.Mutex
	claim net.PacketConn // keeps other processes of tests off the block, as long as this one lives
	first int            // of the block
	next  int            // to try, counted from first
}

// PickAddr picks an address on the loopback for a server to listen on, host:port.
// Nobody listens there now; and no other test picks it, in this process for
// some hundred picks, in others as long as this one lives: between the pick and
// the listening there may be seconds.
func PickAddr(t testing.TB) string {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.claim == nil && !claimBlock() {
		t.Fatal("no block of ports is free")
	}
	for range blockPorts {
		addr := fmt.Sprintf("127.0.0.1:%d", ports.first+ports.next)
		ports.next = (ports.next + 1) % blockPorts
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatalf("no port of %d to %d is free", ports.first, ports.first+blockPorts-1)
	return ""
}

// claimBlock takes the first block that no other process has. A claim is a UDP
// socket on the number of the block's first port, which the kernel gives back
// however the process ends.
func claimBlock() bool {
	for first := firstPort; first+blockPorts-1 <= lastPort; first += blockPorts {
		claim, err := net.ListenPacket("udp", fmt.Sprintf("127.0.0.1:%d", first))
		if err == nil {
			ports.claim, ports.first = claim, first
			return true
		}
	}
	return false
}
