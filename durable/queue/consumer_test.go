package queue

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// Settings of a consumer that are out of range are refused, by their key.
func TestConsumerSettingsOutOfRange(t *testing.T) {
	for key, bad := range map[string][]ConsumerSettings{
		"visibility_timeout": {{VisibilityTimeout: -1}, {VisibilityTimeout: MaxDelay + 1}},
		"max_attempts":       {{MaxAttempts: -1}, {MaxAttempts: math.MaxInt32 + 1}},
		"backoff":            {{Backoff: []time.Duration{1, -1}}, {Backoff: []time.Duration{MaxDelay + 1}}, {Backoff: make([]time.Duration, maxBackoff+1)}},
		"max_in_flight":      {{MaxInFlight: -1}},
		"max_waiting":        {{MaxWaiting: -1}},
		"max_batch":          {{MaxBatch: -1}},
		"max_expires":        {{MaxExpires: -1}, {MaxExpires: MaxDelay + 1}},
		"max_bytes":          {{MaxBytes: -1}},
		"inactive_threshold": {{InactiveThreshold: -1}, {InactiveThreshold: MaxDelay + 1}},
		"paused_until":       {{PausedUntil: -1}},
		"description":        {{Description: strings.Repeat("x", maxWords+1)}},
		"metadata":           {{Metadata: map[string]string{"k": strings.Repeat("x", maxMetadata)}}},
	} {
		for _, s := range bad {
			if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), key+": ") {
				t.Errorf("%s out of range: %v", key, err)
			}
		}
	}
	most := ConsumerSettings{
		VisibilityTimeout: MaxDelay, MaxAttempts: math.MaxInt32, Backoff: []time.Duration{0, MaxDelay}, InactiveThreshold: MaxDelay,
		Description: strings.Repeat("x", maxWords),
	}
	if err := most.Validate(); err != nil {
		t.Errorf("the most there can be: %v", err)
	}
}

func TestConsumerNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"w": true, "A-b_9": true, "a:b+c=d": true, strings.Repeat("x", maxConsumerName): true,
		"": false, "a.b": false, "a*": false, ">": false, "a b": false, "a\tb": false, "a/b": false, `a\b`: false, "a@b": false,
		"é": false, "a\x7f": false, strings.Repeat("x", maxConsumerName+1): false,
	} {
		if ValidConsumerName(name) != valid {
			t.Errorf("%.40q is valid: %t", name, !valid)
		}
	}
}

// A queue has only so many consumers; one that goes makes room.
func TestTooManyConsumers(t *testing.T) {
	r := newRig(t, testConfig())
	r.done(t, &Declare{Name: "q", Settings: r.cfg.Defaults, Source: FromAPI})
	for i := range maxConsumers {
		r.turn(t, &DeclareConsumer{Queue: "q", Name: fmt.Sprint("c", i)})
	}
	r.commit(t)
	one := &DeclareConsumer{Queue: "q", Name: "more"}
	if out := r.do(t, one); out.Replies[0].Err == nil || out.Replies[0].Err.Code != TooManyConsumers {
		t.Errorf("one more is %+v", out.Replies[0])
	}
	r.done(t, &DeclareConsumer{Queue: "q", Name: "c1", Settings: ConsumerSettings{MaxBatch: 5}}) // it is there already
	r.done(t, &RemoveConsumer{Queue: "q", Name: "c0"})
	r.done(t, one)
}

// What consumers have delivered survives the log that it was written in.
func TestConsumersAreCarried(t *testing.T) {
	r := newRig(t, testConfig())
	r.done(t, &Declare{Name: "q", Settings: r.cfg.Defaults, Source: FromAPI})
	r.done(t, &DeclareConsumer{Queue: "q", Name: "w", Settings: ConsumerSettings{MaxInFlight: 3, Metadata: map[string]string{"k": "v"}}})
	for range 5 {
		r.do(t, &Publish{Queue: "q", MaxAttempts: -1})
	}
	sp := r.do(t, &Pull{Queue: "q", Consumer: "w", Inbox: "in", Peer: "p", Batch: 3}).Speech
	r.do(t, &Answer{QueueID: sp[0].QueueID, Seq: sp[0].Seq, Delivery: sp[0].Delivery, Verb: Ack})
	want, _, _ := r.state.Consumer("q", "w")
	if want.InFlight != 2 || want.Delivered != 3 || want.Answered != 1 || want.DoneSeq != 1 || want.Pending != 2 {
		t.Fatalf("it is %+v", want)
	}
	for range 3 { // what was carried is carried again
		n := len(r.log)
		r.carry(t, n, 2, true, func() {})
		r.drop(n)
		r.crash(t, 0)
		if got, _, err := r.state.Consumer("q", "w"); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("carried it is %+v, %v; it was %+v", got, err, want)
		}
	}
}
