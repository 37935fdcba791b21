package system

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// actor is one client with something to do, over and over, and its own dice.
type actor struct {
	*client
	ledger *ledger
	rng    *rand.Rand
	queue  string
	act    func(*actor, *client) error
	undone *item // was published, and not answered
}

// produce publishes a message of some kind. What was not answered before the
// server was killed is published again with the same id, so that it is stored once.
func (a *actor) produce(c *client) error {
	switch {
	case a.ledger.crowded(): // a look at everything takes long then
		return a.consume(c)
	case a.rng.IntN(10) == 0:
		return a.burst(c)
	}
	i := a.undone
	if a.undone = nil; i == nil {
		i = a.ledger.draw(a.queue, a.options)
	}
	err := a.ledger.publish(c, i)
	if err != nil && i.header["Nats-Msg-Id"] != nil {
		a.undone = i
	}
	return err
}

// burst publishes many messages at once.
func (a *actor) burst(c *client) error {
	items, outs := make([]*item, 1+a.rng.IntN(40)), []out{}
	for k := range items {
		items[k] = a.ledger.draw(a.queue, a.options)
		outs = append(outs, items[k].out)
	}
	answers, err := c.publishAll(outs)
	for k, r := range answers {
		a.ledger.answered(items[k], r.ack, r.err)
	}
	return err
}

// options asks for things by headers.
func (a *actor) options(o out) out {
	if a.rng.IntN(2) == 0 {
		o = o.with("Nats-Msg-Id", idOf(o.body))
	}
	switch a.rng.IntN(8) {
	case 0:
		o = o.with("Dsend-Delay", fmt.Sprint(time.Duration(a.rng.IntN(100))*time.Millisecond))
	case 1:
		o = o.with("Dsend-Priority", fmt.Sprint(a.rng.IntN(10)))
	case 2:
		o = o.with("Dsend-Key", fmt.Sprint("key", a.rng.IntN(3)))
	case 3:
		if a.queue == "jobs" {
			o.subject = "jobs.captured"
		}
	}
	return o
}

// consume pulls some messages and answers them.
func (a *actor) consume(c *client) error {
	p, err := c.pull(a.queue, pull{Batch: 1 + a.rng.IntN(10), Expires: 50 * time.Millisecond})
	for _, d := range p.msgs {
		if err := a.handle(d); err != nil {
			return err
		}
	}
	return err
}

// handle answers one delivery: mostly it is done.
func (a *actor) handle(d *delivery) error {
	a.ledger.saw(d)
	answer := ack
	switch n := a.rng.IntN(100); {
	case n < 5:
		return nil // the worker says nothing
	case n < 10:
		answer = nakFor(time.Duration(a.rng.IntN(100)) * time.Millisecond)
	case n < 20:
		answer = `-NAK {"error":"not now"}`
	case n < 25:
		if a.queue != "trash" {
			answer = term + " no use"
		}
	case n < 35:
		if _, err := a.ledger.answer(d, inProgress); err != nil {
			return err
		}
	}
	_, err := a.ledger.answer(d, answer)
	return err
}

// operate looks for messages and kills or removes one; or brings the dead back.
func (a *actor) operate(c *client) error {
	if a.rng.IntN(3) == 0 {
		_, err := a.ledger.replay(c, a.queue)
		return err
	}
	messages, err := c.peek(a.queue)
	if err != nil || len(messages) == 0 {
		return err
	}
	m := messages[a.rng.IntN(len(messages))]
	do := a.ledger.kill
	if a.rng.IntN(2) == 0 {
		do = a.ledger.remove
	}
	if i := a.ledger.item(m); i != nil {
		err = do(c, i, a.queue, m.Seq)
	}
	if isAPIError(err) {
		return nil // somebody else was quicker
	}
	return err
}

// clear purges a part of the queue.
func (a *actor) clear(c *client) error {
	var q queueInfo
	err := c.api("queue.info", args{"queue": a.queue}, &q)
	if err == nil && q.Messages > 10 {
		err = a.ledger.purge(c, a.queue, q.FirstSeq+uint64(a.rng.IntN(10)))
	}
	return err
}
