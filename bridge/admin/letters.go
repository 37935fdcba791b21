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
	Error string `json:"error"` // also when empty
	dlq.LetterView
	Content
}

func viewLetter(e queue.Entry, m queue.Message, most int) Letter {
	view := addressed(e.Letter, m).View()
	return Letter{e.Queue, e.Seq, e.Phase.String(), view.Error, view, content(m.Header, m.Body, 0, most)}
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

// walk goes through the letters of a page.
type walk struct {
	Progress
	filter dlq.Filter
	read   bool      // the messages of the letters are wanted
	left   int       // letters that may still be visited
	end    time.Time // when the page has taken long enough
}

// visit does something with a letter. If it has no room for it, the letter comes
// again in the next page.
type visit func(queue.Entry, queue.Message) (room bool, err error)

// Whether visits need the messages of the letters, or come without them.
const (
	withMessage = true
	bare        = false
)

// walk visits the letters of a page in order, until there is no more room, or the
// limit, the end, or half the request's time is reached.
func (s *Service) walk(ctx context.Context, pick Pick, read bool, do visit) (Progress, error) {
	w, err := s.begin(ctx, pick)
	w.read = read || pick.Filter.Subject != ""
	for err == nil && w.More {
		var entries []queue.Entry
		entries, err = s.store.List(ctx, queue.List{Queue: w.DLQ, From: w.Next, Limit: MaxPage})
		w.More = len(entries) > 0
		for i, on := 0, true; err == nil && on && i < len(entries); i++ {
			if on, err = s.step(ctx, w, entries[i], do); !on {
				return w.Progress, err
			}
		}
	}
	return w.Progress, err
}

// step visits one message, if it is a letter that was picked, and tells whether
// the page goes on.
func (s *Service) step(ctx context.Context, w *walk, e queue.Entry, do visit) (on bool, err error) {
	if w.More = e.Seq <= w.Through; !w.More {
		return false, nil
	}
	m, ok, err := s.picked(ctx, w, e)
	if err != nil {
		return false, err
	}
	if ok {
		if room, err := do(e, m); err != nil || !room {
			return false, err
		}
		w.left--
	}
	w.Next = e.Seq + 1
	w.More = w.Next <= w.Through
	return w.More && w.left > 0 && time.Now().Before(w.end), nil
}

// begin is where a page begins.
func (s *Service) begin(ctx context.Context, pick Pick) (*walk, error) {
	b, err := s.box(ctx, pick.Queue)
	w := &walk{
		Progress: Progress{
			DLQ:     b.dlq,
			Through: cmp.Or(pick.Through, b.last),
			Began:   cmp.Or(pick.Began, clock(s.store.Now().UnixNano())),
			Next:    max(pick.From, pick.Filter.FirstSeq, 1),
		},
		filter: pick.Filter, left: atMost(pick.Limit, MaxPage), end: halftime(ctx),
	}
	if w.filter.LastSeq > 0 {
		w.Through = min(w.Through, w.filter.LastSeq)
	}
	w.More = w.Next <= w.Through
	if b.origin == "" || err != nil {
		return w, err
	}
	if origin := w.filter.OriginQueue; origin != "" && origin != b.origin {
		return w, badRequest("origin_queue is %s, but the letters asked for are those of %s", origin, b.origin)
	}
	w.filter.OriginQueue = b.origin
	return w, nil
}

// picked tells whether the filter picks an entry, and reads its message if that
// is wanted.
func (s *Service) picked(ctx context.Context, w *walk, e queue.Entry) (m queue.Message, ok bool, err error) {
	began, unread := w.Began.UnixNano(), w.filter
	unread.Subject = "" // it is known when the message is
	if e.Letter == nil || !unread.Match(e.Seq, e.Letter, began) {
		return m, false, nil
	}
	if !w.read {
		return m, true, nil
	}
	if m, ok, err = s.read(ctx, e); !ok {
		return m, false, err
	}
	return m, w.filter.Match(e.Seq, addressed(e.Letter, m), began), nil
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
	progress, err := s.walk(ctx, req.Pick, withMessage, func(e queue.Entry, m queue.Message) (bool, error) {
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

func (s *Service) dlqGroups(ctx context.Context, pick Pick) (DLQGroupsAnswer, error) {
	var groups dlq.Groups
	answer, room := DLQGroupsAnswer{Groups: []dlq.GroupView{}}, s.room()/2
	progress, err := s.walk(ctx, pick, withMessage, func(e queue.Entry, m queue.Message) (bool, error) {
		if room -= groupSize + 2*len(e.Letter.Error) + 2*len(m.Subject); room < 0 && answer.Letters > 0 {
			return false, nil
		}
		groups.Add(e.Seq, addressed(e.Letter, m))
		answer.Letters++
		return true, nil
	})
	for _, g := range groups.Sorted() {
		answer.Groups = append(answer.Groups, g.View())
	}
	answer.Progress = progress
	return answer, err
}

// groupSize is the JSON of a group beside its texts, in bytes.
const groupSize = 300
