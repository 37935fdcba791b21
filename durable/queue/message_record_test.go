package queue

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unique"

	"pgregory.net/rapid"

	"dsend/dlq"
)

// someMessage draws a message as a publish or a Carry writes it.
func someMessage(t *rapid.T) Message {
	text := rapid.StringN(0, 12, 40)
	when := rapid.Int64Range(0, 1<<62)
	bytes := rapid.SliceOfN(rapid.Byte(), 0, 40)
	m := Message{
		QueueID: rapid.Uint32().Draw(t, "queue"), Seq: rapid.Uint64Range(0, maxSeq-1).Draw(t, "seq"), At: when.Draw(t, "at"),
		ID: text.Draw(t, "id"), Key: text.Draw(t, "key"), Priority: rapid.Uint8Range(0, maxPriority).Draw(t, "priority"),
		MaxAttempts: rapid.IntRange(-1, 1<<31-1).Draw(t, "attempts"), Subject: bytes.Draw(t, "subject"), Body: bytes.Draw(t, "body"),
	}
	if m.ID != "" {
		m.IDExpires = when.Draw(t, "id expires")
	}
	if rapid.Bool().Draw(t, "times") {
		m.Due, m.Expires, m.Visibility = when.Draw(t, "due"), when.Draw(t, "expires"), time.Duration(when.Draw(t, "visibility"))
	}
	if rapid.Bool().Draw(t, "has header") {
		m.Header = bytes.Draw(t, "header")
	}
	return m
}

// TestMessageReadsBack proves that a message is read as it was written, that its
// size is known before, and that no bit of it can change unseen.
func TestMessageReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := someMessage(t)
		record := m.encode(nil)
		if int64(len(record)) != m.size() {
			t.Fatalf("%+v takes %d bytes, expected %d", m, len(record), m.size())
		}
		if rapid.Bool().Draw(t, "carried") {
			m.life = someLife(t)
			record = m.encode(nil)
		}
		got, err := DecodeMessage(record)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("%v\nread    %+v\nwritten %+v", err, got, m)
		}
		bit := rapid.IntRange(0, 8*len(record)-1).Draw(t, "bit")
		record[bit/8] ^= 1 << (bit % 8)
		if _, err := DecodeMessage(record); err == nil {
			t.Fatalf("bit %d is flipped and nothing is said", bit)
		}
		record[bit/8] ^= 1 << (bit % 8)
		cut := rapid.IntRange(0, len(record)-1).Draw(t, "cut")
		if _, err := DecodeMessage(record[:cut]); err == nil {
			t.Fatalf("cut at %d and nothing is said", cut)
		}
	})
}

func someLife(t *rapid.T) *life {
	when := rapid.Int64Range(0, 1<<62)
	l := &life{
		phase: rapid.SampledFrom([]phase{phaseReady, phaseDelayed, phaseInFlight}).Draw(t, "phase"),
		doom:  dlq.Reason(rapid.Uint8Range(0, 5).Draw(t, "doom")), attempt: rapid.Uint32().Draw(t, "attempt"),
		delivery: rapid.Uint64().Draw(t, "delivery"), deadline: when.Draw(t, "deadline"), since: when.Draw(t, "since"),
		replays: rapid.Uint32().Draw(t, "replays"), handed: when.Draw(t, "handed"),
		holder: unique.Make(holder{rapid.String().Draw(t, "consumer"), rapid.String().Draw(t, "peer"), rapid.String().Draw(t, "group")}),
	}
	for range rapid.IntRange(0, 3).Draw(t, "history") {
		l.history = l.history.Add(dlq.Attempt{At: when.Draw(t, "at"), Ended: when.Draw(t, "ended"), Outcome: dlq.OutcomeNak, Error: "e"})
	}
	if rapid.Bool().Draw(t, "letter") {
		l.origin = identity{rapid.Uint32().Draw(t, "origin"), rapid.Uint64Range(0, maxSeq-1).Draw(t, "seq")}
		l.letter = &dlq.Letter{Reason: dlq.ReasonManual, Error: "x", OriginQueue: "q", OriginSeq: l.origin.seq, History: l.history}
	}
	return l
}

// TestMessagesAreFoundInACommit proves that Messages gives the message records
// of a commit and nothing else, each where it is.
func TestMessagesAreFoundInACommit(t *testing.T) {
	r := newRig(t, testConfig())
	r.turn(t, &Publish{Queue: "q", Body: []byte("one"), MaxAttempts: -1}, &Pull{Queue: "q", Inbox: "in", Batch: 2},
		&Publish{Queue: "q", Body: []byte("two"), MaxAttempts: -1, Key: "k"})
	data := r.commit(t).Records
	var bodies []string
	for offset, record := range Messages(data) {
		m, err := DecodeMessage(record)
		if err != nil || string(data[offset:offset+5]) != string(record[:5]) {
			t.Fatalf("at %d: %v", offset, err)
		}
		bodies = append(bodies, string(m.Body))
	}
	if strings.Join(bodies, " ") != "one two" {
		t.Errorf("found %v", bodies)
	}
	for range Messages(data) {
		break // and one may stop
	}
}
