package jetstream

import (
	"context"

	"dsend/durable/queue"
)

// Store is what this package needs of a durable store. All methods are safe for
// concurrent use. Where there is no such queue, consumer or message the error is
// a *queue.Error.
type Store interface {
	// Do has one op done and returns when that is durable. A refusal is
	// Reply.Err; the error is of the store (stopped, failed) or of ctx.
	Do(ctx context.Context, op queue.Op) (queue.Reply, error)
	// Infos gives all queues at one moment, by name.
	Infos(ctx context.Context) ([]queue.Info, error)
	// Info gives one queue.
	Info(ctx context.Context, name string) (queue.Info, error)
	// List gives a page of messages in order of sequence.
	List(ctx context.Context, page queue.List) ([]queue.Entry, error)
	// Message reads a message.
	Message(ctx context.Context, name string, seq uint64) (queue.Entry, queue.Message, error)
	// Consumer gives a consumer and its queue at one moment.
	Consumer(ctx context.Context, name, consumer string) (queue.Info, queue.ConsumerInfo, error)
	// Consumers gives the consumers of a queue, by name, and the queue.
	Consumers(ctx context.Context, name string) (queue.Info, []queue.ConsumerInfo, error)
}
