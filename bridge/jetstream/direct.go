package jetstream

import (
	"bytes"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/durable/queue"
)

const startLine = "NATS/1.0\r\n"

// direct answers with a message itself: its own headers, and what JetStream says
// of it.
func (c *call) direct(m *queue.Message, bare bool) {
	c.total.Add(1)
	if bare {
		c.send(c.reply, nil, m.Body)
		return
	}
	header := []byte(startLine)
	if m.Header != nil {
		header = bytes.Clone(bytes.TrimSuffix(m.Header, []byte("\r\n")))
	}
	header = fmt.Appendf(header, "%s: %s\r\n%s: %s\r\n%s: %d\r\n%s: %s\r\n\r\n",
		server.JSStream, c.names[0], server.JSSubject, m.Subject, server.JSSequence, m.Seq,
		server.JSTimeStamp, at(m.At).Format(time.RFC3339Nano))
	if c.send(c.reply, header, m.Body) != nil { // a message of the largest size has no room for ours
		c.send(c.reply, m.Header, m.Body)
	}
}

// directError answers with a status.
func (c *call) directError(status string) {
	c.total.Add(1)
	c.errors.Add(1)
	c.send(c.reply, fmt.Appendf(nil, "NATS/1.0 %s\r\n\r\n", brief(status)), nil)
}
