package admin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"dsend/durable/queue"
)

// Queue is a queue at one moment.
type Queue struct {
	Name       string     `json:"name"`
	Paused     bool       `json:"paused"`
	Undeclared bool       `json:"undeclared" about:"taken out of the configuration file: publishes are refused"`
	Source     string     `json:"source" about:"who declared it: file, api or use"`
	CreatedAt  *time.Time `json:"created_at"`

	Messages int64 `json:"messages" about:"ready, delayed and in flight"`
	Ready    int64 `json:"ready"`
	Delayed  int64 `json:"delayed"`
	InFlight int64 `json:"in_flight"`
	Dead     int64 `json:"dead" about:"messages of this queue that are dead letters"`
	Letters  int64 `json:"letters" about:"dead letters, of any queue, that are held here"`
	Bytes    int64 `json:"bytes" about:"stored, with headers and what the log adds"`

	FirstSeq       uint64        `json:"first_seq"`
	LastSeq        uint64        `json:"last_seq" about:"the last number given out"`
	OldestReadyAt  *time.Time    `json:"oldest_ready_at" about:"publish time of the oldest ready message"`
	OldestReadyAge time.Duration `json:"oldest_ready_age"`
	WaitingPulls   int           `json:"waiting_pulls"`
	Workers        int           `json:"workers" about:"members of push groups"`

	VisibilityTimeout time.Duration `json:"visibility_timeout" about:"in force now, also if it is automatic"`

	DeadLetterQueue string   `json:"dead_letter_queue" about:"empty if dead messages are dropped"`
	Totals          Totals   `json:"totals"`
	Settings        Settings `json:"settings"`
}

// Totals count what happened in a queue since the process started.
type Totals struct {
	Published   uint64            `json:"published"`
	Duplicates  uint64            `json:"duplicates"`
	Refused     uint64            `json:"refused"`
	Delivered   uint64            `json:"delivered"`
	Acked       uint64            `json:"acked"`
	Naked       uint64            `json:"naked"`
	TimedOut    uint64            `json:"timed_out"`
	Gone        uint64            `json:"gone" about:"deliveries whose worker went away"`
	GivenBack   uint64            `json:"given_back"`
	Terminated  uint64            `json:"terminated"`
	Extended    uint64            `json:"extended"`
	Late        uint64            `json:"late"`
	Stale       uint64            `json:"stale"`
	GoneAnswers uint64            `json:"gone_answers" about:"answers for a message that was done or removed"`
	Invalid     uint64            `json:"invalid"`
	Died        map[string]uint64 `json:"died" about:"by reason"`
	Dropped     uint64            `json:"dropped"`
	Replayed    uint64            `json:"replayed"`
	Removed     uint64            `json:"removed"`
}

func viewQueue(i queue.Info, now time.Time) Queue {
	q := Queue{
		Name: i.Name, Paused: i.Paused, Undeclared: i.Orphan, Source: source(i.Source), CreatedAt: clock(i.Created),
		Messages: i.Ready + i.Delayed + i.InFlight, Ready: i.Ready, Delayed: i.Delayed, InFlight: i.InFlight,
		Dead: i.Dead, Letters: i.Letters, Bytes: i.Bytes, FirstSeq: i.FirstSeq, LastSeq: i.LastSeq,
		OldestReadyAt: clock(i.OldestReady), OldestReadyAge: oldestAge(i, now),
		WaitingPulls: i.WaitingPulls, Workers: i.Workers, VisibilityTimeout: i.Visibility,
		Totals: viewTotals(i.Totals), Settings: viewSettings(i.Settings),
	}
	if i.Settings.DeadLetter.Enabled {
		q.DeadLetterQueue = i.Settings.DLQName(i.Name)
	}
	return q
}

func viewTotals(t queue.Totals) Totals {
	return Totals{
		t.Published, t.Duplicates, t.Refused, t.Delivered, t.Acked, t.Naked, t.TimedOut, t.Gone,
		t.GivenBack, t.Terminated, t.Extended, t.Late, t.Stale, t.GoneAnswers, t.Invalid,
		died(t), t.Dropped, t.Replayed, t.Removed,
	}
}

// died has every reason, also those nothing died of.
func died(t queue.Totals) map[string]uint64 {
	by := map[string]uint64{}
	for r, n := range t.Died {
		if word, ok := reasonWord(r); ok {
			by[word] = n
		}
	}
	return by
}

func oldestAge(i queue.Info, now time.Time) time.Duration {
	if i.OldestReady == 0 {
		return 0
	}
	return queue.Age(now.UnixNano(), i.OldestReady)
}

