package dlq

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFilterMatch(t *testing.T) {
	const now, seq = int64(100 * time.Hour), 50
	l := Letter{
		Reason: ReasonTerminated, Error: "Größe: Connection refused",
		DiedAt: now - int64(time.Hour), OriginQueue: "orders", OriginSubject: "orders.new.eu",
	}
	for _, c := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true},
		{Filter{Reasons: []Reason{ReasonTerminated}}, true},
		{Filter{Reasons: []Reason{ReasonExpired, ReasonTerminated}}, true},
		{Filter{Reasons: []Reason{ReasonExpired}}, false},
		{Filter{Error: "connection REFUSED"}, true},
		{Filter{Error: "GRÖSSE"}, false}, // lower case, not transcription
		{Filter{Error: "GRÖß"}, true},
		{Filter{Error: "refused."}, false},
		{Filter{Subject: "orders.*.eu"}, true},
		{Filter{Subject: "orders.*"}, false},
		{Filter{OriginQueue: "orders"}, true},
		{Filter{OriginQueue: "Orders"}, false},
		{Filter{OlderThan: time.Hour}, true},
		{Filter{OlderThan: time.Hour + 1}, false},
		{Filter{NewerThan: time.Hour}, false},
		{Filter{NewerThan: time.Hour + 1}, true},
		{Filter{OlderThan: time.Minute, NewerThan: 2 * time.Hour}, true},
		{Filter{FirstSeq: 50}, true},
		{Filter{FirstSeq: 51}, false},
		{Filter{LastSeq: 50}, true},
		{Filter{LastSeq: 49}, false},
		{Filter{FirstSeq: 50, LastSeq: 50}, true},
		{Filter{FirstSeq: 1, Error: "refused", Subject: ">", Reasons: []Reason{ReasonTerminated}}, true},
		{Filter{FirstSeq: 1, Error: "refused", Subject: "invoices.>"}, false},
	} {
		if got := c.f.Match(seq, &l, now); got != c.want {
			t.Errorf("%+v: %v", c.f, got)
		}
	}
}

// One age splits all letters in two, also those that died in the future of a
// clock that was set back.
func TestAgesSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const now = int64(time.Hour)
		d := time.Duration(rapid.Int64Range(1, 100).Draw(t, "age"))
		l := Letter{DiedAt: now + rapid.Int64Range(-200, 50).Draw(t, "died")}
		older := Filter{OlderThan: d}.Match(1, &l, now)
		newer := Filter{NewerThan: d}.Match(1, &l, now)
		if older == newer {
			t.Fatalf("age %v at %v: older %v, newer %v", time.Duration(now-l.DiedAt), d, older, newer)
		}
	})
}

func TestFilterValidate(t *testing.T) {
	for _, c := range []struct {
		f    Filter
		want string // "": accepted
	}{
		{Filter{}, ""},
		{Filter{
			Reasons: []Reason{ReasonManual}, Error: "x", Subject: "a.*.>", OriginQueue: "q",
			OlderThan: 1, NewerThan: 2, FirstSeq: 5, LastSeq: 5,
		}, ""},
		{Filter{OlderThan: time.Hour, FirstSeq: math.MaxUint64}, ""},
		{Filter{Reasons: []Reason{ReasonManual, 0}}, "reason(0)"},
		{Filter{Reasons: []Reason{lastReason + 1}}, "reason(6)"},
		{Filter{Subject: "a..b"}, `"a..b"`},
		{Filter{Subject: "a.>.b"}, `"a.>.b"`},
		{Filter{Subject: "a b"}, `"a b"`},
		{Filter{OlderThan: -1}, "older_than -1ns"},
		{Filter{NewerThan: -time.Hour}, "newer_than -1h"},
		{Filter{OlderThan: 2, NewerThan: 2}, "newer_than 2ns is not above older_than 2ns"},
		{Filter{FirstSeq: 6, LastSeq: 5}, "last_seq 5 is below first_seq 6"},
	} {
		err := c.f.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.f, err, c.want)
		}
	}
}

func TestFilterJSONIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Filter{
			Error:       rapid.String().Draw(t, "error"),
			Subject:     rapid.String().Draw(t, "subject"),
			OlderThan:   time.Duration(rapid.Int64().Draw(t, "older")),
			NewerThan:   time.Duration(rapid.Int64().Draw(t, "newer")),
			FirstSeq:    rapid.Uint64().Draw(t, "first"),
			LastSeq:     rapid.Uint64().Draw(t, "last"),
			OriginQueue: rapid.String().Draw(t, "queue"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "reasons") {
			f.Reasons = append(f.Reasons, rapid.SampledFrom([]Reason{1, 2, 3, 4, 5}).Draw(t, "reason"))
		}
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var back Filter
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(f, back) {
			t.Fatalf("%+v\nwas written as %s\nand read as %+v, %v", f, text, back, err)
		}
	})
}

func TestFilterJSONForm(t *testing.T) {
	for want, f := range map[string]Filter{
		`{}`: {},
		`{"reasons":["expired","manual"],"error":"e","subject":"a.\u003e","older_than":"1h30m0s","newer_than":"48h0m0s","first_seq":3,"last_seq":9,"origin_queue":"q"}`: {
			Reasons: []Reason{ReasonExpired, ReasonManual}, Error: "e", Subject: "a.>",
			OlderThan: 90 * time.Minute, NewerThan: 48 * time.Hour, FirstSeq: 3, LastSeq: 9, OriginQueue: "q",
		},
	} {
		if got, err := json.Marshal(f); err != nil || string(got) != want {
			t.Errorf("got %s, %v\nwant %s", got, err, want)
		}
	}
}

func TestFilterJSONRefuses(t *testing.T) {
	for text, word := range map[string]string{
		`{"reason":["expired"]}`: `"reason"`, // misspelt: it must not pick everything
		`{"reasons":["lost"]}`:   `"lost"`,
		`{"reasons":"AQ=="}`:     "reasons", `{"reasons":"expired"}`: "reasons",
		`{"older_than":5}`:               "older_than",
		`{"older_than":"1 day"}`:         `older_than "1 day"`,
		`{"newer_than":"soon"}`:          `newer_than "soon"`,
		`{"first_seq":-1}`:               "first_seq",
		`{"last_seq":"5"}`:               "last_seq",
		`[]`:                             "array",
		`{"origin_queue":"q","limit":5}`: `"limit"`,
	} {
		f := Filter{Error: "as before"}
		err := json.Unmarshal([]byte(text), &f)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want an error that says %s", text, err, word)
		}
		if !reflect.DeepEqual(f, Filter{Error: "as before"}) {
			t.Errorf("%s: refused, but the filter is now %+v", text, f)
		}
	}
	f := Filter{Error: "as before"}
	if err := json.Unmarshal([]byte("null"), &f); err != nil || f.Error != "as before" {
		t.Errorf("null: %+v, %v", f, err)
	}
}
