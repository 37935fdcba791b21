package bridge

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"dsend/bridge/leaf"
	"dsend/durable"
	"dsend/durable/queue"
)

// overhead is what the wire adds to a message at most that is delivered: the
// reply subject and Dsend's headers, in bytes.
const overhead = 512

// Messages turns what came in with one read into ops of the store. It is
// called by the reading goroutine; the messages are valid until it returns.
func (b *Bridge) Messages(msgs []leaf.Msg) {
	in := intake{Bridge: b, ops: make([]queue.Op, 0, len(msgs))}
	in.keep(msgs)
	for _, m := range msgs {
		switch to, name := b.routes.find(m.Subject); to {
		case toPublish:
			in.publish(name, m)
		case toPull:
			in.pull(name, queue.PullConsumer, m)
		case toNext:
			in.pullVia(name, m)
		case toAPI:
			in.api(name, string(m.Reply), bytes.Clone(m.Header), bytes.Clone(m.Payload))
		case toAnswer:
			in.answer(m)
		}
	}
	in.submit()
	b.send(b.complaints)
}

// intake is what one read brought. What must outlive the read is copied into
// one piece of memory.
type intake struct {
	*Bridge
	ops       []queue.Op
	arena     []byte
	publishes []queue.Publish
	answers   []queue.Answer
	bytes     int64 // of publishes
}

// keep makes room for the copies. Of an answer only the reply is kept.
func (in *intake) keep(msgs []leaf.Msg) {
	size, answers := 0, 0
	for i := range msgs {
		m := &msgs[i]
		size += len(m.Reply)
		if bytes.HasPrefix(m.Subject, ackBytes) {
			answers++
		} else {
			size += len(m.Subject) + len(m.Header) + len(m.Payload)
		}
	}
	in.arena = make([]byte, 0, size)
	in.answers = make([]queue.Answer, 0, answers)
	in.publishes = make([]queue.Publish, 0, len(msgs)-answers)
}

// copy keeps bytes beyond the read; nil stays nil.
func (in *intake) copy(b []byte) []byte {
	if b == nil {
		return nil
	}
	start := len(in.arena)
	in.arena = append(in.arena, b...)
	return in.arena[start:len(in.arena):len(in.arena)]
}

// publish takes a message for a queue.
func (in *intake) publish(name string, m leaf.Msg) {
	in.publishes = append(in.publishes, queue.Publish{Queue: name, MaxAttempts: -1})
	p := &in.publishes[len(in.publishes)-1]
	target, err := in.read(p, m)
	if err == nil && target != "" {
		err = in.redirect(p, target)
	}
	switch {
	case err != nil:
		in.refuse(p, m.Reply, badPublish(err))
		return
	case p.Queue == "":
		in.refuse(p, m.Reply, &apiError{404, jsStreamNotFound, "no queue captures subject " + string(m.Subject)})
		return
	case target == "":
		p.Subject = in.copy(m.Subject)
	}
	p.Reply, p.Header, p.Body = in.copy(m.Reply), in.copy(cleanHeader(m.Header)), in.copy(m.Payload)
	in.bytes += int64(len(p.Subject) + len(p.Header) + len(p.Body) + 64)
	in.ops = append(in.ops, p)
}

// read sets what the headers ask for.
func (in *intake) read(p *queue.Publish, m leaf.Msg) (target string, err error) {
	if bytes.HasSuffix(m.Reply, []byte(".$FI")) {
		return "", &optionError{jsFastDisabled, "fast ingest batches are not supported"}
	}
	if m.Header == nil {
		return "", nil
	}
	if err := checkHeader(m.Header); err != nil {
		return "", err
	}
	return readOptions(p, m.Header)
}

// redirect publishes to the target of a schedule.
func (in *intake) redirect(p *queue.Publish, target string) error {
	to, name := in.routes.find([]byte(target))
	if to != toPublish || name == "" {
		return badOption(headerTarget, ": no queue captures %s", target)
	}
	p.Queue, p.Subject = name, []byte(target)
	return nil
}

// refuse answers a publish that the store never sees.
func (in *intake) refuse(p *queue.Publish, reply []byte, err *apiError) {
	if len(reply) > 0 {
		in.complain(reply, nil, appendRefusal(nil, p.Queue, err))
	}
}

