package retry

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// message is an owner with two deadlines, as in a queue.
type message struct {
	id          int
	due, expiry Deadline
}

func byDue() *Schedule[*message] { return NewSchedule(func(m *message) *Deadline { return &m.due }) }
func byExpiry() *Schedule[*message] {
	return NewSchedule(func(m *message) *Deadline { return &m.expiry })
}

// Scenario B2: what waits for long does not hide what waits for less.
func TestScheduleShortAfterLong(t *testing.T) {
	s := byDue()
	a, b, c := &message{id: 1}, &message{id: 2}, &message{id: 3}
	s.Set(a, 40e9)
	s.Set(b, 7e9)
	s.Set(c, math.MaxInt64)
	if at, ok := s.Next(); !ok || at != 7e9 {
		t.Fatalf("next at %d, %v", at, ok)
	}
	if m, ok := s.Pop(7e9 - 1); ok {
		t.Fatalf("message %d came early", m.id)
	}
	if m, ok := s.Peek(); !ok || m != b {
		t.Fatal("b is not in front")
	}
	if m, ok := s.Pop(7e9); !ok || m != b {
		t.Fatal("b did not come when due")
	}
	if b.due.Scheduled() || b.due.At() != 7e9 {
		t.Fatalf("b after Pop: %+v", b.due)
	}
	s.Set(a, 8e9) // earlier
	s.Set(c, 9e9)
	s.Set(a, 10e9) // later again
	if m, _ := s.Pop(math.MaxInt64); m != c {
		t.Fatal("c is not before a")
	}
	if m, _ := s.Pop(math.MaxInt64); m != a {
		t.Fatal("a is lost")
	}
}

func TestScheduleEmpty(t *testing.T) {
	s := byDue()
	if at, ok := s.Next(); ok {
		t.Errorf("Next: %d", at)
	}
	if m, ok := s.Peek(); ok || m != nil {
		t.Errorf("Peek: %v", m)
	}
	if m, ok := s.Pop(math.MaxInt64); ok || m != nil {
		t.Errorf("Pop: %v", m)
	}
	if s.Remove(&message{}) {
		t.Error("Remove found something")
	}
	if s.Len() != 0 {
		t.Errorf("Len: %d", s.Len())
	}
}

func TestOwnerInTwoSchedules(t *testing.T) {
	due, expiry := byDue(), byExpiry()
	m, n := &message{id: 1}, &message{id: 2}
	due.Set(m, 1)
	due.Set(n, 2)
	expiry.Set(n, 1)
	expiry.Set(m, 2)
	if !due.Remove(m) || m.due.Scheduled() || !m.expiry.Scheduled() {
		t.Fatal("removing one deadline touched the other")
	}
	if first, _ := expiry.Pop(2); first != n {
		t.Fatal("the schedules share an order")
	}
	if due.Len() != 1 || expiry.Len() != 1 {
		t.Fatalf("due %d, expiry %d", due.Len(), expiry.Len())
	}
}

// TestScheduleAgainstModel plays random calls on a schedule and on a plain
// table of times that is searched from end to end.
func TestScheduleAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, model := byDue(), map[*message]int64{}
		owners := make([]*message, rapid.IntRange(1, 200).Draw(t, "owners"))
		for i := range owners {
			owners[i] = &message{id: i}
		}
		owner := rapid.SampledFrom(owners)
		when := rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64())
		set := func(t *rapid.T) {
			m, at := owner.Draw(t, "owner"), when.Draw(t, "at")
			s.Set(m, at)
			model[m] = at
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": set, "set again": set, "and again": set,
			"remove": func(t *rapid.T) {
				m := owner.Draw(t, "owner")
				_, want := model[m]
				if got := s.Remove(m); got != want {
					t.Fatalf("Remove: %v, want %v", got, want)
				}
				delete(model, m)
			},
			"pop": func(t *rapid.T) {
				now := when.Draw(t, "now")
				front, _ := s.Peek()
				m, ok := s.Pop(now)
				at, some := earliest(model)
				if want := some && at <= now; ok != want {
					t.Fatalf("Pop(%d): %v, want %v", now, ok, want)
				}
				if ok && (model[m] != at || m != front) {
					t.Fatalf("Pop(%d): message %d of %d, want one of %d", now, m.id, model[m], at)
				}
				delete(model, m)
			},
			"": func(t *rapid.T) { compare(t, s, model, owners) },
		})
	})
}

func earliest(model map[*message]int64) (at int64, ok bool) {
	at = math.MaxInt64
	for _, a := range model {
		at, ok = min(at, a), true
	}
	return at, ok
}

