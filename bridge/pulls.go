package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"dsend/durable/queue"
)

// nextRequest is JetStream's request for messages. Durations are in ns.
type nextRequest struct {
	Batch     *int          `json:"batch"`
	Expires   time.Duration `json:"expires"`
	NoWait    bool          `json:"no_wait"`
	MaxBytes  int           `json:"max_bytes"`
	Heartbeat time.Duration `json:"idle_heartbeat"`
	NoHeaders bool          `json:"no_headers"` // Dsend's own: see doc.go

	// Of priority groups, which Dsend has not.
	Group         string `json:"group"`
	MinPending    int64  `json:"min_pending"`
	MinAckPending int64  `json:"min_ack_pending"`
	ID            string `json:"id"`
	Priority      int    `json:"priority"`
}

// grouped names the field that is for priority groups, if there is one.
func (r *nextRequest) grouped() string {
	switch {
	case r.Group != "":
		return "group"
	case r.ID != "":
		return "id"
	case r.MinPending != 0:
		return "min_pending"
	case r.MinAckPending != 0:
		return "min_ack_pending"
	case r.Priority != 0:
		return "priority"
	}
	return ""
}

// maxBatch bounds one request.
const maxBatch = 1 << 20

// readPull reads the body of a pull: empty is 1 message, a number is so many,
// or JSON. The error is what follows "Bad Request - ".
func readPull(p *queue.Pull, body []byte) error {
	p.Batch = 1
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return nil
	case body[0] != '{':
		n, err := strconv.Atoi(string(body))
		if err != nil {
			return fmt.Errorf("%.40q is not a number of messages nor JSON", body)
		}
		p.Batch = n
	default:
		var r nextRequest
		if err := json.Unmarshal(body, &r); err != nil {
			return err
		}
		if name := r.grouped(); name != "" {
			return fmt.Errorf("%s: priority groups are not supported", name)
		}
		if r.Batch != nil {
			p.Batch = *r.Batch
		}
		p.Expires, p.NoWait, p.MaxBytes, p.Heartbeat = r.Expires, r.NoWait, r.MaxBytes, r.Heartbeat
		p.NoHeaders = r.NoHeaders
	}
	return checkPull(p)
}

func checkPull(p *queue.Pull) error {
	switch {
	case p.Batch < 1:
		return fmt.Errorf("batch must be at least 1")
	case p.Batch > maxBatch:
		return fmt.Errorf("batch is above %d", maxBatch)
	case p.Expires < 0 || p.Expires > queue.MaxDelay:
		return fmt.Errorf("expires is out of range")
	case p.MaxBytes < 0:
		return fmt.Errorf("max_bytes is negative")
	case p.Heartbeat < 0:
		return fmt.Errorf("idle_heartbeat is negative")
	case p.Heartbeat > 0 && p.Heartbeat < minHeartbeat:
		return fmt.Errorf("idle_heartbeat is below %s", minHeartbeat)
	case p.Heartbeat > 0 && p.Expires > 0 && p.Heartbeat > p.Expires/2:
		return fmt.Errorf("heartbeat value too large")
	}
	return nil
}

// minHeartbeat keeps a request from asking for a flood.
const minHeartbeat = 10 * time.Millisecond
