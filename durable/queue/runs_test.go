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
			size := rapid.SampledFrom([]uint32{10, 10, 10, 20, 70_000}).Draw(t, "size")
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
				for range rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "n") {
					push(next, int64(commit)*rapid.SampledFrom([]int64{1, 1, 1, -1 << 40}).Draw(t, "time"))
					offset += rapid.SampledFrom([]uint32{0, 0, 0, 17}).Draw(t, "others")
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
				b, ok := r.head()
				if !ok {
					t.Skip("empty")
				}
				n := rapid.Uint32Range(1, b.n).Draw(t, "n")
				r.pop(n)
				for seq := range uint64(n) {
					delete(is, b.seq+seq)
				}
			},
			"carry some": func(*rapid.T) {
				if len(is) == 0 {
					t.Skip("empty")
				}
				commit, offset = commit+1, 0
				from, n := some(), rapid.SampledFrom([]int{4, 60}).Draw(t, "n")
				for _, seq := range slices.Sorted(maps.Keys(is)) {
					if seq < from {
						continue
					}
					if n--; n < 0 {
						break
					}
					size := is[seq].size + rapid.SampledFrom([]uint32{0, 0, 1}).Draw(t, "more")
					is[seq] = waiting{Place{commit, offset}, size, is[seq].at}
					r.move(run{seq: seq, commit: commit, at: is[seq].at, offset: offset, size: size, n: 1})
					offset += size
				}
			},
			"recover what came before": func(*rapid.T) {
				commit, offset = commit+1, 0
				from := rapid.Uint64Range(0, next).Draw(t, "from")
				for seq := from; seq < min(from+60, next); seq++ {
					if _, there := is[seq]; !there {
						push(seq, int64(commit))
					}
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
	n, bytes, err := r.check(next)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for b := range r.all() {
		for seq := b.seq; seq < b.end(); seq++ {
			seen++
			if got, want := (waiting{b.place(seq), b.size, b.at}), is[seq]; got != want {
				t.Fatalf("message %d is %+v, not %+v", seq, got, want)
			}
			bytes -= int64(b.size)
		}
	}
	if n != int64(seen) || bytes != 0 {
		t.Fatalf("%d messages counted as %d, with %d bytes too many", seen, n, bytes)
	}
	if seen != len(is) {
		t.Fatalf("%d messages in runs, not %d", seen, len(is))
	}
	for seq := next % 7; seq <= next; seq += 1 + next/40 {
		_, want := is[seq]
		if b, ok := r.find(seq); ok != want || ok && (seq < b.seq || seq >= b.end()) {
			t.Fatalf("message %d found: %t, there: %t", seq, ok, want)
		}
	}
	b, ok := r.head()
	if ok != (len(is) > 0) || ok && b.seq != slices.Min(slices.Collect(maps.Keys(is))) {
		t.Fatalf("the first is %d (%t) of %v", b.seq, ok, is)
	}
}

// few counts runs and blocks.
func (r *runs) few() (lines, blocks int) {
	for range r.all() {
		lines++
	}
	return lines, 1 + r.rest.Len()
}

// TestRunsStayFew proves that a burst of messages is one run, also after it was
// carried forward message by message.
func TestRunsStayFew(t *testing.T) {
	var r runs
	for seq := uint64(1); seq <= 1000; seq++ {
		r.push(run{seq: seq, commit: seq / 100, offset: uint32(seq%100) * 50, size: 50, at: int64(seq / 100), n: 1})
	}
	if n, blocks := r.few(); n != 11 || blocks != 1 {
		t.Errorf("%d runs of 11 commits in %d blocks", n, blocks)
	}
	for seq := uint64(1); seq <= 1000; seq++ {
		r.move(run{seq: seq, commit: 99, offset: uint32(seq) * 60, size: 60, at: int64(seq / 100), n: 1})
	}
	if n, blocks := r.few(); n != 11 || blocks != 1 {
		t.Errorf("%d runs in %d blocks after they were carried", n, blocks)
	}
}

// TestRunsGiveMemoryBack drains a backlog of messages that are a run each: from
// the front, at random, and all but some.
func TestRunsGiveMemoryBack(t *testing.T) {
	const n = 20_000
	for name, order := range map[string]func(i uint64) uint64{
		"from the front": func(i uint64) uint64 { return i },
		"at random":      func(i uint64) uint64 { return i * 7919 % n }, // a prime: all numbers
		"every tenth":    func(i uint64) uint64 { return i*10%n + i*10/n },
	} {
		t.Run(name, func(t *testing.T) {
			var r runs
			for seq := range uint64(n) {
				r.push(run{seq: seq, commit: seq, size: 50, at: int64(seq), n: 1})
			}
			for i := range uint64(n) {
				if r.remove(order(i)); r.n > 0 && i%(n/10) == 0 {
					if _, blocks := r.few(); int64(blocks) > r.n/4+1 {
						t.Errorf("%d messages are left, in %d blocks", r.n, blocks)
					}
				}
			}
			if r.n != 0 || r.rest.Len() != 0 {
				t.Errorf("%d messages in %d blocks are left of none", r.n, 1+r.rest.Len())
			}
		})
	}
}
