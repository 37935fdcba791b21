package system

import (
	"context"
	"sync"
	"testing"
)

// crew is clients that do something over and over until the server is killed.
type crew struct {
	t       testing.TB
	clients []*client
	running sync.WaitGroup
	cancel  context.CancelFunc
}

func newCrew(t testing.TB, s *server, n int) *crew {
	t.Helper()
	w := &crew{t: t, cancel: func() {}}
	for range n {
		w.clients = append(w.clients, s.connect(t))
	}
	t.Cleanup(w.end)
	return w
}

// begin lets each client do something over and over until it fails, or end.
func (w *crew) begin(do func(*client) error) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.cancel = cancel
	for _, c := range w.clients {
		c.back(w.t)
		w.running.Go(func() {
			var err error
			for ctx.Err() == nil && err == nil {
				err = do(c.until(ctx))
			}
			if ctx.Err() == nil {
				w.t.Logf("a client of the crew ended: %v", err)
			}
		})
	}
}

// end waits until nobody does anything any more. Whoever waits for an answer
// waits no longer.
func (w *crew) end() {
	w.cancel()
	w.running.Wait()
}
