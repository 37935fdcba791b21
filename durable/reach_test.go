package durable

import (
	"bytes"
	"fmt"
	"testing"

	"dsend/durable/queue"
)

// A backlog that is not in memory is read many messages at a time, and each is
// still its own, whatever lies between them.
func TestBacklogIsReadTogether(t *testing.T) {
	for name, between := range map[string]int{"nothing between": 0, "others between": 100, "too much between": maxGap} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T) {
				log := newMemLog()
				s, r := open(t, log, func(c *Config) { c.Cache = 0 })
				const n = 400
				ops := make([]queue.Op, 0, 2*n)
				for i := range n {
					ops = append(ops, &queue.Publish{Queue: "q", Body: fmt.Append(nil, "body ", i), MaxAttempts: -1})
					if between > 0 {
						ops = append(ops, &queue.Publish{Queue: "other", Body: make([]byte, between), MaxAttempts: -1})
					}
				}
				submit(t, s, ops...)
				do(t, s, &queue.Declare{Name: "later", Settings: queue.Defaults()}) // the newest commit is in memory
				reads := 0
				log.reading = func() { reads++ }
				do(t, s, pull(n))
				got := r.deliveries()
				if len(got) != n {
					t.Fatalf("%d of %d are delivered", len(got), n)
				}
				for i, d := range got {
					if want := fmt.Append(nil, "body ", i); !bytes.Equal(d.Message.Body, want) {
						t.Fatalf("message %d is %q", i+1, d.Message.Body)
					}
				}
				if together := between < maxGap; together && reads > 10 || !together && reads < n/2 {
					t.Errorf("%d reads for %d messages", reads, n)
				}
			})
		})
	}
}
