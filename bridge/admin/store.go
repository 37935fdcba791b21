package admin

import (
	"context"
	"time"

	"dsend/durable/queue"
)

// Store is what this package needs of a durable store. All methods are safe for
// concurrent use.
type Store interface {
	// Do has one op done and returns when that is durable. A refusal is
	// Reply.Err; the error is of the store (stopped, failed) or of ctx.
	Do(ctx context.Context, op queue.Op) (queue.Reply, error)
	// Infos gives all queues at one moment, by name.
	Infos(ctx context.Context) ([]queue.Info, error)
	// Info gives one queue; without it, a *queue.Error.
	Info(ctx context.Context, name string) (queue.Info, error)
	// Advice gives what a queue's deliveries say of its visibility timeout;
	// without the queue, a *queue.Error.
	Advice(ctx context.Context, name string) (queue.Advice, error)
	// List gives a page of messages in order of sequence.
	List(ctx context.Context, page queue.List) ([]queue.Entry, error)
	// Message reads a message; if it is gone, a *queue.Error.
	Message(ctx context.Context, e queue.Entry) (queue.Message, error)
	// Now is the time that the store goes by.
	Now() time.Time
}
