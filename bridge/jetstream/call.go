package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"dsend/durable/queue"
)

// call is a request that is being served.
type call struct {
	*API
	ctx context.Context
	request
	names []string // tokens of the subject behind the endpoint's
}

// apiLevel is that of servers of 2.14: clients ask for it where a configuration
// allows what such servers have. What is not supported is refused by its field.
const apiLevel = 4

// checkLevel refuses a request that relies on more than is served.
func (c *call) checkLevel() error {
	if len(c.header) == 0 {
		return nil
	}
	h, err := nats.DecodeHeadersMsg(c.header)
	if err != nil {
		return server.NewJSBadRequestError()
	}
	level := h.Get(server.JSRequiredApiLevel)
	if n, err := strconv.Atoi(level); level != "" && (err != nil || n > apiLevel) {
		return server.NewJSRequiredApiLevelError()
	}
	return nil
}

// decode reads the body strictly; none at all leaves into as it is.
func (c *call) decode(into any) error {
	if len(bytes.TrimSpace(c.body)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return server.NewJSInvalidJSONError(err)
	}
	if d.More() {
		return server.NewJSInvalidJSONError(errTrailing)
	}
	return nil
}

// change has an op done.
func (c *call) change(op queue.Op) (queue.Reply, error) {
	r, err := c.store.Do(c.ctx, op)
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return r, err
}

// page cuts a list to what a paged request asks for.
func page[T any](list []T, offset, limit int) ([]T, server.ApiPaged) {
	total := len(list)
	offset = min(max(offset, 0), total)
	list = list[offset:]
	return list[:min(limit, len(list))], server.ApiPaged{Total: total, Offset: offset, Limit: limit}
}

// at is a time of the store; the zero time if there is none.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

func now() time.Time { return time.Now().UTC() }
