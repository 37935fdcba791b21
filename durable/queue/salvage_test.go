package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dsend/testkit"
)

// salvage recovers what is left of a log when some of its commits are lost, and
// mends it. It gives the log with an empty commit for each lost one, and the
// one that mends.
func salvage(t tester, log []entry, lost func(number uint64) bool) (*Salvage, Losses, []entry) {
	t.Helper()
	v := NewSalvage(testConfig())
	var left []entry
	for _, e := range log {
		if lost(e.number) {
			v.Lose(e.number, e.number)
			left = append(left, entry{number: e.number})
			continue
		}
		if err := v.Recover(e.number, e.data); err != nil {
			t.Fatal(err)
		}
		left = append(left, e)
	}
	losses := v.Losses()
	var out Out
	last := log[len(log)-1].number
	v.State().Begin(last+1, v.State().Now(), &out)
	v.Mend([16]byte{9, 9}, &out)
	if !out.Empty() {
		left = append(left, entry{last + 1, slices.Clone(out.Records)})
	}
	if err := v.State().Recovered(); err != nil {
		t.Fatal(err)
	}
	if err := v.State().Check(); err != nil {
		t.Fatal(err)
	}
	return v, losses, left
}

// TestSalvage loses commits of a log in the middle of which messages come and
// go, and compares what is told, queue by queue.
func TestSalvage(t *testing.T) {
	pub := func(r *rig, n int) {
		for range n {
			r.done(t, &Publish{Queue: "q", Subject: []byte("q"), Body: []byte("body"), MaxAttempts: -1})
		}
	}
	fetch := func(r *rig, n int) []Speech {
		out := r.do(t, &Pull{Queue: "q", Consumer: PullConsumer, Inbox: "_INBOX.a.1", Peer: "_INBOX.a", Batch: n, NoWait: true})
		return slices.DeleteFunc(slices.Clone(out.Speech), func(s Speech) bool { return s.Status != 0 })
	}
	say := func(r *rig, s Speech, verb Verb) {
		r.do(t, &Answer{QueueID: s.QueueID, Seq: s.Seq, Delivery: s.Delivery, Verb: verb, Reply: []byte("r")})
	}
	for what, c := range map[string]struct {
		life func(r *rig) (first, last uint64) // lost commits
		want string
	}{
		"published, and others later": {func(r *rig) (uint64, uint64) {
			pub(r, 2)
			first := r.last + 1
			pub(r, 3)
			last := r.last
			pub(r, 1)
			return first, last
		}, "q: lost 3-5, doubtful 1-2"},
		"published last": {func(r *rig) (uint64, uint64) {
			pub(r, 2)
			first := r.last + 1
			pub(r, 3)
			return first, r.last
		}, "q: from 3, doubtful 1-2"},
		"spoken of later": {func(r *rig) (uint64, uint64) {
			pub(r, 2)
			first := r.last + 1
			pub(r, 3)
			last := r.last
			got := fetch(r, 4)
			say(r, got[0], Ack)
			say(r, got[2], Ack)
			return first, last
		}, "q: lost 4, from 5"},
		"answered": {func(r *rig) (uint64, uint64) {
			pub(r, 3)
			got := fetch(r, 3)
			first := r.last + 1
			say(r, got[0], Ack)
			last := r.last
			say(r, got[1], Nak)
			return first, last
		}, "q: from 4, doubtful 1, doubtful 3"},
		"died": {func(r *rig) (uint64, uint64) {
			pub(r, 1)
			got := fetch(r, 1)
			first := r.last + 1
			say(r, got[0], Term)
			last := r.last
			pub(r, 1)
			return first, last
		}, "q: doubtful 1"},
		"a letter was made": {func(r *rig) (uint64, uint64) {
			pub(r, 1)
			first := r.last + 1
			pub(r, 1)
			last := r.last
			got := fetch(r, 2)
			say(r, got[1], Term)
			return first, last
		}, "q: from 3\nq-dlq: lost 1"},
		"the queue": {func(r *rig) (uint64, uint64) {
			first := r.last + 1
			pub(r, 1)
			last := r.last
			pub(r, 2)
			return first, last
		}, "recovered-1 (unnamed): unsure 1"},
		"the queue, but a letter has its name": {func(r *rig) (uint64, uint64) {
			first := r.last + 1
			pub(r, 1)
			last := r.last
			pub(r, 2)
			say(r, fetch(r, 3)[1], Term)
			return first, last
		}, "q (unnamed): lost 1"}, // it was delivered later
		"the end of a queue": {func(r *rig) (uint64, uint64) {
			pub(r, 2)
			first := r.last + 1
			r.done(t, &Remove{Name: "q"})
			last := r.last
			pub(r, 1)
			return first, last
		}, "q (removed): doubtful 1-2"},
		"the secret": {func(r *rig) (uint64, uint64) {
			return 1, 1
		}, "secret"},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, testConfig())
			if what != "the secret" {
				r.done(t, &Declare{Name: "other", Settings: Defaults(), Source: FromAPI})
			}
			if strings.HasPrefix(what, "the queue") {
				r = newRig(t, testConfig())
			}
			first, last := c.life(r)
			if what == "the secret" {
				r.done(t, &Declare{Name: "other", Settings: Defaults(), Source: FromAPI})
			}
			_, losses, _ := salvage(t, r.log, func(n uint64) bool { return n >= first && n <= last })
			if got := told(losses); got != c.want {
				t.Errorf("told is\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// told are losses as lines of text, without those of the queue "other".
func told(l Losses) string {
	var lines []string
	if l.Secret {
		lines = append(lines, "secret")
	}
	for _, q := range l.Queues {
		if q.Queue == "other" {
			continue
		}
		var parts []string
		list := func(word string, ranges []Range) {
			for _, r := range ranges {
				parts = append(parts, fmt.Sprint(word, " ", r))
			}
		}
		list("lost", q.Lost)
		list("unsure", q.Unsure)
		if q.From > 0 {
			parts = append(parts, fmt.Sprint("from ", q.From))
		}
		list("doubtful", q.Doubtful)
		name := q.Queue
		if q.Unnamed {
			name += " (unnamed)"
		}
		if q.Removed {
			name += " (removed)"
		}
		lines = append(lines, name+": "+strings.Join(parts, ", "))
	}
	return strings.Join(lines, "\n")
}

// TestSalvageRandom loses commits of random lives. What is salvaged is compared
// with the whole: whatever is missing is told to be lost, whatever is there and
// should not be is told to be in doubt, no number is given again, and a store
// that recovers the mended log has the same.
func TestSalvageRandom(t *testing.T) {
	c := seeded{testkit.Dice(t)}
	logs := 15
	if testkit.Storm() {
		logs = 1000
	}
	missing, extra := 0, 0
	for range logs {
		log := someLog(t, c.Uint64())
		whole, err := recoverState(testConfig(), log)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			first := c.n(len(log))
			n, second := 1+c.n(4), c.n(len(log))
			lost := func(number uint64) bool {
				i := int(number - log[0].number)
				return i >= first && i < first+n || i == second
			}
			v, losses, left := salvage(t, log, lost)
			m, e := compareSalvaged(t, whole, v.State(), losses)
			missing, extra = missing+m, extra+e
			again, err := recoverState(testConfig(), left)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := dump(again), dump(v.State()); a != b {
				t.Fatalf("the mended log recovers to something else: %s", difference(a, b))
			}
			liveOn(again)
		}
	}
	t.Logf("%d messages were lost, %d came back", missing, extra)
	if missing == 0 || extra == 0 {
		t.Error("nothing is tried")
	}
}

// compareSalvaged counts what is in one State and not in the other.
func compareSalvaged(t *testing.T, whole, saved *State, losses Losses) (missing, extra int) {
	t.Helper()
	told := map[uint32]QueueLosses{}
	for _, l := range losses.Queues {
		if q := saved.byName[l.Queue]; q != nil && !l.Removed {
			told[q.id] = l
		}
	}
	for id, q := range whole.byID {
		kept := saved.byID[id]
		if kept != nil && (kept.next < q.next || kept.deliveries < q.deliveries) {
			t.Fatalf("queue %s gives the numbers from %d again, it was at %d", q.name, kept.next, q.next)
		}
		if id > saved.lastID {
			t.Fatalf("number %d of queue %s is given again", id, q.name)
		}
		for m := range q.walk(0) {
			if kept != nil {
				if _, ok := kept.lookup(m.seq); ok {
					continue
				}
			}
			missing++
			l, ok := told[id]
			if kept == nil || ok && l.From > 0 && m.seq >= l.From {
				continue // nothing is left that speaks of it
			}
			if !within(l.Lost, m.seq) && !within(l.Unsure, m.seq) {
				t.Fatalf("message %d of %s is gone, and told is %+v", m.seq, q.name, l)
			}
		}
	}
	for id, q := range saved.byID {
		for m := range q.walk(0) {
			if was := whole.byID[id]; was != nil {
				if _, ok := was.lookup(m.seq); ok {
					continue
				}
			}
			extra++
			if !within(told[id].Doubtful, m.seq) {
				t.Fatalf("message %d of %s is back, and told is %+v", m.seq, q.name, told[id])
			}
		}
	}
	return missing, extra
}

func within(ranges []Range, seq uint64) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool { return r.First <= seq && seq <= r.Last })
}

func TestNumbers(t *testing.T) {
	c := newSeeded(1)
	for range 2000 {
		var n numbers
		want := map[uint64]bool{}
		for range 12 {
			first := uint64(1 + c.n(30))
			last := first + uint64(c.n(6))
			add := c.n(2) == 0
			if add {
				n.add(first, last)
			} else {
				n.remove(first, last)
			}
			for seq := first; seq <= last; seq++ {
				want[seq] = add
			}
			end := uint64(0)
			for _, r := range n {
				if r.First <= end+1 && end > 0 || r.Last < r.First || r.Count != r.Last-r.First+1 {
					t.Fatalf("%v", n)
				}
				end = r.Last
			}
			for seq := range uint64(40) {
				if within(n, seq) != want[seq] {
					t.Fatalf("%d in %v: %t", seq, n, !want[seq])
				}
			}
		}
	}
}