func compare(t *rapid.T, s *Schedule[*message], model map[*message]int64, owners []*message) {
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if s.Len() != len(model) {
		t.Fatalf("Len %d, want %d", s.Len(), len(model))
	}
	want, some := earliest(model)
	if at, ok := s.Next(); ok != some || ok && at != want {
		t.Fatalf("Next %d %v, want %d %v", at, ok, want, some)
	}
	if all := slices.Collect(s.All()); len(all) != len(model) {
		t.Fatalf("All yields %d, want %d", len(all), len(model))
	}
	for m := range s.All() {
		if _, on := model[m]; !on {
			t.Fatalf("All yields message %d, which is not scheduled", m.id)
		}
	}
	for _, m := range owners {
		at, on := model[m]
		if m.due.Scheduled() != on || on && m.due.At() != at {
			t.Fatalf("message %d: %+v, want %d %v", m.id, m.due, at, on)
		}
	}
	for i, x := range s.slots[len(s.slots):cap(s.slots)] {
		if x.owner != nil {
			t.Fatalf("vacated place %d keeps message %d alive", len(s.slots)+i+1, x.owner.id)
		}
	}
}

func TestScheduleAllStops(t *testing.T) {
	s, _ := filled(20)
	n := 0
	for range s.All() {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d yielded", n)
	}
}

func TestSameCallsSameOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 3), 1, 300).Draw(t, "times")
		if a, b := popAll(times), popAll(times); !slices.Equal(a, b) {
			t.Fatalf("%v\n%v", a, b)
		}
	})
}

func popAll(times []int64) (ids []int) {
	s := byDue()
	for id, at := range times {
		s.Set(&message{id: id}, at)
	}
	for m, ok := s.Pop(math.MaxInt64); ok; m, ok = s.Pop(math.MaxInt64) {
		ids = append(ids, m.id)
	}
	return ids
}

func TestScheduleShrinksAfterABurst(t *testing.T) {
	s := byDue()
	for id := range 100_000 {
		s.Set(&message{id: id}, int64(id))
	}
	for s.Len() > 10 {
		s.Pop(math.MaxInt64)
	}
	if cap(s.slots) > shrinkAbove {
		t.Errorf("10 owners hold %d places", cap(s.slots))
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if m, _ := s.Peek(); m.id != 99_990 {
		t.Errorf("message %d is in front", m.id)
	}
}

func TestScheduleAllocatesOnlyToGrow(t *testing.T) {
	s, owners := filled(1000)
	i := 0
	allocs := testing.AllocsPerRun(1000, func() {
		i = (i + 7) % len(owners)
		m, _ := s.Pop(math.MaxInt64)
		s.Set(m, int64(i))
		s.Set(owners[i], int64(i)*13)
		s.Remove(owners[i])
		s.Set(owners[i], int64(i))
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestCheckFindsDisorder(t *testing.T) {
	for word, spoil := range map[string]func(*Schedule[*message]){
		"thinks":  func(s *Schedule[*message]) { s.slots[3].owner.due.pos = 1 },
		"set for": func(s *Schedule[*message]) { s.slots[3].owner.due.at++ },
		"parent":  func(s *Schedule[*message]) { s.slots[9].at, s.slots[9].owner.due.at = -1, -1 },
	} {
		s, _ := filled(20)
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		spoil(s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want an error that says %q", err, word)
		}
	}
}

// filled returns a schedule of n messages in scattered order.
func filled(n int) (*Schedule[*message], []*message) {
	s, owners := byDue(), make([]*message, n)
	for i := range owners {
		owners[i] = &message{id: i}
		s.Set(owners[i], int64(mix(uint64(i))>>1))
	}
	return s, owners
}

const million = 1_000_000

// A message of a million gets a new deadline.
func BenchmarkSetMove(b *testing.B) {
	s, owners := filled(million)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Set(owners[i%million], int64(mix(uint64(i+million))>>1))
	}
}

// The earliest of a million is popped and comes back later: a retry.
func BenchmarkPopSet(b *testing.B) {
	s, _ := filled(million)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m, _ := s.Pop(math.MaxInt64)
		s.Set(m, m.due.At()+int64(mix(uint64(i))>>8))
	}
}

// A million messages are set and popped, growth and shrinking included.
func BenchmarkFillAndDrainMillion(b *testing.B) {
	owners := make([]message, million)
	b.ReportAllocs()
	for b.Loop() {
		s := byDue()
		for i := range owners {
			s.Set(&owners[i], int64(mix(uint64(i))>>1))
		}
		for s.Len() > 0 {
			s.Pop(math.MaxInt64)
		}
	}
}
