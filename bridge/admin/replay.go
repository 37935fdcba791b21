package admin

import (
	"context"
	"errors"

	"dsend/durable/queue"
)

// ReplayRequest asks to bring a page of dead letters back.
type ReplayRequest struct {
	Pick
	Target string `json:"target,omitempty" about:"the queue to bring them to; empty is the one they died in"`
	DryRun bool   `json:"dry_run,omitempty" about:"only count"`
}

func (r ReplayRequest) dry() bool { return r.DryRun }

// ReplayAnswer tells of a page of letters.
type ReplayAnswer struct {
	Picked   int        `json:"picked" about:"letters that the filter picked"`
	Replayed []Replayed `json:"replayed"`
	Skipped  []Skipped  `json:"skipped"`
	Stopped  *Problem   `json:"stopped" about:"why the page ended early; next is the letter it ended at"`
	Progress
}

func (r ReplayAnswer) outcome() []any {
	return append([]any{"replayed", len(r.Replayed), "skipped", len(r.Skipped)}, r.Stopped.log()...)
}

// Replayed is a letter that is a message again.
type Replayed struct {
	Seq    uint64 `json:"seq" about:"of the letter"`
	Queue  string `json:"queue"`
	NewSeq uint64 `json:"new_seq" about:"of the message in queue"`
}

// Skipped is a letter that was left as it is.
type Skipped struct {
	Seq   uint64 `json:"seq"`
	Error string `json:"error"`
}

func (s *Service) dlqReplay(ctx context.Context, req ReplayRequest) (ReplayAnswer, error) {
	answer := ReplayAnswer{Replayed: []Replayed{}, Skipped: []Skipped{}}
	progress, err := s.walk(ctx, req.Pick, bare, func(e queue.Entry, _ queue.Message) (bool, error) {
		if req.DryRun {
			answer.Picked++
			return true, nil
		}
		reply, err := s.do(ctx, &queue.Replay{Name: e.Queue, Seq: e.Seq, Target: req.Target})
		switch {
		case err == nil:
			answer.Replayed = append(answer.Replayed, Replayed{e.Seq, reply.Queue, reply.Seq})
		case leaves(err):
			answer.Skipped = append(answer.Skipped, Skipped{e.Seq, err.Error()})
		default:
			answer.Stopped = problem(err)
			return false, nil
		}
		answer.Picked++
		return true, nil
	})
	answer.Progress = progress
	return answer, err
}

// leaves tells whether a refusal is about one letter, so that others can go on.
func leaves(err error) bool {
	var refusal *queue.Error
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.Code {
	case queue.NoMessage, queue.NotDead, queue.Owned:
		return true
	}
	return false
}

// DLQPurgeRequest asks to remove a page of dead letters.
type DLQPurgeRequest struct {
	Pick
	DryRun bool `json:"dry_run,omitempty" about:"only count"`
}

func (r DLQPurgeRequest) dry() bool { return r.DryRun }

// DLQPurgeAnswer tells of a page of letters.
type DLQPurgeAnswer struct {
	Picked  int      `json:"picked" about:"letters that the filter picked"`
	Removed int      `json:"removed"`
	Stopped *Problem `json:"stopped" about:"why the page ended early; next is the letter it ended at"`
	Progress
}

func (r DLQPurgeAnswer) outcome() []any {
	return append([]any{"removed", r.Removed}, r.Stopped.log()...)
}

func (s *Service) dlqPurge(ctx context.Context, req DLQPurgeRequest) (DLQPurgeAnswer, error) {
	var answer DLQPurgeAnswer
	progress, err := s.walk(ctx, req.Pick, bare, func(e queue.Entry, _ queue.Message) (bool, error) {
		if !req.DryRun {
			_, err := s.do(ctx, &queue.Delete{Name: e.Queue, Seq: e.Seq})
			switch {
			case err == nil:
				answer.Removed++
			case !leaves(err):
				answer.Stopped = problem(err)
				return false, nil
			}
		}
		answer.Picked++
		return true, nil
	})
	answer.Progress = progress
	return answer, err
}
