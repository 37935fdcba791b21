package recovery

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dsend/testkit"
)

// TestAStartIsKilled kills a server while it recovers, again and again. It says
// that it is starting, and how far it is; who publishes meanwhile gets no OK;
// and in the end everything is there.
func TestAStartIsKilled(t *testing.T) {
	n, kills := 500_000, 4
	if testkit.Storm() {
		n, kills = 3_000_000, 50
	}
	random := testkit.Dice(t)
	c := newDsend(t)
	fill(t, c.dir, n, 0)

	killed := 0
	for range 10 * kills {
		c.start(t)
		if c.recovers(t) {
			notYet(t, c)
			time.Sleep(time.Duration(random.Int64N(int64(200 * time.Millisecond)))) // so that it is killed anywhere
			if _, line := c.ask("/readyz"); strings.HasPrefix(line, "starting: recovering") {
				killed++
			}
		}
		c.kill()
		if killed == kills {
			break
		}
	}
	if killed < kills {
		t.Errorf("only %d starts were killed while they recovered", killed)
	}
	c.start(t)
	c.holds(t, c.connect(t), uint64(n))
}

// recovers waits until the server recovers its log; false if it is ready
// before anybody has seen that.
func (c *contender) recovers(t *testing.T) bool {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		switch code, line := c.ask("/readyz"); {
		case strings.HasPrefix(line, "starting: recovering the log, "):
			if code != http.StatusServiceUnavailable {
				t.Errorf("/readyz answers %d while it is %s", code, line)
			}
			if code, _ := c.ask("/healthz"); code != http.StatusOK {
				t.Errorf("/healthz answers %d at the start", code)
			}
			return true
		case line == "ready\n":
			return false
		}
	}
	t.Fatalf("it is neither starting nor ready:\n%s", c.said.String())
	return false
}

// ask gives what a probe is answered; 0 if nobody is there.
func (c *contender) ask(path string) (code int, line string) {
	r, err := http.Get("http://" + c.web + path)
	if err != nil {
		return 0, ""
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, ""
	}
	return r.StatusCode, string(body)
}

// notYet proves that a publish to a server that recovers is not answered, but
// by NATS, which says that nobody is there.
func notYet(t *testing.T, c *contender) {
	t.Helper()
	nc, err := nats.Connect(c.url(), nats.NoReconnect())
	if err != nil {
		return // not even a port
	}
	defer nc.Close()
	r, err := nc.Request("dsend.publish.other", []byte("too early"), 10*time.Millisecond)
	switch {
	case err == nil:
		if _, line := c.ask("/readyz"); strings.HasPrefix(line, "starting") {
			t.Errorf("a publish was answered while the log is recovered: %s", r.Data)
		}
	case !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, nats.ErrTimeout):
		t.Errorf("a publish while the log is recovered: %v", err)
	}
}
