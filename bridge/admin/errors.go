package admin

import (
	"context"
	"errors"
	"fmt"

	"dsend/durable/queue"
)

// Problem is why a request failed, for people and programs.
type Problem struct {
	// Code is as in HTTP.
	Code int `json:"code"`
	// Kind is a word for programs, such as no_queue.
	Kind string `json:"kind"`
	// Description is a sentence for people.
	Description string `json:"description"`
}

func (p *Problem) Error() string { return p.Description }

// log is the problem as attributes of a log line, if there is one.
func (p *Problem) log() []any {
	if p == nil {
		return nil
	}
	return []any{"error", p.Description}
}

// ErrorAnswer is the body of an error.
type ErrorAnswer struct {
	Error *Problem `json:"error"`
}

// problem says an error in the words of the API.
func problem(err error) *Problem {
	var known *Problem
	var refusal *queue.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refusal):
		code, kind := refused(refusal.Code)
		return &Problem{code, kind, refusal.Text}
	case errors.Is(err, context.DeadlineExceeded):
		return &Problem{504, "timeout", "not done in time; it may still be done"}
	case errors.Is(err, context.Canceled):
		return &Problem{503, "stopping", "Dsend is stopping"}
	}
	return &Problem{503, "failed", err.Error()}
}

// refused is the table of the machine's refusals.
func refused(code queue.Code) (status int, kind string) {
	switch code {
	case queue.BadName:
		return 400, "bad_name"
	case queue.BadSettings:
		return 400, "bad_settings"
	case queue.BadOption:
		return 400, "bad_option"
	case queue.NoQueue:
		return 404, "no_queue"
	case queue.NoMessage:
		return 404, "no_message"
	case queue.Exists:
		return 409, "exists"
	case queue.Overlaps:
		return 409, "overlaps"
	case queue.NotDead:
		return 409, "not_dead"
	case queue.Owned:
		return 409, "in_flight"
	case queue.NoDLQ:
		return 409, "no_dlq"
	case queue.PausedByConfig:
		return 409, "paused_by_config"
	case queue.Undeclared:
		return 409, "undeclared"
	case queue.TooLarge:
		return 413, "too_large"
	case queue.FullMessages:
		return 507, "full_messages"
	case queue.FullBytes:
		return 507, "full_bytes"
	case queue.NoSpace:
		return 507, "no_space"
	case queue.Stopping:
		return 503, "stopping"
	}
	return 500, fmt.Sprintf("code_%d", code)
}

func badRequest(format string, args ...any) *Problem {
	return &Problem{400, "bad_request", fmt.Sprintf(format, args...)}
}
