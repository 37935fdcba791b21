package dlq

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawLetter(t *rapid.T) Letter {
	return Letter{
		Reason:        Reason(rapid.Byte().Draw(t, "reason")),
		Error:         rapid.String().Draw(t, "error"),
		DiedAt:        rapid.Int64().Draw(t, "died at"),
		OriginQueue:   rapid.String().Draw(t, "origin queue"),
		OriginSubject: rapid.String().Draw(t, "origin subject"),
		OriginSeq:     rapid.Uint64().Draw(t, "origin seq"),
		PublishedAt:   rapid.Int64().Draw(t, "published at"),
		Attempts:      rapid.Uint32().Draw(t, "attempts"),
		Replays:       rapid.Uint32().Draw(t, "replays"),
		History:       drawHistory(t),
	}
}

func TestLetterReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, before, after := drawLetter(t), []byte("before"), rapid.SliceOf(rapid.Byte()).Draw(t, "after")
		dst := AppendLetter(before, &l)
		if !bytes.HasPrefix(dst, before) {
			t.Fatalf("what stood before is %q", dst[:len(before)])
		}
		back, rest, err := ReadLetter(append(dst[len(before):], after...))
		if err != nil || !reflect.DeepEqual(back, l) || !bytes.Equal(rest, after) {
			t.Fatalf("got %+v, %q, %v\nwant %+v, %q", back, rest, err, l, after)
		}
	})
}

func TestHistoryReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, after := drawHistory(t), rapid.SliceOf(rapid.Byte()).Draw(t, "after")
		back, rest, err := ReadHistory(append(AppendHistory(nil, h), after...))
		if err != nil || !reflect.DeepEqual(back, h) || !bytes.Equal(rest, after) {
			t.Fatalf("got %+v, %q, %v\nwant %+v, %q", back, rest, err, h, after)
		}
	})
}

// Bytes of the log in use out there: this must read for ever.
func TestLetterBytes(t *testing.T) {
	l := sample()
	const want = "" +
		"01" + "04626f6f6d" + // max_attempts, "boom"
		"d00f" + // died at 1000
		"066f7264657273" + "0a6f72646572732e6e6577" + // orders, orders.new
		"2a" + "c801" + "02" + "01" + // seq 42, published at 100, 2 attempts, 1 replay
		"02" + // a history of two
		"d804" + "64" + "01" + "037731" + "05626f6f6d" + // at 300 for 50, nak, w1, boom
		"9001" + "f807" + "02" + "00" + "00" // 72 later for 508, timeout, the same two
	if got := hex.EncodeToString(AppendLetter(nil, &l)); got != want {
		t.Errorf("written\n%s, want\n%s", got, want)
	}
	src, _ := hex.DecodeString(want)
	if back, rest, err := ReadLetter(src); err != nil || len(rest) != 0 || !reflect.DeepEqual(back, l) {
		t.Errorf("read as %+v, %d left, %v", back, len(rest), err)
	}
}

func sample() Letter {
	return Letter{
		Reason: ReasonMaxAttempts, Error: "boom", DiedAt: 1000,
		OriginQueue: "orders", OriginSubject: "orders.new", OriginSeq: 42,
		PublishedAt: 100, Attempts: 2, Replays: 1,
		History: History{}.
			Add(Attempt{At: 300, Ended: 350, Worker: "w1", Outcome: OutcomeNak, Error: "boom"}).
			Add(Attempt{At: 422, Ended: 930, Worker: "w1", Outcome: OutcomeTimeout, Error: "boom"}),
	}
}

// A message that fails the same way every time writes its error once.
func TestRepeatedErrorIsWrittenOnce(t *testing.T) {
	var h History
	for i := range int64(MaxHistory) {
		h = h.Add(Attempt{At: i, Ended: i, Worker: "w", Error: strings.Repeat("x", MaxError)})
	}
	if n := len(AppendHistory(nil, h)); n > MaxError+5*MaxHistory+10 {
		t.Errorf("%d bytes", n)
	}
}

