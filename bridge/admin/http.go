package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Handler serves /healthz, /readyz and /metrics.
func Handler(h *Health, m *Metrics) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		phase, line := h.now()
		tell(w, phase != failed, line)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		phase, line := h.now()
		tell(w, phase == ready, line)
	})
	mux.Handle("GET /metrics", m.handler(h))
	return mux
}

func tell(w http.ResponseWriter, good bool, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !good {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = io.WriteString(w, line+"\n") // a probe that went away has its answer
}

// Server is an HTTP server on an address that is taken already.
type Server struct {
	listener net.Listener
	server   *http.Server
}

// Listen takes an address, so that a busy one is found before anything else is
// started. Requests wait until Run.
func Listen(addr string, h http.Handler) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	return &Server{l, &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}}, nil
}

// Addr is the address, with the port that was given for port 0.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// patience is how long a request may take to end when the server stops.
const patience = 2 * time.Second

// Run serves until ctx ends or the server fails, and returns when nothing of it
// runs any longer. It must be called once, also to give the address back.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(s.listener) }()
	var err error
	select {
	case err = <-served:
		served <- err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if s.server.Shutdown(grace) != nil {
		_ = s.server.Close() // what is left had its time
	}
	if err = <-served; errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("http: %w", err)
}
