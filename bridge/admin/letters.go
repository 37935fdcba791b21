package admin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"dsend/dlq"
	"dsend/durable/queue"
)

// Letter is a dead letter, by its place in the dead-letter queue.
type Letter struct {
	DLQ   string `json:"dlq"`
	Seq   uint64 `json:"seq" about:"in the dead-letter queue"`
	State string `json:"state" about:"there: ready, delayed or in_flight"`
	dlq.LetterView
	Error string `json:"error"` // also when empty
	Content
}

func viewLetter(e queue.Entry, m queue.Message, most int) Letter {
	view := addressed(e.Letter, m).View()
	return Letter{e.Queue, e.Seq, e.Phase.String(), view, view.Error, content(m.Header, m.Body, 0, most)}
}

// box is the dead-letter queue that a name stands for.
type box struct {
	dlq    string
	exists bool
	origin string // only the letters of this queue; empty is all
	last   uint64 // the last number given out
}

// box finds it: a dead-letter queue by its own name stands for all its letters,
// any other queue for its own letters in its dead-letter queue, also when the
// queue itself has been removed.
func (s *Service) box(ctx context.Context, name string) (box, error) {
	infos, err := s.store.Infos(ctx)
	if err != nil {
		return box{}, err
	}
	find := func(name string) (queue.Info, bool) {
		for _, i := range infos {
			if i.Name == name {
				return i, true
			}
		}
		return queue.Info{}, false
	}
	takes := func(i queue.Info) bool { return i.Settings.DeadLetter.Enabled && i.Settings.DLQName(i.Name) == name }
	asked, exists := find(name)
	if exists && (asked.Letters > 0 || slices.ContainsFunc(infos, takes)) {
		return box{dlq: name, exists: true, last: asked.LastSeq}, nil
	}
	home := asked.Settings.DLQName(name)
	held, there := find(home)
	switch {
	case there:
		return box{dlq: home, exists: true, origin: name, last: held.LastSeq}, nil
	case !exists:
		return box{}, &queue.Error{Code: queue.NoQueue, Text: "there is no queue " + name}
	case !asked.Settings.DeadLetter.Enabled:
		return box{}, &queue.Error{Code: queue.NoDLQ, Text: "queue " + name + " keeps no dead letters (dead_letter.enabled is false)"}
	}
	return box{dlq: home, origin: name}, nil
}

// Pick says which dead letters, and how far through them.
type Pick struct {
	Queue   string     `json:"queue" about:"whose letters, or a dead-letter queue"`
	Filter  dlq.Filter `json:"filter,omitzero" about:"reasons, error, subject, older_than, newer_than, first_seq, last_seq, origin_queue"`
	From    uint64     `json:"from,omitempty" about:"the first sequence; next of the page before"`
	Through uint64     `json:"through,omitempty" about:"the last sequence; the first page says it"`
	Began   *time.Time `json:"began,omitempty" about:"ages are reckoned from here; the first page says it"`
	Limit   int        `json:"limit,omitempty" about:"letters at most; 0 is 1000, the most"`
}

func (p Pick) check() error {
	return cmp.Or(named(p.Queue), notNegative("limit", p.Limit), p.Filter.Validate())
}

// Progress is how far a page came.
type Progress struct {
	DLQ     string     `json:"dlq"`
	Through uint64     `json:"through"`
	Began   *time.Time `json:"began"`
	Next    uint64     `json:"next" about:"from of the next page"`
	More    bool       `json:"more"`
}

// walk visits the letters of a page in order, until visit says that it has no
// more room (the letter comes again in the next page), the limit, the end or
// half the request's time is reached.
func (s *Service) walk(ctx context.Context, pick Pick, visit func(queue.Entry, queue.Message) (room bool, err error)) (Progress, error) {
	b, err := s.box(ctx, pick.Queue)
	if err != nil {
		return Progress{}, err
	}
	p, filter, err := s.begin(pick, b)
	if err != nil || !b.exists {
		return p, err
	}
	limit, end := atMost(pick.Limit, MaxPage), halftime(ctx)
	for visited := 0; p.Next <= p.Through; {
		entries, err := s.store.List(ctx, queue.List{Queue: b.dlq, From: p.Next, Limit: MaxPage})
		if err != nil || len(entries) == 0 {
			return p, err
		}
		for _, e := range entries {
			if p.More = e.Seq <= p.Through; !p.More {
				return p, nil
			}
			m, ok, err := s.picked(ctx, e, filter, p.Began.UnixNano())
			if err != nil {
				return p, err
			}
			if ok {
				room, err := visit(e, m)
				if err != nil || !room {
					return p, err
				}
				visited++
			}
			p.Next = e.Seq + 1
			if p.More = p.Next <= p.Through; visited == limit || time.Now().After(end) {
				return p, nil
			}
		}
		p.More = false
	}
	return p, nil
}