func (in *intake) complain(to, header, body []byte) {
	if err := in.complaints.Publish(to, nil, header, body); err != nil {
		in.log.Debug("cannot answer", "to", string(to), "error", err)
	}
}

// pullVia takes a request of the JetStream API, which names queue and consumer.
func (in *intake) pullVia(names string, m leaf.Msg) {
	name, consumer, _ := strings.Cut(names, ".")
	in.pull(name, consumer, m)
}

// pull takes a request for messages.
func (in *intake) pull(name, consumer string, m leaf.Msg) {
	if len(m.Reply) == 0 {
		return // nobody to deliver to
	}
	p := &queue.Pull{Queue: name, Consumer: consumer}
	in.request(p, m.Reply, m.Payload)
	if p.Batch > 0 && in.present(p) {
		in.ops = append(in.ops, p)
	}
}

// request reads what is asked for; Batch is 0 if it was refused.
func (in *intake) request(p *queue.Pull, inbox, body []byte) {
	if err := readPull(p, body); err != nil {
		p.Batch = 0
		in.complain(inbox, []byte("NATS/1.0 "+statusText(queue.StatusBadRequest)+" - "+brief(err.Error())+"\r\n\r\n"), nil)
		return
	}
	p.Inbox, p.Overhead = string(inbox), overhead+len(p.Consumer)
}

// present names the client behind a pull; false if nobody listens on its inbox:
// whoever asked has gone.
func (in *intake) present(p *queue.Pull) bool {
	peer, here := in.audience.pulled(p.Inbox)
	p.Peer = peer
	return here
}

// answer takes what a worker says of a delivery.
func (in *intake) answer(m leaf.Msg) {
	d, err := in.tokens.read(m.Subject)
	if err != nil {
		in.log.Debug("forged answer", "subject", string(m.Subject))
		if len(m.Reply) > 0 {
			in.complain(m.Reply, resultHeader(queue.ResultInvalid), nil)
		}
		return
	}
	in.answers = append(in.answers, queue.Answer{QueueID: d.queueID, Seq: d.seq, Delivery: d.number})
	a := &in.answers[len(in.answers)-1]
	next, more := readAnswer(a, d.pushed, m.Header, m.Payload)
	in.ops = append(in.ops, a)
	if more {
		in.next(a, d, m, next)
	} else {
		a.Reply = in.copy(m.Reply)
	}
}

// next adds the pull of a +NXT to its ack. It goes through the consumer that
// made the delivery.
func (in *intake) next(a *queue.Answer, d delivery, m leaf.Msg, body []byte) {
	if len(m.Reply) == 0 {
		return
	}
	p := &queue.Pull{Consumer: consumerIn(m.Subject)}
	if d.pushed {
		p.Consumer = queue.PullConsumer
	}
	in.request(p, m.Reply, body)
	if p.Batch > 0 && in.present(p) {
		a.Next = p
	}
}

// submit hands the ops over. What the store has no room for is refused.
func (in *intake) submit() {
	if len(in.ops) == 0 {
		return
	}
	err := in.store.Submit(in.ops, in.bytes)
	if err == nil {
		return
	}
	refusal := &apiError{503, jsInsufficient, err.Error()}
	if errors.Is(err, durable.ErrBusy) {
		refusal = &apiError{429, jsTooManyRequests, err.Error()}
	}
	var others []queue.Op
	unheard := 0
	for _, op := range in.ops {
		p, ok := op.(*queue.Publish)
		switch {
		case !ok:
			others = append(others, op)
		case len(p.Reply) == 0:
			unheard++
		default:
			in.refuse(p, p.Reply, refusal)
		}
	}
	in.unheard(unheard, err)
	in.Bridge.submit(others)
}

// unheard says in the log, at most once a second, how many publishes were
// dropped whose producers did not ask for an answer.
func (b *Bridge) unheard(n int, why error) {
	b.dropped += n
	if b.dropped == 0 || time.Since(b.complained) < time.Second {
		return
	}
	b.log.Warn("publishes without a reply subject are dropped", "count", b.dropped, "reason", why)
	b.dropped, b.complained = 0, time.Now()
}
