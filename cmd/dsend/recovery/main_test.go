package recovery

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// jetStreamDir is the variable that makes this program a NATS server with
// JetStream in a folder; jetStreamAddr is where it listens.
const (
	jetStreamDir  = "RECOVERY_JETSTREAM_DIR"
	jetStreamPort = "RECOVERY_JETSTREAM_PORT"
)

var program string // dsend

func TestMain(m *testing.M) {
	if dir := os.Getenv(jetStreamDir); dir != "" {
		serveJetStream(dir)
	}
	os.Exit(run(m))
}

// run builds dsend and runs the tests.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dsend-recovery")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "dsend")
	if out, err := exec.Command("go", "build", "-o", program, "dsend/cmd/dsend").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build dsend: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// serveJetStream serves until the process is killed.
func serveJetStream(dir string) {
	var port int
	if _, err := fmt.Sscan(os.Getenv(jetStreamPort), &port); err != nil {
		panic(err)
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true,
		JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 1 << 30,
	})
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Minute) {
		panic("the JetStream server does not start")
	}
	s.WaitForShutdown()
	os.Exit(0)
}
