package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"dsend/dlq"
	"dsend/durable/queue"
)

// Message is a stored message.
type Message struct {
	Queue       string            `json:"queue"`
	Seq         uint64            `json:"seq"`
	State       string            `json:"state" about:"ready, delayed or in_flight"`
	Attempt     uint32            `json:"attempt" about:"of the last delivery; 0 before the first"`
	Priority    uint8             `json:"priority"`
	Key         string            `json:"key"`
	Blocked     bool              `json:"blocked" about:"waits for an earlier message of its key"`
	Replays     uint32            `json:"replays"`
	PublishedAt *time.Time        `json:"published_at"`
	ReadyAt     *time.Time        `json:"ready_at" about:"of a delayed message"`
	Deadline    *time.Time        `json:"deadline" about:"of a message in flight"`
	ExpiresAt   *time.Time        `json:"expires_at"`
	Worker      string            `json:"worker" about:"who has it in flight"`
	History     []dlq.AttemptView `json:"history" about:"the last attempts that ended, oldest first"`
	Letter      *dlq.LetterView   `json:"letter" about:"of a dead letter: why it died"`
	Subject     string            `json:"subject"`
	Content
}

func viewMessage(e queue.Entry, m queue.Message, offset, most int) Message {
	v := Message{
		Queue: e.Queue, Seq: e.Seq, State: e.Phase.String(), Attempt: e.Attempt, Priority: e.Priority, Key: e.Key,
		Blocked: e.Blocked, Replays: e.Replays, PublishedAt: clock(e.At), ExpiresAt: clock(e.Expires), Worker: e.Worker,
		History: []dlq.AttemptView{}, Subject: string(m.Subject), Content: content(m.Header, m.Body, offset, most),
	}
	switch e.Phase {
	case queue.Delayed:
		v.ReadyAt = clock(e.Due)
	case queue.InFlight:
		v.Deadline = clock(e.Due)
	}
	for a := range e.History.All() {
		v.History = append(v.History, a.View())
	}
	if e.Letter != nil {
		letter := addressed(e.Letter, m).View()
		v.Letter = &letter
	}
	return v
}

// addressed is a letter with the subject that its message was published on.
func addressed(l *dlq.Letter, m queue.Message) *dlq.Letter {
	letter := *l
	letter.OriginSubject = string(m.Subject)
	return &letter
}

// read reads the message of an entry. If it moved in the log meanwhile it is
// looked for again; ok is false if it is gone.
func (s *Service) read(ctx context.Context, e queue.Entry) (m queue.Message, ok bool, err error) {
	for range 3 {
		if m, err = s.store.Message(ctx, e); !isGone(err) {
			return m, err == nil, err
		}
		now, found, err := s.entry(ctx, e.Queue, e.Seq)
		if err != nil || !found {
			return m, false, err
		}
		e = now
	}
	return m, false, err
}

func isGone(err error) bool {
	var refusal *queue.Error
	return errors.As(err, &refusal) && refusal.Code == queue.NoMessage
}

func (s *Service) entry(ctx context.Context, name string, seq uint64) (e queue.Entry, ok bool, err error) {
	entries, err := s.store.List(ctx, queue.List{Queue: name, From: seq, Limit: 1})
	if err != nil || len(entries) == 0 || entries[0].Seq != seq {
		return e, false, err
	}
	return entries[0], true, nil
}

// find is entry and read, with an error if the message is not there.
func (s *Service) find(ctx context.Context, name string, seq uint64) (queue.Entry, queue.Message, error) {
	e, ok, err := s.entry(ctx, name, seq)
	var m queue.Message
	if ok {
		m, ok, err = s.read(ctx, e)
	}
	if err == nil && !ok {
		err = &queue.Error{Code: queue.NoMessage, Text: fmt.Sprintf("there is no message %d in queue %s", seq, name)}
	}
	return e, m, err
}

// MaxPage is how many items a page has at most, and how many if nothing is said.
const MaxPage = 1000

func atMost(limit, most int) int {
	if limit <= 0 {
		return most
	}
	return min(limit, most)
}

// PeekRequest asks for a page of messages.
type PeekRequest struct {
	Queue   string `json:"queue"`
	From    uint64 `json:"from,omitempty" about:"the first sequence; next of the page before"`
	Limit   int    `json:"limit,omitempty" about:"messages at most; 0 is 1000, the most"`
	State   string `json:"state,omitempty" about:"only ready, delayed or in_flight"`
	MaxData int    `json:"max_data,omitempty" about:"bytes of each body at most; 0 is none, -1 all"`
}

func (r PeekRequest) check() error {
	if _, err := phase(r.State); err != nil {
		return err
	}
	return cmp.Or(named(r.Queue), notNegative("limit", r.Limit))
}

