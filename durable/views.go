package durable

import (
	"context"

	"dsend/durable/queue"
)

// Infos gives all queues at one moment, by name.
func (s *Store) Infos(ctx context.Context) (infos []queue.Info, err error) {
	err = s.View(ctx, func(state *queue.State) { infos = state.Infos() })
	return infos, err
}

// Info gives one queue; the error is a *queue.Error if there is none.
func (s *Store) Info(ctx context.Context, name string) (info queue.Info, err error) {
	return look(ctx, s, func(state *queue.State) (queue.Info, *queue.Error) { return state.Info(name) })
}

// Advice gives what a queue's deliveries say of its visibility timeout.
func (s *Store) Advice(ctx context.Context, name string) (queue.Advice, error) {
	return look(ctx, s, func(state *queue.State) (queue.Advice, *queue.Error) { return state.Advice(name) })
}

// List gives a page of messages in order of sequence.
func (s *Store) List(ctx context.Context, l queue.List) ([]queue.Entry, error) {
	return look(ctx, s, func(state *queue.State) ([]queue.Entry, *queue.Error) { return state.List(l) })
}

// Entry gives one message; the error is a *queue.Error if there is none.
func (s *Store) Entry(ctx context.Context, name string, seq uint64) (queue.Entry, error) {
	return look(ctx, s, func(state *queue.State) (queue.Entry, *queue.Error) { return state.Entry(name, seq) })
}

// Consumer gives a consumer and its queue at one moment; the error is a
// *queue.Error if there is none.
func (s *Store) Consumer(ctx context.Context, name, consumer string) (of queue.Info, info queue.ConsumerInfo, err error) {
	of, err = look(ctx, s, func(state *queue.State) (i queue.Info, refused *queue.Error) {
		info, i, refused = state.Consumer(name, consumer)
		return i, refused
	})
	return of, info, err
}

// Consumers gives the consumers of a queue, by name, and the queue at one
// moment; the error is a *queue.Error if there is no such queue.
func (s *Store) Consumers(ctx context.Context, name string) (of queue.Info, infos []queue.ConsumerInfo, err error) {
	of, err = look(ctx, s, func(state *queue.State) (i queue.Info, refused *queue.Error) {
		infos, i, refused = state.Consumers(name)
		return i, refused
	})
	return of, infos, err
}

// Holders are the client processes that hold messages.
func (s *Store) Holders(ctx context.Context) (peers []string, err error) {
	err = s.View(ctx, func(state *queue.State) { peers = state.Holders() })
	return peers, err
}

// look asks the state something that it may refuse.
func look[T any](ctx context.Context, s *Store, ask func(*queue.State) (T, *queue.Error)) (got T, err error) {
	var refused *queue.Error
	if err := s.View(ctx, func(state *queue.State) { got, refused = ask(state) }); err != nil {
		return got, err
	}
	if refused != nil {
		return got, refused
	}
	return got, nil
}
