//go:build linux

package power

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// hand does things with one queue, one after the other, and nobody else does. So it knows after each answer where every
// message is, and while one is outstanding where they may be. Many hands work at once.
type hand struct {
	*ledger
	rng   *rand.Rand
	large bool // its messages are, so that the log has to be compacted
	drawn int
	held  []held // deliveries that were not answered yet
}

// held is a delivery.
type held struct {
	*nats.Msg
	item    *item
	attempt uint32
	asked   bool // an answer to it is on its way, or was when the power was cut
}

// crowd is how many messages a hand has in its queue before it rather takes some out.
const crowd = 25

// work does one thing after the other, until there is an error. The first one makes sure that the queue is there.
func (h *hand) work(c *client) error {
	err := h.publish(c)
	for err == nil {
		err = h.act(c)
	}
	return err
}

// act does something.
func (h *hand) act(c *client) error {
	n := h.rng.IntN(100)
	if len(h.where(alive)) > crowd {
		n = 30 + h.rng.IntN(70)
	}
	switch {
	case n < 22:
		return h.publish(c)
	case n < 26:
		return h.again(c)
	case n < 30:
		return h.repeat(c)
	case n < 55:
		return h.pull(c)
	case n < 85:
		return h.answer(c)
	case n < 88:
		return h.one(c, "msg.kill", dead)
	case n < 91:
		return h.one(c, "msg.rm", nowhere)
	case n < 94:
		return h.replay(c)
	case n < 96:
		return h.purgeLetters(c)
	case n < 98:
		return h.purge(c)
	}
	return h.remove(c)
}

// draw makes a message.
func (h *hand) draw() (*item, []byte) {
	h.drawn++
	i := &item{name: fmt.Sprintf("%s#%d", h.queue, h.drawn), id: h.rng.IntN(2) == 0, may: nowhere}
	size := h.rng.IntN(400)
	switch {
	case h.large:
		size = 20_000 + h.rng.IntN(100_000)
	case h.rng.IntN(20) == 0:
		size = h.rng.IntN(20_000)
	}
	h.items[i.name] = i
	return i, h.body(i, size)
}

// body makes the body of an item, of some size, that can be made again.
func (h *hand) body(i *item, size int) []byte {
	sum := sha256.Sum256([]byte(i.name))
	noise := rand.NewChaCha8(sum)
	body := []byte(i.name + "|")
	rest := make([]byte, size)
	_, _ = noise.Read(rest) // never fails
	body = append(body, rest...)
	i.sum, i.size = sha256.Sum256(body), size
	return body
}

// send publishes an item, and notes what is known then.
func (h *hand) send(c *client, i *item, body []byte) (pubAck, error) {
	m := &nats.Msg{Subject: "dsend.publish." + h.queue, Data: body, Header: nats.Header{"Name": {i.name}}}
	if i.id {
		m.Header.Set("Nats-Msg-Id", i.name)
	}
	return c.publish(m)
}

// publish publishes some new messages at once.
func (h *hand) publish(c *client) error {
	errs := make([]error, 1+h.rng.IntN(6))
	var sending sync.WaitGroup
	for k := range errs {
		i, body := h.draw()
		i.first, i.may = time.Now(), nowhere|alive
		sending.Go(func() {
			var ack pubAck
			if ack, errs[k] = h.send(c, i, body); errs[k] == nil {
				i.may, i.stored, i.seq = alive, true, ack.Seq
			}
		})
	}
	sending.Wait()
	return errors.Join(errs...)
}

// again publishes a message that is known not to be there, because a cut took it: it must be taken as a new one.
func (h *hand) again(c *client) error {
	i := h.pick(func(i *item) bool { return i.id && i.may == nowhere && !i.stored && time.Since(i.first) < dedupe })
	if i == nil {
		return h.publish(c)
	}
	i.may |= alive
	ack, err := h.send(c, i, h.body(i, i.size))
	if err != nil {
		return err
	}
	if ack.Duplicate {
		h.fault(&h.found.lost, "%s is not there, and a duplicate of %d", i.name, ack.Seq)
		return nil
	}
	i.may, i.stored, i.seq = alive, true, ack.Seq
	return nil
}

// repeat publishes a message that was taken once more: it must not be stored twice.
func (h *hand) repeat(c *client) error {
	i := h.pick(func(i *item) bool { return i.id && i.stored && time.Since(i.first) < dedupe })
	if i == nil {
		return h.publish(c)
	}
	ack, err := h.send(c, i, h.body(i, i.size))
	if err == nil && !ack.Duplicate {
		h.fault(&h.found.undone, "%s was taken twice", i.name)
	}
	return err
}

// pick is any of some items; nil if there is none.
func (h *hand) pick(which func(*item) bool) *item {
	var some []*item
	for _, i := range h.items {
		if which(i) {
			some = append(some, i)
		}
	}
	if len(some) == 0 {
		return nil
	}
	slices.SortFunc(some, func(a, b *item) int { return a.first.Compare(b.first) }) // for the seed
	return some[h.rng.IntN(len(some))]
}

