package admin

import "sync"

// Health is what the probes tell. The zero value is starting.
type Health struct {
	mu    sync.Mutex
	phase string
	why   string
}

// The phases of the process, as /readyz shows them.
const (
	starting = "starting"
	ready    = "ready"
	stopping = "stopping"
	failed   = "failed"
)

// Starting says what is done before work is taken.
func (h *Health) Starting(what string) { h.set(starting, what) }

// Ready says that work is taken.
func (h *Health) Ready() { h.set(ready, "") }

// Stopping says that the process is about to end as it was asked to.
func (h *Health) Stopping() { h.set(stopping, "") }

// Failed says that the process cannot go on. That is final.
func (h *Health) Failed(why error) { h.set(failed, why.Error()) }

func (h *Health) set(phase, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != failed {
		h.phase, h.why = phase, why
	}
}

// now is the phase and, in one line, why.
func (h *Health) now() (phase, line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.phase == "":
		return starting, starting
	case h.why != "":
		return h.phase, h.phase + ": " + oneLine(h.why)
	}
	return h.phase, h.phase
}
