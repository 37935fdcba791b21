package durable

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"dsend/durable/queue"
)

// promise is what clients were told: it must hold after a crash at any moment.
// Bodies are unique and name the messages.
type promise struct {
	asked  map[string]bool // handed over
	stored map[string]bool // the publish was confirmed
	ending map[string]bool // the end was asked for
	ended  map[string]bool // the end was confirmed
}

func newPromise() promise {
	return promise{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
}

// keeps gives what is wrong with the messages that are there after a crash.
func (p promise) keeps(there map[string]int) error {
	for body := range p.stored {
		if there[body] == 0 && !p.ending[body] {
			return fmt.Errorf("lost: %.20q was confirmed, and nobody asked for its end", body)
		}
	}
	for body, n := range there {
		switch {
		case p.ended[body]:
			return fmt.Errorf("resurrected: the end of %.20q was confirmed", body)
		case !p.asked[body]:
			return fmt.Errorf("from nowhere: %.20q", body)
		case n > 1:
			return fmt.Errorf("%.20q is there %d times", body, n)
		}
	}
	return nil
}

// client is a Speaker that knows what is promised. It puts the body a message
// has into the Reply of what is submitted of it.
type client struct {
	mu       sync.Mutex
	p        promise
	answered int      // publishes
	known    []known  // messages that were stored in q
	held     []Spoken // deliveries that may be answered, late ones too
	dead     []uint64 // numbers in the DLQ
}

type known struct {
	seq  uint64
	body string
}

func newClient() *client { return &client{p: newPromise()} }

// promised gives what is promised at this moment, for a crash that comes now.
func (c *client) promised() promise {
	c.mu.Lock()
	defer c.mu.Unlock()
	return promise{maps.Clone(c.p.asked), maps.Clone(c.p.stored), maps.Clone(c.p.ending), maps.Clone(c.p.ended)}
}

// asks notes, before it is submitted, what an op asks for.
func (c *client) asks(op queue.Op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch op := op.(type) {
	case *queue.Publish:
		c.p.asked[string(op.Reply)] = true
	case *queue.Answer:
		if op.Verb == queue.Ack {
			c.p.ending[string(op.Reply)] = true
		}
	case *queue.Delete:
		c.p.ending[c.body(op.Seq)] = true
	case *queue.Purge, *queue.Remove: // of queue p
		for body := range c.p.asked {
			if body[0] == 'p' {
				c.p.ending[body] = true
			}
		}
	}
}

// body gives the body of a message of q.
func (c *client) body(seq uint64) string {
	for _, k := range c.known {
		if k.seq == seq {
			return k.body
		}
	}
	return ""
}

// message gives the number of one that was stored in q; false if there is none.
func (c *client) message(i int) (seq uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) == 0 {
		return 0, false
	}
	return c.known[i%len(c.known)].seq, true
}

func (c *client) Replies(all []queue.Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range all {
		switch op := r.Op.(type) {
		case *queue.Publish:
			c.answered++
			if r.Err == nil && !r.Duplicate {
				c.p.stored[string(op.Reply)] = true
				if op.Queue == "q" {
					c.known = append(c.known, known{r.Seq, string(op.Reply)})
				}
			}
		case *queue.Delete:
			if r.Err == nil {
				c.p.ended[c.body(op.Seq)] = true
			}
		case *queue.Answer:
			if op.Verb == queue.Ack && (r.Result == queue.ResultOK || r.Result == queue.ResultLate) {
				c.p.ended[string(op.Reply)] = true
			}
		}
	}
}

func (c *client) Speak(all []Spoken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range all {
		if s.Status == 0 {
			copied := *s.Speech
			s.Speech = &copied
			if s.Letter != nil && s.Letter.OriginQueue != "q" { // nobody else may be writing it
				panic("a letter from nowhere")
			}
			s.Message = owned(s.Message)
			c.held = append(c.held, s)
		}
	}
}

func (c *client) Events(all []Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range all {
		if e.Kind == queue.EventDied {
			if e.Letter.OriginQueue != "q" {
				panic("a letter from nowhere")
			}
			c.dead = append(c.dead, e.DLQSeq)
		}
	}
}

func (c *client) Changed([]queue.Info) {}

// delivery gives one that may be answered; false if there is none.
func (c *client) delivery(i int) (Spoken, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.held) == 0 {
		return Spoken{}, false
	}
	return c.held[i%len(c.held)], true
}

// letter gives the number of one that has died; 0 if there is none.
func (c *client) letter(i int) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.dead) == 0 {
		return 0
	}
	return c.dead[i%len(c.dead)]
}

// recovered gives the messages that a log holds, by body, and proves that the
// State that it makes is sound.
func recovered(log Log) (there map[string]int, err error) {
	state := queue.New(queue.Config{})
	var out queue.Out
	err = log.Recover(func(commit uint64, data []byte) error {
		defer out.Reset()
		return state.Recover(commit, data, &out)
	})
	if err == nil {
		err = state.Recovered()
	}
	if err == nil {
		err = state.Check()
	}
	there = map[string]int{}
	for _, info := range state.Infos() {
		all, refused := state.List(queue.List{Queue: info.Name})
		if refused != nil {
			return nil, refused
		}
		for _, e := range all {
			data := make([]byte, e.Size)
			if err := log.Read(e.Place.Commit, e.Place.Offset, data); err != nil {
				return nil, err
			}
			m, err := queue.DecodeMessage(data)
			if err != nil {
				return nil, err
			}
			there[string(m.Body)]++
		}
	}
	return there, err
}

// kept proves a promise against what a log holds.
func (p promise) kept(log Log) error {
	there, err := recovered(log)
	if err != nil {
		return err
	}
	if err := p.keeps(there); err != nil {
		return fmt.Errorf("%w; there are %.200v", err, slices.Sorted(maps.Keys(there)))
	}
	return nil
}