// pull takes some messages.
func (h *hand) pull(c *client) error {
	all, err := c.pull(h.queue, 1+h.rng.IntN(5))
	for _, m := range all {
		attempt, seq, malformed := attemptOf(m)
		i := h.items[nameOf(m.Data)]
		switch {
		case malformed != nil:
			return malformed
		case i == nil:
			h.fault(&h.found.invented, "%s was delivered: %.40q", m.Reply, m.Data)
			continue
		case sha256.Sum256(m.Data) != i.sum:
			h.fault(&h.found.damaged, "%s was delivered with another body", i.name)
		case i.may != alive:
			h.fault(&h.found.undone, "%s was delivered, and should be at %b", i.name, i.may)
		case attempt <= i.attempt:
			h.fault(&h.found.undone, "%s was delivered as attempt %d, after %d", i.name, attempt, i.attempt)
		}
		i.attempt, i.seq = attempt, seq
		h.held = append(h.held, held{m, i, attempt, false})
	}
	return err
}

// answer answers a delivery.
func (h *hand) answer(c *client) error {
	if len(h.held) == 0 {
		return h.pull(c)
	}
	at := h.rng.IntN(len(h.held))
	d := &h.held[at]
	text, to := "+ACK", nowhere
	switch n := h.rng.IntN(10); {
	case n < 1:
		text, to = "+WPI", alive
	case n < 3:
		text, to = "+TERM no use", dead
	case n < 6:
		if text, to = `-NAK {"delay":1,"error":"not now"}`, alive; d.attempt > 1 {
			to = dead
		}
	}
	d.asked, d.item.may = true, d.item.may|to
	result, err := c.settle(d.Msg, text)
	if err != nil {
		return err
	}
	if result != "ok" {
		h.fault(&h.found.undone, "%s: the answer to attempt %d is %q", d.item.name, d.attempt, result)
	}
	d.asked, d.item.may = false, to
	if text != "+WPI" {
		h.held = slices.Delete(h.held, at, at+1)
	}
	return nil
}

// one does something with one message by its number, which brings it to a place.
func (h *hand) one(c *client, what string, to place) error {
	i := h.pick(func(i *item) bool { return i.may == alive && i.seq != 0 })
	if i == nil {
		return h.publish(c)
	}
	return h.bring([]*item{i}, to, func() error { return c.api(what, args{"queue": h.queue, "seq": i.seq}, nil) })
}

// bring does something that brings items to a place.
func (h *hand) bring(items []*item, to place, do func() error) error {
	maybe(items, to)
	h.drop(items)
	if err := do(); err != nil {
		return err
	}
	certain(items, to)
	return nil
}

// drop forgets the deliveries of items.
func (h *hand) drop(items []*item) {
	h.held = slices.DeleteFunc(h.held, func(d held) bool { return slices.Contains(items, d.item) })
}

// purge removes all that is in the queue.
func (h *hand) purge(c *client) error {
	return h.bring(h.where(alive), nowhere, func() error { return c.api("queue.purge", args{"queue": h.queue}, nil) })
}

// purgeLetters removes all that is dead.
func (h *hand) purgeLetters(c *client) error {
	if len(h.where(dead)) == 0 {
		return nil // there may be no dead-letter queue
	}
	return h.bring(h.where(dead), nowhere, func() error { return pages(c, "dlq.purge", h.queue) })
}

// replay brings back all that is dead.
func (h *hand) replay(c *client) error {
	letters := h.where(dead)
	if len(letters) == 0 {
		return nil
	}
	for _, i := range letters {
		i.seq, i.attempt = 0, 0
	}
	err := h.bring(letters, alive, func() error { return pages(c, "dlq.replay", h.queue) })
	if err == nil {
		for _, i := range letters {
			i.replays++
		}
	}
	return err
}

// pages does something with all letters of a queue.
func pages(c *client, what, queue string) error {
	for request := (args{"queue": queue}); ; {
		var page struct {
			Through uint64
			Began   time.Time
			Next    uint64
			More    bool
		}
		if err := c.api(what, request, &page); err != nil || !page.More {
			return err
		}
		request = args{"queue": queue, "from": page.Next, "through": page.Through, "began": page.Began}
	}
}

// remove removes the queue, and makes it again with a publish. Message ids are forgotten with it.
func (h *hand) remove(c *client) error {
	for _, i := range h.items {
		i.id = false
	}
	err := h.bring(h.where(alive), nowhere, func() error { return c.api("queue.rm", args{"queue": h.queue}, nil) })
	if err != nil {
		return err
	}
	return h.publish(c)
}

// rise compares what is there after a cut with what was promised.
func (h *hand) rise(messages []stored) {
	h.audit(messages)
	h.held = slices.DeleteFunc(h.held, func(d held) bool { return d.asked || d.item.may != alive })
	h.forget()
}
