package system

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// bulky is the queue whose messages are large.
const bulky = "bulk"

// draw makes a message of random content, with what options add to it.
func (l *ledger) draw(queue string, options ...func(out) out) *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := &item{id: fmt.Sprintf("%s#%d", queue, len(l.items)+1)}
	i.out = plain(queue, i.id+"|")
	size := l.rng.IntN(200)
	switch {
	case queue == bulky:
		size = l.rng.IntN(200_000)
	case l.rng.IntN(20) == 0:
		size = l.rng.IntN(20_000)
	}
	random := make([]byte, size)
	_, _ = l.noise.Read(random) // never fails
	i.body = append(i.body, random...)
	i.sum = sha256.Sum256(i.body)
	if l.rng.IntN(3) == 0 {
		i.header = nats.Header{"Order": {i.id}, "Twice": {"first", fmt.Sprint(l.rng.Uint32())}, "empty": {""}}
	}
	for _, f := range options {
		i.out = f(i.out)
	}
	l.items[i.id] = i
	return i
}

// idOf is what a body begins with.
func idOf(body []byte) string {
	id, _, _ := strings.Cut(string(body[:min(len(body), 100)]), "|")
	return id
}

// publish sends a message and notes the answer.
func (l *ledger) publish(c *client, i *item) error {
	l.mu.Lock()
	o := i.out
	l.mu.Unlock()
	ack, err := c.publish(o)
	l.answered(i, ack, err)
	return err
}

// put publishes n random messages at once, which must all be taken.
func (l *ledger) put(t testing.TB, c *client, queue string, n int) []*item {
	t.Helper()
	items, outs := make([]*item, n), make([]out, n)
	for k := range items {
		items[k] = l.draw(queue)
		outs[k] = items[k].out
	}
	answers, err := c.publishAll(outs)
	for k, a := range answers {
		l.answered(items[k], a.ack, a.err)
		err = errors.Join(err, a.err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// answered notes the answer to a publish. Only a refusal that says that the
// request itself is wrong says for certain that nothing is stored.
func (l *ledger) answered(i *item, ack pubAck, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var refused *refusal
	switch {
	case l.blind:
	case err == nil:
		i.taken, i.home, i.seq = true, ack.Stream, ack.Seq
		l.waiting++
	case errors.As(err, &refused) && refused.Code < 500:
		i.none = true
	}
}
