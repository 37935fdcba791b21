package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/durable/queue"
)

var errTrailing = errors.New("the request goes on behind its JSON object")

// refuse is an error with one of JetStream's codes and words of our own, which
// begin with the field they are about.
func refuse(id server.ErrorIdentifier, format string, args ...any) error {
	known := server.ApiErrors[id]
	return &server.ApiError{Code: known.Code, ErrCode: known.ErrCode, Description: fmt.Sprintf(format, args...)}
}

// brief bounds what is said of a request: an error may repeat a word of it that
// is as long as a message can be, and an answer longer than that cannot be sent.
func brief(text string) string { return fmt.Sprintf("%.1000s", text) }

// refusals say which of JetStream's errors a refusal is. Clients compare the
// text of some: those have JetStream's own words.
var refusals = map[queue.Code]struct {
	id       server.ErrorIdentifier
	verbatim bool
}{
	queue.NoQueue:          {server.JSStreamNotFoundErr, true},
	queue.NoConsumer:       {server.JSConsumerNotFoundErr, true},
	queue.NoMessage:        {server.JSNoMessageFoundErr, true},
	queue.BadName:          {server.JSStreamInvalidConfigF, false},
	queue.Undeclared:       {server.JSStreamOfflineErr, false},
	queue.Exists:           {server.JSConsumerAlreadyExists, true},
	queue.Overlaps:         {server.JSStreamSubjectOverlapErr, false},
	queue.BadSettings:      {server.JSStreamInvalidConfigF, false},
	queue.TooManyConsumers: {server.JSMaximumConsumersLimitErr, true},
	queue.Stopping:         {server.JSInsufficientResourcesErr, true},
}

// wireError gives the JetStream form of an error.
func wireError(err error) *server.ApiError {
	var wire *server.ApiError
	var refused *queue.Error
	switch {
	case errors.As(err, &wire):
		return wire
	case errors.As(err, &refused):
		r, known := refusals[refused.Code]
		switch {
		case !known:
			r.id = server.JSBadRequestErr
		case r.verbatim:
			return server.ApiErrors[r.id]
		}
		e := *server.ApiErrors[r.id]
		e.Description = refused.Text
		return &e
	case errors.Is(err, context.DeadlineExceeded):
		return server.NewJSClusterNotAvailError()
	}
	e := *server.NewJSInsufficientResourcesError()
	if e.Description = err.Error(); errors.Is(err, context.Canceled) {
		e.Description = "the server is shutting down"
	}
	return &e
}
