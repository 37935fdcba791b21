package dlq

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestLetterView(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("", 3600)).UnixNano()
	l := Letter{
		Reason: ReasonMaxAttempts, Error: "boom", DiedAt: at,
		OriginQueue: "orders", OriginSubject: "orders.new", OriginSeq: 42,
		PublishedAt: at - 1e9, Attempts: 1, Replays: 2,
		History: History{}.Add(Attempt{At: at - 5, Ended: at, Worker: "w", Outcome: OutcomeGone, Error: "boom"}),
	}
	const want = `{"reason":"max_attempts","error":"boom","died_at":"2026-01-02T02:04:05.000000678Z",` +
		`"origin_queue":"orders","origin_subject":"orders.new","origin_seq":42,"published_at":"2026-01-02T02:04:04.000000678Z",` +
		`"attempts":1,"replays":2,"history":[{"at":"2026-01-02T02:04:05.000000673Z","ended":"2026-01-02T02:04:05.000000678Z",` +
		`"worker":"w","outcome":"gone","error":"boom"}]}`
	reads(t, l.View(), want)
	if text, _ := json.Marshal((&Letter{Reason: ReasonExpired}).View()); !bytes.Contains(text, []byte(`"history":[]`)) {
		t.Errorf("a letter without history is %s", text)
	}
}

func TestGroupView(t *testing.T) {
	g := Group{ReasonTerminated, "order #", "orders.*", 3, 1, 2, "order 17", 9}
	reads(t, g.View(), `{"reason":"terminated","error":"order #","subject":"orders.*","count":3,`+
		`"first":"1970-01-01T00:00:00.000000001Z","last":"1970-01-01T00:00:00.000000002Z","sample":"order 17","sample_seq":9}`)
}

// reads checks that v is written as want, and read back from it.
func reads[V any](t *testing.T, v V, want string) {
	t.Helper()
	if text, err := json.Marshal(v); err != nil || string(text) != want {
		t.Errorf("got  %s, %v\nwant %s", text, err, want)
	}
	var back V
	if err := json.Unmarshal([]byte(want), &back); err != nil || !reflect.DeepEqual(v, back) {
		t.Errorf("read back as %+v, %v\nwant %+v", back, err, v)
	}
}
