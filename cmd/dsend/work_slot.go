package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// slot pulls one message at a time and has it worked on. It has an inbox of its
// own for all its life: as long as somebody listens there, Dsend knows that the
// worker lives.
type slot struct {
	*work
	inbox string
	sub   *nats.Subscription
	asked bool // a pull is out that has neither brought a message nor ended
}

// How a slot asks for messages. A pull that brings no sign of life for two
// heartbeats is asked anew.
const (
	pullExpires   = 30 * time.Second
	pullHeartbeat = 5 * time.Second
	pullSilence   = 2*pullHeartbeat + time.Second
	pullPause     = time.Second // after an end that is no end of waiting
)

// errEmpty ends a slot that was to stop when nothing is ready.
var errEmpty = errors.New("nothing is ready")

func newSlot(w *work) (*slot, error) {
	inbox := w.link.NewInbox()
	sub, err := w.link.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", w.link.url, plain(err))
	}
	return &slot{work: w, inbox: inbox, sub: sub}, nil
}

// run works until no more messages are wanted, and gives back what comes after
// that.
func (s *slot) run() {
	for s.pulling.Err() == nil && s.ticket() {
		m, err := s.next()
		if m == nil {
			s.refund()
		} else {
			s.handle(m)
		}
		if errors.Is(err, errEmpty) {
			break
		}
		if err != nil {
			s.stopPull(err)
		}
	}
	s.leave()
}

// next waits for a message. Without one, and without an error, it is to be asked
// again.
func (s *slot) next() (*nats.Msg, error) {
	if !s.asked {
		if err := s.ask(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(s.pulling, pullSilence)
	defer cancel()
	m, err := s.sub.NextMsgWithContext(ctx)
	switch {
	case s.pulling.Err() != nil && m == nil:
		return nil, nil
	case errors.Is(err, context.DeadlineExceeded):
		s.asked = false
		return nil, nil
	case errors.Is(err, nats.ErrNoResponders):
		s.asked = false
		return nil, s.nobody()
	case err != nil:
		return nil, fmt.Errorf("the connection to %s was lost: %s", s.link.url, plain(err))
	case m.Reply != "":
		s.asked = false
		s.served.Store(true)
		return m, nil
	}
	return nil, s.status(m)
}

// ask sends a pull.
func (s *slot) ask() error {
	body := fmt.Sprintf(`{"batch":1,"expires":%d,"idle_heartbeat":%d}`, pullExpires, pullHeartbeat)
	if s.stopWhenEmpty {
		body = `{"batch":1,"no_wait":true}`
	}
	if err := s.link.PublishRequest(s.link.prefix+".pull."+s.queue, s.inbox, []byte(body)); err != nil {
		return fmt.Errorf("the connection to %s was lost: %s", s.link.url, plain(err))
	}
	s.asked = true
	return nil
}

// status takes a message that is none: a heartbeat, or how the pull ended.
func (s *slot) status(m *nats.Msg) error {
	code, text := m.Header.Get("Status"), m.Header.Get("Description")
	s.served.Store(true)
	if code == "100" {
		return nil
	}
	s.asked = false
	switch {
	case code == "404" && text == "No Messages":
		if s.stopWhenEmpty {
			return errEmpty
		}
	case code == "404":
		return fmt.Errorf("there is no queue %s", s.queue)
	case code == "400":
		return fmt.Errorf("queue %s: %s", s.queue, text)
	case code == "409":
		s.pause()
	}
	return nil
}

// nobody is what to do when there is no Dsend: an error at first, patience once
// it has been there.
func (s *slot) nobody() error {
	if !s.served.Load() {
		return fmt.Errorf("no Dsend answers at %s (nobody is there for %s.pull.%s)", s.link.url, s.link.prefix, s.queue)
	}
	s.pause()
	return nil
}

func (s *slot) pause() {
	t := time.NewTimer(pullPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.pulling.Done():
	}
}

// leave ends the inbox and gives back what was on its way.
func (s *slot) leave() {
	if !s.asked {
		_ = s.sub.Unsubscribe() // fails only if the connection is gone
		return
	}
	if s.sub.Drain() != nil {
		return // the connection is gone
	}
	for {
		m, err := s.sub.NextMsg(s.link.timeout)
		if err != nil {
			return
		}
		if m.Reply != "" {
			s.giveBack(m)
		}
	}
}