func source(s queue.Source) string {
	switch s {
	case queue.FromFile:
		return "file"
	case queue.FromAPI:
		return "api"
	}
	return "use"
}

// clock is a time in ns as JSON has it; 0 is null.
func clock(ns int64) *time.Time {
	if ns == 0 {
		return nil
	}
	t := time.Unix(0, ns).UTC()
	return &t
}

// QueueLsRequest asks for a page of queues.
type QueueLsRequest struct {
	// After is the last name of the page before.
	After string `json:"after,omitempty" about:"the last name of the page before"`
}

// QueueLsAnswer is a page of queues.
type QueueLsAnswer struct {
	Queues []Queue `json:"queues"`
	More   bool    `json:"more" about:"ask again with after: the last name"`
}

func (s *Service) queueLs(ctx context.Context, req QueueLsRequest) (QueueLsAnswer, error) {
	infos, err := s.store.Infos(ctx)
	if err != nil {
		return QueueLsAnswer{}, err
	}
	from, found := slices.BinarySearchFunc(infos, req.After, func(i queue.Info, name string) int {
		return strings.Compare(i.Name, name)
	})
	if found {
		from++
	}
	now, page := s.store.Now(), newPage[Queue](s.room())
	for _, i := range infos[from:] {
		if !page.add(viewQueue(i, now)) {
			return QueueLsAnswer{page.items, true}, nil
		}
	}
	return QueueLsAnswer{page.items, false}, nil
}

// QueueRequest names a queue.
type QueueRequest struct {
	Queue string `json:"queue"`
}

func (r QueueRequest) check() error { return named(r.Queue) }

func named(queue string) error {
	if queue == "" {
		return errors.New("queue is missing")
	}
	return nil
}

func (s *Service) queueInfo(ctx context.Context, req QueueRequest) (Queue, error) {
	i, err := s.store.Info(ctx, req.Queue)
	if err != nil {
		return Queue{}, err
	}
	return viewQueue(i, s.store.Now()), nil
}

func (s *Service) queuePause(ctx context.Context, req QueueRequest) (Queue, error) {
	return s.pause(ctx, req, true)
}

func (s *Service) queueResume(ctx context.Context, req QueueRequest) (Queue, error) {
	return s.pause(ctx, req, false)
}

func (s *Service) pause(ctx context.Context, req QueueRequest, pause bool) (Queue, error) {
	if _, err := s.do(ctx, &queue.Pause{Name: req.Queue, Pause: pause}); err != nil {
		return Queue{}, err
	}
	return s.queueInfo(ctx, req)
}

// do has an op done; a refusal is an error like others.
func (s *Service) do(ctx context.Context, op queue.Op) (queue.Reply, error) {
	reply, err := s.store.Do(ctx, op)
	if err == nil && reply.Err != nil {
		err = reply.Err
	}
	return reply, err
}

// PurgeRequest asks to remove messages of a queue.
type PurgeRequest struct {
	Queue string `json:"queue"`
	Keep  uint64 `json:"keep,omitempty" about:"leave this many of the newest"`
	Upto  uint64 `json:"upto,omitempty" about:"remove only sequences up to this one"`
}

func (r PurgeRequest) check() error { return named(r.Queue) }

// Removed tells what is gone.
type Removed struct {
	Queue   string `json:"queue"`
	Removed int    `json:"removed" about:"messages"`
}

func (r Removed) outcome() []any { return []any{"removed", r.Removed} }

func (s *Service) queuePurge(ctx context.Context, req PurgeRequest) (Removed, error) {
	reply, err := s.do(ctx, &queue.Purge{Name: req.Queue, Keep: req.Keep, Upto: req.Upto})
	return Removed{req.Queue, reply.Count}, err
}

func (s *Service) queueRm(ctx context.Context, req QueueRequest) (Removed, error) {
	reply, err := s.do(ctx, &queue.Remove{Name: req.Queue})
	return Removed{req.Queue, reply.Count}, err
}

// ReloadRequest asks to read the configuration again.
type ReloadRequest struct{}

// Reloaded tells what a reload changed.
type Reloaded struct {
	Changes []string `json:"changes" about:"a line each; empty if nothing changed"`
}

func (r Reloaded) outcome() []any { return []any{"changes", len(r.Changes)} }

func (s *Service) reload(ctx context.Context, _ ReloadRequest) (Reloaded, error) {
	if s.cfg.Reload == nil {
		return Reloaded{}, &Problem{409, "no_configuration", "there is no configuration file to reload"}
	}
	changes, err := s.cfg.Reload(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		err = &Problem{409, "refused", err.Error()}
	}
	return Reloaded{append([]string{}, changes...)}, err
}