// begin is where a page begins, and its filter.
func (s *Service) begin(pick Pick, b box) (Progress, dlq.Filter, error) {
	p := Progress{DLQ: b.dlq, Through: pick.Through, Began: pick.Began}
	if p.Through == 0 {
		p.Through = b.last
	}
	if p.Began == nil {
		p.Began = clock(s.store.Now().UnixNano())
	}
	f := pick.Filter
	if b.origin != "" {
		if f.OriginQueue != "" && f.OriginQueue != b.origin {
			return p, f, badRequest("origin_queue is %s, but the letters asked for are those of %s", f.OriginQueue, b.origin)
		}
		f.OriginQueue = b.origin
	}
	if f.LastSeq > 0 {
		p.Through = min(p.Through, f.LastSeq)
	}
	p.Next = max(pick.From, f.FirstSeq, 1)
	return p, f, nil
}

// picked reads the message of an entry if the filter picks it.
func (s *Service) picked(ctx context.Context, e queue.Entry, f dlq.Filter, began int64) (m queue.Message, ok bool, err error) {
	unread := f
	unread.Subject = "" // it is known when the message is
	if e.Letter == nil || !unread.Match(e.Seq, e.Letter, began) {
		return m, false, nil
	}
	if m, ok, err = s.read(ctx, e); !ok {
		return m, false, err
	}
	return m, f.Match(e.Seq, addressed(e.Letter, m), began), nil
}

// DLQLsRequest asks for a page of dead letters.
type DLQLsRequest struct {
	Pick
	MaxData int `json:"max_data,omitempty" about:"bytes of each body at most; 0 is none, -1 all"`
}

// DLQLsAnswer is a page of dead letters.
type DLQLsAnswer struct {
	Letters []Letter `json:"letters"`
	Progress
}

func (s *Service) dlqLs(ctx context.Context, req DLQLsRequest) (DLQLsAnswer, error) {
	page := newPage[Letter](s.room())
	progress, err := s.walk(ctx, req.Pick, func(e queue.Entry, m queue.Message) (bool, error) {
		letter := viewLetter(e, m, most(req.MaxData))
		letter.fit(len(inline(letter)), s.room()-margin)
		return page.add(letter), nil
	})
	return DLQLsAnswer{page.items, progress}, err
}

func (s *Service) dlqShow(ctx context.Context, req MessageRequest) (Letter, error) {
	b, err := s.box(ctx, req.Queue)
	if err != nil {
		return Letter{}, err
	}
	e, m, err := s.find(ctx, b.dlq, req.Seq)
	if err != nil {
		return Letter{}, err
	}
	if e.Letter == nil || b.origin != "" && e.Letter.OriginQueue != b.origin {
		return Letter{}, &queue.Error{Code: queue.NotDead, Text: fmt.Sprintf("message %d of queue %s is not a dead letter of %s", req.Seq, b.dlq, req.Queue)}
	}
	letter := viewLetter(e, m, math.MaxInt)
	letter.fit(len(inline(letter)), s.room()-margin)
	return letter, nil
}

// DLQGroupsAnswer is the causes of a page of dead letters. Groups of several
// pages with equal reason, error and subject are one.
type DLQGroupsAnswer struct {
	Groups  []dlq.GroupView `json:"groups"`
	Letters int             `json:"letters" about:"in all groups"`
	Progress
}

// maxGroups bounds the causes of one page; each is a few KiB at most.
const maxGroups = 100

func (s *Service) dlqGroups(ctx context.Context, pick Pick) (DLQGroupsAnswer, error) {
	var groups dlq.Groups
	answer := DLQGroupsAnswer{Groups: []dlq.GroupView{}}
	var err error
	answer.Progress, err = s.walk(ctx, pick, func(e queue.Entry, m queue.Message) (bool, error) {
		groups.Add(e.Seq, addressed(e.Letter, m))
		answer.Letters++
		return true, nil
	})
	for _, g := range groups.Sorted() {
		answer.Groups = append(answer.Groups, g.View())
	}
	return answer, err
}
