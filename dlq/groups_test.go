package dlq

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestGroups(t *testing.T) {
	var g Groups
	if s := g.Sorted(); len(s) != 0 {
		t.Fatalf("nothing was added, but: %+v", s)
	}
	add := func(seq uint64, r Reason, text, subject string, died int64) {
		g.Add(seq, &Letter{Reason: r, Error: text, OriginSubject: subject, DiedAt: died})
	}
	add(1, ReasonMaxAttempts, "order 1 refused", "orders.1.new", 100)
	add(2, ReasonMaxAttempts, "order 2 refused", "orders.2.new", 300)
	add(3, ReasonMaxAttempts, "order 3 refused", "orders.3.new", 200)
	add(4, ReasonTerminated, "order 4 refused", "orders.4.new", 5)
	add(5, ReasonExpired, "", "orders.5.new", -5)
	add(6, ReasonExpired, "", "invoices", 7)
	add(7, ReasonExpired, "", "invoices", 7)
	want := []Group{
		{ReasonMaxAttempts, "order # refused", "orders.*.new", 3, 100, 300, "order 2 refused", 2},
		{ReasonExpired, "", "invoices", 2, 7, 7, "", 7},
		{ReasonExpired, "", "orders.*.new", 1, -5, -5, "", 5},
		{ReasonTerminated, "order # refused", "orders.*.new", 1, 5, 5, "order 4 refused", 4},
	}
	if got := g.Sorted(); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

func TestGroupsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := make([]Letter, rapid.IntRange(0, 40).Draw(t, "letters"))
		seqs := make([]uint64, len(letters))
		for i := range letters {
			seqs[i] = uint64(i + 1)
			letters[i] = Letter{
				Reason:        Reason(rapid.IntRange(1, 2).Draw(t, "reason")),
				Error:         rapid.SampledFrom([]string{"", "a 1", "a 2", "b"}).Draw(t, "error"),
				OriginSubject: rapid.SampledFrom([]string{"s", "s.1", "s.2"}).Draw(t, "subject"),
				DiedAt:        rapid.Int64Range(-3, 3).Draw(t, "died"),
			}
		}
		var inOrder, shuffled Groups
		for _, seq := range seqs {
			inOrder.Add(seq, &letters[seq-1])
		}
		for _, seq := range rapid.Permutation(seqs).Draw(t, "order") {
			shuffled.Add(seq, &letters[seq-1])
		}
		if a, b := inOrder.Sorted(), shuffled.Sorted(); !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v\n%+v", a, b)
		}
		if n := total(inOrder.Sorted()); n != len(letters) {
			t.Fatalf("%d counted of %d", n, len(letters))
		}
	})
}

func total(groups []Group) (n int) {
	for _, g := range groups {
		n += g.Count
	}
	return n
}

func TestGroupsAreBounded(t *testing.T) {
	var g Groups
	const letters = MaxGroups + 500
	for i := range letters {
		word := fmt.Sprintf("%c%c%c%c", 'g'+i/1000%20, 'g'+i/100%10, 'g'+i/10%10, 'g'+i%10)
		g.Add(uint64(i+1), &Letter{Reason: Reason(1 + i%2), Error: word, OriginSubject: "s"})
	}
	sorted := g.Sorted()
	if len(sorted) != MaxGroups+2 || total(sorted) != letters {
		t.Errorf("%d groups of %d letters", len(sorted), total(sorted))
	}
	for i, o := range sorted[:2] { // the largest: all others have one
		if o.Error != OtherCauses || o.Reason != Reason(i+1) || o.Count != 250 {
			t.Errorf("%+v", o)
		}
	}
}

func BenchmarkGroupsAdd(b *testing.B) {
	var g Groups
	l := Letter{Error: "dial tcp 10.0.0.1:5432: connect: connection refused", OriginSubject: "orders.17.new"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		g.Add(uint64(i), &l)
	}
}
