package system

import (
	"testing"
	"time"
)

// A worker that comes back after a restart keeps what it holds; what one held
// that does not come back is free long before the visibility timeout.
func TestHoldersOverARestart(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 1h", "backoff: {list: [1ms], jitter: 0}")})
	stays := s.connect(t)
	stays.put(t, plain("orders", "kept"))
	kept := stays.one(t, "orders")
	stays.put(t, plain("orders", "left"))
	dies := launch(t, []string{"NATS_URL=" + s.url()}, "work", "orders", "--", "sleep", "600")
	eventually(t, "both workers hold a message", func() error { return equal(stays.info(t, "orders").InFlight, 2) })

	s.kill()
	if err := dies.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.start()
	stays.back(t)
	within(t, time.Minute, "what the dead worker held is free", func() error {
		return equal(stays.info(t, "orders").counts, counts{Ready: 1, InFlight: 1})
	})
	kept.must(t, "+ACK", "ok")
}
