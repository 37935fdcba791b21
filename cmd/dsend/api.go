package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"dsend/bridge/admin"
)

// call asks an endpoint of Dsend's micro service.
func call[Answer any](ctx context.Context, l *link, endpoint string, request any) (answer Answer, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	m := nats.NewMsg(l.prefix + ".api." + endpoint)
	m.Data = body
	got, err := l.request(ctx, m)
	if err != nil {
		return answer, err
	}
	if got.Header.Get(micro.ErrorCodeHeader) != "" {
		return answer, answeredError(got)
	}
	if err := json.Unmarshal(got.Data, &answer); err != nil {
		return answer, fmt.Errorf("%s: the answer is not one of Dsend: %w", endpoint, err)
	}
	return answer, nil
}

// answeredError is the error that an endpoint answered with.
func answeredError(m *nats.Msg) error {
	var answer admin.ErrorAnswer
	if json.Unmarshal(m.Data, &answer) == nil && answer.Error != nil {
		return answer.Error
	}
	return fmt.Errorf("%s (%s)", m.Header.Get(micro.ErrorHeader), m.Header.Get(micro.ErrorCodeHeader))
}

// pages yields the items of all pages. get asks for one page and sets what the
// next one needs.
func pages[Item any](get func() (items []Item, more bool, err error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for more := true; more; {
			var items []Item
			var err error
			if items, more, err = get(); err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// first yields at most n items; 0 is all.
func first[Item any](n int, items iter.Seq2[Item, error]) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		left := n
		for item, err := range items {
			if !yield(item, err) {
				return
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

// complete reads the rest of a body that was too large for its answer.
func complete(ctx context.Context, l *link, queue string, seq uint64, c *admin.Content) error {
	for c.More {
		part, err := call[admin.Message](ctx, l, admin.MsgGet,
			admin.GetRequest{Queue: queue, Seq: seq, Offset: len(c.Data), NoHeaders: true})
		if err != nil {
			return err
		}
		if len(part.Data) == 0 && part.More {
			return fmt.Errorf("message %d of queue %s cannot be read: the server's max_payload is too small", seq, queue)
		}
		c.Data, c.More = append(c.Data, part.Data...), part.More
	}
	return nil
}
