package queue

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// waiting is what a run says of one message.
type waiting struct {
	place Place
	size  uint32
	at    int64
}

// TestRunsAreALineOfMessages holds runs beside a plain map while messages are
// published, taken out anywhere, and carried forward.
func TestRunsAreALineOfMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r runs
		is := map[uint64]waiting{}
		next, commit, offset := uint64(1), uint64(1), uint32(0)
		push := func(seq uint64, at int64) {
			size := rapid.SampledFrom([]uint32{10, 10, 10, 20}).Draw(t, "size")
			is[seq] = waiting{Place{commit, offset}, size, at}
			r.push(run{seq: seq, commit: commit, at: at, offset: offset, size: size, n: 1})
			offset += size
		}
		some := func() uint64 {
			seqs := slices.Sorted(maps.Keys(is))
			return seqs[rapid.IntRange(0, len(seqs)-1).Draw(t, "which")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(*rapid.T) {
				for range rapid.IntRange(1, 5).Draw(t, "n") {
					push(next, int64(commit))
					next += rapid.SampledFrom([]uint64{1, 1, 1, 3}).Draw(t, "gap")
				}
			},
			"commit": func(*rapid.T) { commit, offset = commit+1, 0 },
			"remove": func(t *rapid.T) {
				if len(is) == 0 {
					t.Skip("empty")
				}
				seq := some()
				r.remove(seq)
				delete(is, seq)
			},
			"take the first": func(t *rapid.T) {
				b, ok := r.first()
				if !ok {
					t.Skip("empty")
				}
				r.remove(b.seq)
				delete(is, b.seq)
			},
			"carry the oldest": func(*rapid.T) {
				commit, offset = commit+1, 0
				for i, seq := range slices.Sorted(maps.Keys(is)) {
					if i == 4 {
						break
					}
					at := is[seq].at
					r.remove(seq)
					push(seq, at)
				}
			},
			"": func(t *rapid.T) { checkLine(t, &r, is, next) },
		})
	})
}

func checkLine(t *rapid.T, r *runs, is map[uint64]waiting, next uint64) {
	if r.n != int64(len(is)) {
		t.Fatalf("%d messages, counted as %d", len(is), r.n)
	}
	seen := 0
	for _, b := range r.live() {
		for seq := b.seq; seq < b.end(); seq++ {
			seen++
			if got, want := (waiting{b.place(seq), b.size, b.at}), is[seq]; got != want {
				t.Fatalf("message %d is %+v, not %+v", seq, got, want)
			}
		}
	}
	if seen != len(is) {
		t.Fatalf("%d messages in runs, not %d", seen, len(is))
	}
	for seq := uint64(0); seq <= next; seq++ {
		_, want := is[seq]
		if b, ok := r.find(seq); ok != want || ok && (seq < b.seq || seq >= b.end()) {
			t.Fatalf("message %d found: %t, there: %t", seq, ok, want)
		}
	}
	b, ok := r.first()
	if ok != (len(is) > 0) || ok && b.seq != slices.Min(slices.Collect(maps.Keys(is))) {
		t.Fatalf("the first is %d (%t) of %v", b.seq, ok, is)
	}
	if unused := r.head + r.gaps; unused > runsKept && unused > len(r.list)/2 {
		t.Fatalf("%d of %d places are unused", unused, len(r.list))
	}
}

// TestRunsStayFew proves that a burst of messages is one run, also after it was
// carried forward message by message.
func TestRunsStayFew(t *testing.T) {
	var r runs
	for seq := uint64(1); seq <= 1000; seq++ {
		r.push(run{seq: seq, commit: seq / 100, offset: uint32(seq%100) * 50, size: 50, at: int64(seq / 100), n: 1})
	}
	if n := len(r.live()) - r.gaps; n != 11 {
		t.Errorf("%d runs of 11 commits", n)
	}
	for seq := uint64(1); seq <= 1000; seq++ {
		r.remove(seq)
		r.push(run{seq: seq, commit: 99, offset: uint32(seq) * 60, size: 60, at: int64(seq / 100), n: 1})
	}
	if n := len(r.live()) - r.gaps; n != 11 {
		t.Errorf("%d runs after they were carried", n)
	}
}

// TestRunsGiveMemoryBack drains a backlog of messages that are a run each.
func TestRunsGiveMemoryBack(t *testing.T) {
	var r runs
	for seq := uint64(1); seq <= 100_000; seq++ {
		r.push(run{seq: seq, commit: seq, size: 50, at: int64(seq), n: 1})
	}
	for seq := uint64(1); seq < 100_000; seq++ {
		r.remove(seq)
	}
	if c := cap(r.list); c > 4*runsKept {
		t.Errorf("one run is left, in a list of %d places", c)
	}
}
