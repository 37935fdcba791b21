package system

import (
	"sync"
	"sync/atomic"
	"testing"
)

// crew is clients that do something over and over until the server is killed.
type crew struct {
	t       testing.TB
	clients []*client
	running sync.WaitGroup
	stop    atomic.Bool
}

func newCrew(t testing.TB, s *server, n int) *crew {
	t.Helper()
	w := &crew{t: t}
	for range n {
		w.clients = append(w.clients, s.connect(t))
	}
	return w
}

// begin lets each client do something over and over until it fails, or end.
func (w *crew) begin(do func(*client) error) {
	w.stop.Store(false)
	for _, c := range w.clients {
		c.back(w.t)
		w.running.Go(func() {
			for !w.stop.Load() && do(c) == nil {
			}
		})
	}
}

// end waits until nobody does anything any more.
func (w *crew) end() {
	w.stop.Store(true)
	w.running.Wait()
}