func phase(state string) (queue.Phase, error) {
	for _, p := range []queue.Phase{0, queue.Ready, queue.Delayed, queue.InFlight} {
		if state == p.String() {
			return p, nil
		}
	}
	return 0, fmt.Errorf("state %q is not one of ready, delayed, in_flight", state)
}

func notNegative(field string, n int) error {
	if n < 0 {
		return fmt.Errorf("%s %d is negative", field, n)
	}
	return nil
}

// PeekAnswer is a page of messages.
type PeekAnswer struct {
	Messages []Message `json:"messages"`
	Next     uint64    `json:"next" about:"from of the next page"`
	More     bool      `json:"more"`
}

func (s *Service) queuePeek(ctx context.Context, req PeekRequest) (PeekAnswer, error) {
	phase, err := phase(req.State)
	if err != nil {
		return PeekAnswer{}, err
	}
	limit := atMost(req.Limit, MaxPage)
	entries, err := s.store.List(ctx, queue.List{Queue: req.Queue, From: req.From, Limit: limit, Phase: phase})
	if err != nil {
		return PeekAnswer{}, err
	}
	page, end := newPage[Message](s.room()), halftime(ctx)
	for _, e := range entries {
		m, ok, err := s.read(ctx, e)
		if err != nil {
			return PeekAnswer{}, err
		}
		full := ok && !page.add(s.fitted(viewMessage(e, m, 0, most(req.MaxData))))
		if full || time.Now().After(end) {
			return PeekAnswer{page.items, e.Seq + next(full), true}, nil
		}
	}
	return PeekAnswer{page.items, after(entries, req.From), len(entries) == limit}, nil
}

// halftime is when a page has taken long enough: what was gathered must still be
// sent, and one more message may be slow.
func halftime(ctx context.Context) time.Time {
	now := time.Now()
	deadline, ok := ctx.Deadline()
	if !ok {
		return now.Add(DefaultTimeout / 2)
	}
	return now.Add(deadline.Sub(now) / 2)
}

// next is the step to the sequence that the next page begins with.
func next(again bool) uint64 {
	if again {
		return 0
	}
	return 1
}

func after(entries []queue.Entry, from uint64) uint64 {
	if len(entries) == 0 {
		return from
	}
	return entries[len(entries)-1].Seq + 1
}

// most is how much of a body max_data asks for.
func most(maxData int) int {
	if maxData < 0 {
		return math.MaxInt
	}
	return maxData
}

// fitted cuts the body of a message that would be too large for any answer.
func (s *Service) fitted(m Message) Message {
	m.fit(len(inline(m)), s.room()-margin)
	return m
}

// GetRequest asks for one message.
type GetRequest struct {
	Queue     string `json:"queue"`
	Seq       uint64 `json:"seq"`
	Offset    int    `json:"offset,omitempty" about:"where in the body data begins"`
	NoHeaders bool   `json:"no_headers,omitempty" about:"leave room for the body"`
}

func (r GetRequest) check() error {
	return cmp.Or(named(r.Queue), notNegative("offset", r.Offset))
}

func (s *Service) msgGet(ctx context.Context, req GetRequest) (Message, error) {
	e, m, err := s.find(ctx, req.Queue, req.Seq)
	if err != nil {
		return Message{}, err
	}
	if req.NoHeaders {
		m.Header = nil
	}
	return s.fitted(viewMessage(e, m, req.Offset, math.MaxInt)), nil
}

// MessageRequest names a message.
type MessageRequest struct {
	Queue string `json:"queue"`
	Seq   uint64 `json:"seq"`
}

func (r MessageRequest) check() error { return named(r.Queue) }

func (s *Service) msgRm(ctx context.Context, req MessageRequest) (Removed, error) {
	_, err := s.do(ctx, &queue.Delete{Name: req.Queue, Seq: req.Seq})
	return Removed{req.Queue, 1}, err
}

// KillRequest names a message that shall die.
type KillRequest struct {
	Queue string `json:"queue"`
	Seq   uint64 `json:"seq"`
	Error string `json:"error,omitempty" about:"why; kept with the dead letter"`
}

func (r KillRequest) check() error { return named(r.Queue) }

// Killed tells of a message that was moved to the dead-letter queue.
type Killed struct {
	Queue string `json:"queue"`
	Seq   uint64 `json:"seq"`
	DLQ   string `json:"dlq"`
}

func (s *Service) msgKill(ctx context.Context, req KillRequest) (Killed, error) {
	i, err := s.store.Info(ctx, req.Queue)
	if err != nil {
		return Killed{}, err
	}
	_, err = s.do(ctx, &queue.Kill{Name: req.Queue, Seq: req.Seq, Error: req.Error})
	return Killed{req.Queue, req.Seq, i.Settings.DLQName(req.Queue)}, err
}
