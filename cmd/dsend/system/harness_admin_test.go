package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// api asks an endpoint of the micro service. answer may be nil.
func (c *client) api(endpoint string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	m, err := c.requestTo("dsend.api."+endpoint, body)
	if err != nil {
		return fmt.Errorf("%s: %w", endpoint, err)
	}
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "" {
		return &apiError{endpoint, code, m.Header.Get("Nats-Service-Error")}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(m.Data, answer)
}

// apiError is the error that the API answered with.
type apiError struct{ endpoint, code, text string }

func (e *apiError) Error() string { return fmt.Sprintf("%s: %s (%s)", e.endpoint, e.text, e.code) }

// args is a JSON object.
type args = map[string]any

// counts are the numbers of a queue that all views have.
type counts struct {
	Ready    int64 `json:"ready"`
	InFlight int64 `json:"in_flight"`
	Delayed  int64 `json:"delayed"`
	Dead     int64 `json:"dead"`    // messages of this queue
	Letters  int64 `json:"letters"` // held here
}

// queueInfo is a queue as the API and the command line show it.
type queueInfo struct {
	Name string `json:"name"`
	counts
	Messages     int64           `json:"messages"`
	Paused       bool            `json:"paused"`
	Undeclared   bool            `json:"undeclared"`
	FirstSeq     uint64          `json:"first_seq"`
	LastSeq      uint64          `json:"last_seq"`
	WaitingPulls int             `json:"waiting_pulls"`
	Workers      int             `json:"workers"`
	Totals       json.RawMessage `json:"totals"`
}

// total is one of the totals since the process started.
func (q queueInfo) total(t testing.TB, name string) int64 {
	t.Helper()
	var all map[string]json.RawMessage
	var n int64
	if err := errors.Join(json.Unmarshal(q.Totals, &all), json.Unmarshal(all[name], &n)); err != nil {
		t.Fatalf("total %s of %s: %v", name, q.Totals, err)
	}
	return n
}

// info is a queue as the API shows it.
func (c *client) info(t testing.TB, queue string) queueInfo {
	t.Helper()
	var q queueInfo
	if err := c.api("queue.info", args{"queue": queue}, &q); err != nil {
		t.Fatal(err)
	}
	return q
}

// rest waits until a queue has these counts.
func (c *client) rest(t testing.TB, queue string, want counts) {
	t.Helper()
	eventually(t, "queue "+queue, func() error { return equal(c.info(t, queue).counts, want) })
}

// queues are all queues, as the API shows them.
func (c *client) queues() (all []queueInfo, err error) {
	for more, after := true, ""; more; {
		var page struct {
			Queues []queueInfo
			More   bool
		}
		if err := c.api("queue.ls", args{"after": after}, &page); err != nil {
			return nil, err
		}
		all, more = append(all, page.Queues...), page.More
		if len(all) > 0 {
			after = all[len(all)-1].Name
		}
	}
	return all, nil
}

// stored is a message as the API shows it.
type stored struct {
	Queue    string     `json:"queue"`
	Seq      uint64     `json:"seq"`
	State    string     `json:"state"`
	Attempt  uint32     `json:"attempt"`
	Replays  uint32     `json:"replays"`
	ReadyAt  *time.Time `json:"ready_at"`
	Deadline *time.Time `json:"deadline"`
	Worker   string     `json:"worker"`
	Subject  string     `json:"subject"`
	Headers  []struct{ Name, Value string }
	Data     []byte  `json:"data"`
	More     bool    `json:"more"`
	Letter   *letter `json:"letter"`
}

// letter is why a message died.
type letter struct {
	Reason        string    `json:"reason"`
	Error         string    `json:"error"`
	DiedAt        time.Time `json:"died_at"`
	OriginQueue   string    `json:"origin_queue"`
	OriginSubject string    `json:"origin_subject"`
	OriginSeq     uint64    `json:"origin_seq"`
	PublishedAt   time.Time `json:"published_at"`
	Attempts      uint32    `json:"attempts"`
	Replays       uint32    `json:"replays"`
}

// header is the headers of a stored message.
func (m stored) header() nats.Header {
	h := nats.Header{}
	for _, line := range m.Headers {
		h[line.Name] = append(h[line.Name], line.Value)
	}
	return h
}

// peek is all messages of a queue, with their bodies.
func (c *client) peek(queue string) ([]stored, error) {
	all, err := c.glance(queue, -1)
	for _, m := range all {
		if m.More {
			return nil, fmt.Errorf("message %d of %s is too large to be peeked at", m.Seq, queue)
		}
	}
	return all, err
}

// glance is all messages of a queue, with so many bytes of their bodies at most.
func (c *client) glance(queue string, most int) (all []stored, err error) {
	for from, more := uint64(0), true; more; {
		var page struct {
			Messages []stored
			Next     uint64
			More     bool
		}
		if err := c.api("queue.peek", args{"queue": queue, "from": from, "max_data": most}, &page); err != nil {
			return nil, err
		}
		all, from, more = append(all, page.Messages...), page.Next, page.More
	}
	return all, nil
}

// look is all messages of a queue; it fails the test if they cannot be seen.
func (c *client) look(t testing.TB, queue string) []stored {
	t.Helper()
	all, err := c.peek(queue)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// result is what a command of dsend did.
type result struct {
	stdout, stderr string
	code           int
}

// dsend runs a command of the binary against the server.
func (s *server) dsend(t testing.TB, arguments ...string) result {
	t.Helper()
	return command(t, append(arguments, "--server", s.url(), "--timeout", patience.String())...)
}

// command runs the binary to its end.
func command(t testing.TB, arguments ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), arguments...)
	cmd.Env, cmd.Dir = environment(t, nil), t.TempDir()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("dsend %v: %v", arguments, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// isAPIError: the request was answered, with an error.
func isAPIError(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.code != "503" && e.code != "504"
}
