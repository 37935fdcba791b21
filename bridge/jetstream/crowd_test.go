package jetstream_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	api "dsend/bridge/jetstream"
	"dsend/durable/queue"
)

// stuckStore answers nothing in time.
type stuckStore struct{ api.Store }

func (stuckStore) Info(ctx context.Context, _ string) (queue.Info, error) {
	<-ctx.Done()
	return queue.Info{}, ctx.Err()
}

// However many requests wait for a store that is slow, each is answered before
// its client has given up, which is after 5 s as clients are made.
func TestCrowdIsAnsweredInTime(t *testing.T) {
	const crowd = 100
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		answers := make(chan server.ApiResponse, crowd)
		a := api.Start(stuckStore{}, api.Config{
			Respond: func(_ string, _, body []byte) error {
				var r server.ApiResponse
				if err := json.Unmarshal(body, &r); err != nil {
					t.Error(err)
				}
				answers <- r
				return nil
			},
			Defaults: defaults(), Log: slog.New(slog.DiscardHandler),
		})
		defer a.Stop()
		for range crowd {
			a.Request("STREAM.INFO.orders", "inbox", nil, nil)
		}
		for range crowd {
			if r := <-answers; r.Error == nil || r.Error.ErrCode != 10008 {
				t.Fatalf("answered %+v", r.Error)
			}
		}
		if took := time.Since(began); took >= 5*time.Second {
			t.Errorf("the last answer came after %s", took)
		}
	})
}
