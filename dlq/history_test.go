package dlq

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func TestHistoryEmpty(t *testing.T) {
	var h History
	if a, ok := h.Last(); ok || h.Len() != 0 {
		t.Errorf("Last %+v %v, Len %d", a, ok, h.Len())
	}
	for a := range h.All() {
		t.Errorf("All yields %+v", a)
	}
}

// drawAttempt draws one as Add keeps it, so that it may be compared.
func drawAttempt(t *rapid.T) Attempt {
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "boom", "connection refused"}), rapid.String())
	return Attempt{
		At:      rapid.Int64().Draw(t, "at"),
		Ended:   rapid.Int64().Draw(t, "ended"),
		Worker:  TrimError(text.Draw(t, "worker")),
		Outcome: Outcome(rapid.Byte().Draw(t, "outcome")),
		Error:   TrimError(text.Draw(t, "error")),
	}
}

func drawHistory(t *rapid.T) (h History) {
	for range rapid.IntRange(0, MaxHistory+5).Draw(t, "attempts") {
		h = h.Add(drawAttempt(t))
	}
	return h
}

func TestHistoryKeepsTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h History
		var model []Attempt
		for range rapid.IntRange(0, 3*MaxHistory).Draw(t, "attempts") {
			a := drawAttempt(t)
			h, model = h.Add(a), append(model, a)
			if last, ok := h.Last(); !ok || last != a {
				t.Fatalf("Last %+v %v, want %+v", last, ok, a)
			}
		}
		model = model[max(0, len(model)-MaxHistory):]
		if got := slices.Collect(h.All()); !slices.Equal(got, model) || h.Len() != len(model) {
			t.Fatalf("got %+v\nwant %+v", got, model)
		}
	})
}

func TestHistoryAllStops(t *testing.T) {
	h := History{}.Add(Attempt{At: 1}).Add(Attempt{At: 2}).Add(Attempt{At: 3})
	var seen []int64
	for a := range h.All() {
		seen = append(seen, a.At)
		if a.At == 2 {
			break
		}
	}
	if !slices.Equal(seen, []int64{1, 2}) {
		t.Errorf("seen %v", seen)
	}
}

// Two futures of one past do not see each other: Add never writes where another
// history reads. Under -race the readers would also catch it in the act.
func TestHistoryIsImmutable(t *testing.T) {
	for past := range MaxHistory + 2 {
		var h History
		for i := range past {
			h = h.Add(Attempt{At: int64(i)})
		}
		before := slices.Collect(h.All())
		var both sync.WaitGroup
		futures := make([]History, 2)
		for i := range futures {
			both.Go(func() { futures[i] = h.Add(Attempt{At: int64(100 + i)}) })
		}
		both.Wait()
		if after := slices.Collect(h.All()); !slices.Equal(before, after) {
			t.Fatalf("%d attempts: the past became %+v", past, after)
		}
		for i, f := range futures {
			if last, _ := f.Last(); last.At != int64(100+i) {
				t.Fatalf("%d attempts: future %d ends with %+v", past, i, last)
			}
		}
	}
}

func TestHistoryMakesTextSafe(t *testing.T) {
	h := History{}.Add(Attempt{Worker: "w\r\n", Error: "a\nb" + strings.Repeat("x", MaxError)})
	a, _ := h.Last()
	if a.Worker != "w" || a.Error != "a b"+strings.Repeat("x", MaxError-3) {
		t.Errorf("%q %.20q", a.Worker, a.Error)
	}
}

// Many letters with one error hold its text once, whether they were made here or
// read from the log.
func TestHistorySharesText(t *testing.T) {
	text := func() string { return strings.Join([]string{"connection", "refused"}, " ") }
	a, _ := History{}.Add(Attempt{Error: text()}).Last()
	b, _ := History{}.Add(Attempt{Error: text()}).Last()
	l, _, err := ReadLetter(AppendLetter(nil, &Letter{Error: text(), History: History{}.Add(Attempt{Error: text()})}))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := l.History.Last()
	for i, other := range []string{b.Error, c.Error, l.Error} {
		if unsafe.StringData(other) != unsafe.StringData(a.Error) {
			t.Errorf("text %d is a copy", i)
		}
	}
}

func BenchmarkHistoryAdd(b *testing.B) {
	var h History
	a := Attempt{At: 1, Ended: 2, Worker: "worker-1", Outcome: OutcomeNak, Error: "connection refused"}
	b.ReportAllocs()
	for b.Loop() {
		h = h.Add(a)
	}
}
