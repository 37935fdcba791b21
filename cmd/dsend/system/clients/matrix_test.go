package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// matrix is what was done by which client.
var matrix table

// table is client × operation: how it went.
type table struct {
	mu      sync.Mutex
	clients []string
	ops     []string
	cells   map[[2]string]string
}

func (m *table) put(client, op, how string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cells == nil {
		m.cells = map[[2]string]string{}
	}
	if !slices.Contains(m.clients, client) {
		m.clients = append(m.clients, client)
	}
	if !slices.Contains(m.ops, op) {
		m.ops = append(m.ops, op)
	}
	m.cells[[2]string{client, op}] = how
}

// write writes the table where make test finds it, if there is anything in it.
func (m *table) write() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.cells) == 0 {
		return nil
	}
	var b strings.Builder
	slices.Sort(m.clients)
	for _, client := range m.clients {
		fmt.Fprintln(&b, client)
		for _, op := range m.ops {
			if how, there := m.cells[[2]string{client, op}]; there {
				fmt.Fprintf(&b, "  %-4s %s\n", how, op)
			}
		}
	}
	fmt.Print(b.String())
	folder := filepath.Join("..", "..", "..", "..", ".cache")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "clients.txt"), []byte(b.String()), 0o644)
}

// run is one client in one test.
type run struct {
	*testing.T
	client string
}

// slow is what is worth a line in the log.
const slow = 2 * time.Second

// op does an operation, and notes how it went. The test goes no further after one
// that failed: the next would build on it.
func (r *run) op(name string, do func() error) {
	r.Helper()
	begin := time.Now()
	if err := do(); err != nil {
		matrix.put(r.client, name, "FAIL")
		r.Fatalf("%s: %s: %v", r.client, name, err)
	}
	matrix.put(r.client, name, "pass")
	if took := time.Since(begin); took > slow {
		r.Logf("%s took %s", name, took)
	}
}