func TestCutLetterIsRefused(t *testing.T) {
	l := sample()
	whole := AppendLetter(nil, &l)
	for n := range whole {
		got, rest, err := ReadLetter(whole[:n])
		if !errors.Is(err, ErrMalformed) || rest != nil || !reflect.DeepEqual(got, Letter{}) {
			t.Errorf("%d of %d bytes: %+v, %q, %v", n, len(whole), got, rest, err)
		}
	}
}

func TestMalformedNamesTheField(t *testing.T) {
	huge := binary.AppendUvarint(nil, math.MaxUint64)
	upTo := func(n int, bad ...byte) []byte {
		return append(append([]byte{}, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}[:n]...), bad...)
	}
	attempt := []byte{0, 0, 1, 1, 1}
	for want, src := range map[string][]byte{
		"reason":           {},
		"error":            upTo(1, huge...),
		"died at":          upTo(2, bytes.Repeat([]byte{0xff}, 11)...),
		"origin queue":     upTo(3, 5, 'a'),
		"origin subject":   upTo(4, huge...),
		"origin seq":       upTo(5, 0x80),
		"published at":     upTo(6),
		"attempts":         upTo(7, binary.AppendUvarint(nil, math.MaxUint32+1)...),
		"replays":          upTo(8, huge...),
		"history length":   upTo(9, MaxHistory+1),
		"history cannot":   upTo(9, 2, 0, 0, 1, 1, 1, 0, 0, 1, 1),
		"attempt's end":    append(upTo(9, 1, 0), bytes.Repeat([]byte{0x80}, 9)...),
		"attempt's worker": append(upTo(9, 1, 0, 0, 1), huge...),
		"attempt's error":  append(append(upTo(9, 2), attempt...), 0, 0, 1, 1, 3, 'x'),
	} {
		if _, _, err := ReadLetter(src); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: %v, want one that says %q", src, err, want)
		}
	}
}

// A length that is not there costs nothing, not even the memory it promises.
func TestMalformedAllocatesNothing(t *testing.T) {
	src := append([]byte{1}, binary.AppendUvarint(nil, 1<<40)...)
	if n := testing.AllocsPerRun(100, func() { ReadLetter(src) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzReadLetter(f *testing.F) {
	l := sample()
	f.Add([]byte{})
	f.Add(AppendLetter(nil, &l))
	f.Add(AppendLetter(nil, &Letter{}))
	f.Add(append(AppendLetter(nil, &Letter{Reason: 9, Error: "\xff\n"}), "rest"...))
	f.Fuzz(func(t *testing.T, src []byte) {
		l, rest, err := ReadLetter(src)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.HasSuffix(src, rest) || l.History.Len() > MaxHistory {
			t.Fatalf("%d bytes left, %d attempts", len(rest), l.History.Len())
		}
		again, left, err := ReadLetter(AppendLetter(nil, &l))
		if err != nil || len(left) != 0 || !reflect.DeepEqual(again, l) {
			t.Fatalf("%+v\nreads back as %+v, %d left, %v", l, again, len(left), err)
		}
	})
}

func FuzzReadHistory(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendHistory(nil, History{}))
	f.Add(AppendHistory(nil, sample().History))
	f.Add([]byte{MaxHistory + 1, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, src []byte) {
		h, rest, err := ReadHistory(src)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.HasSuffix(src, rest) || h.Len() > MaxHistory {
			t.Fatalf("%d bytes left, %d attempts", len(rest), h.Len())
		}
		again, left, err := ReadHistory(AppendHistory(nil, h))
		if err != nil || len(left) != 0 || !reflect.DeepEqual(again, h) {
			t.Fatalf("%+v\nreads back as %+v, %d left, %v", h, again, len(left), err)
		}
	})
}

func BenchmarkReadLetter(b *testing.B) {
	l := sample()
	src := AppendLetter(nil, &l)
	b.ReportAllocs()
	for b.Loop() {
		ReadLetter(src)
	}
}
