package system

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// metrics is what /metrics shows: values by name and labels, as it writes them.
type metrics map[string]float64

// metrics reads the metrics of the server.
func (s *server) metrics() (metrics, error) {
	r, err := http.Get("http://" + s.web + "/metrics")
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics: %s: %s", r.Status, body)
	}
	all := metrics{}
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("/metrics: %q: %w", line, err)
		}
		all[line[:at]] = value
	}
	return all, nil
}

// of is the value of a metric of a queue; labels are written name="value".
func (m metrics) of(name, queue string, labels ...string) (int64, error) {
	key := name + "{" + strings.Join(append([]string{fmt.Sprintf("queue=%q", queue)}, labels...), ",") + "}"
	value, ok := m[key]
	if !ok {
		return 0, fmt.Errorf("there is no metric %s", key)
	}
	return int64(value), nil
}

// counts are the counts of a queue in the metrics.
func (m metrics) counts(queue string) (c counts, err error) {
	for state, n := range map[string]*int64{"ready": &c.Ready, "in_flight": &c.InFlight, "delayed": &c.Delayed, "dead": &c.Dead} {
		if *n, err = m.of("dsend_queue_messages", queue, fmt.Sprintf("state=%q", state)); err != nil {
			return c, err
		}
	}
	c.Letters, err = m.of("dsend_queue_letters", queue)
	return c, err
}

// views waits until the API, the metrics and the command line agree on a queue at
// rest, and gives its counts.
func (s *server) views(t testing.TB, c *client, queue string) (agreed counts) {
	t.Helper()
	eventually(t, "API, metrics and command line agree on "+queue, func() error {
		before := c.info(t, queue).counts
		all, err := s.metrics()
		if err != nil {
			return err
		}
		metrics, err := all.counts(queue)
		if err != nil {
			return err
		}
		var shown queueInfo
		r := s.dsend(t, "queue", "info", queue, "--json")
		if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil {
			return fmt.Errorf("dsend queue info: %w: %+v", err, r)
		}
		if agreed = c.info(t, queue).counts; before != agreed || metrics != agreed || shown.counts != agreed {
			return fmt.Errorf("API %+v, then %+v; metrics %+v; command line %+v", before, agreed, metrics, shown.counts)
		}
		return nil
	})
	return agreed
}
