package durable

import (
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"dsend/durable/queue"
)

// An op that is done is not held any longer, though nothing comes after it.
func TestWhatIsDoneIsForgotten(t *testing.T) {
	play(t, func(t *testing.T) {
		s, r := open(t, newMemLog(), noCache)
		op := publish(string(make([]byte, 1<<20)))
		ref := weak.Make(op)
		submit(t, s, op, &queue.Space{})
		synctest.Wait()
		if len(r.answers()) != 1 {
			t.Fatal("it is not answered")
		}
		other := publish("done by Do")
		ref2 := weak.Make(other)
		do(t, s, other)
		op, other = nil, nil
		r.forget()
		synctest.Wait()
		runtime.GC()
		if ref.Value() != nil || ref2.Value() != nil {
			t.Error("a publish that was answered is still in memory")
		}
	})
}

// A burst does not make the store large for ever.
func TestABurstGivesItsMemoryBack(t *testing.T) {
	play(t, func(t *testing.T) {
		s, r := open(t, newMemLog())
		ops := make([]queue.Op, 40_000)
		refused := &queue.Publish{Queue: "no queue's name"}
		for i := range ops {
			ops[i] = refused
		}
		submit(t, s, ops...)
		do(t, s, publish(string(make([]byte, 3*maxCommit))))
		r.forget()
		for range 5 {
			do(t, s, publish("body"))
			synctest.Wait()
			s.mu.Lock()
			if n := cap(s.inbox); n > keepItems {
				t.Errorf("the inbox has room for %d items", n)
			}
			s.mu.Unlock()
			for range len(s.spare) {
				b := <-s.spare
				if n, m := cap(b.out.Records), cap(b.out.Replies); n > 2*maxCommit || m > keepSaid {
					t.Errorf("a batch has room for %d bytes and %d replies", n, m)
				}
				s.spare <- b
			}
		}
	})
}

// What a batch held is not held by the next one.
func TestABatchIsCleared(t *testing.T) {
	s := &Store{spare: make(chan *batch, 1)}
	b := &batch{ops: 1, bytes: 2, progress: progress{3, 4, 5}}
	b.out.Records = append(b.out.Records, "records"...)
	b.out.Replies = append(b.out.Replies, queue.Reply{Op: publish("")}, queue.Reply{Op: publish("")})
	b.out.Changed = append(b.out.Changed, "q")
	b.changed = append(b.changed, queue.Info{Name: "q"})
	b.call(item{op: publish(""), reply: make(chan queue.Reply)}, 1)
	s.recycle(b)
	again := s.fresh()
	if again != b {
		t.Fatal("it was not kept")
	}
	if again.ops != 0 || again.bytes != 0 || again.progress != (progress{}) || !again.out.Empty() || !again.out.Quiet() {
		t.Errorf("it is %+v", again)
	}
	for _, r := range again.out.Replies[:2] {
		if r.Op != nil {
			t.Error("a reply is still there")
		}
	}
	if again.calls[:1][0].to != nil || again.changed[:1][0].Name != "" {
		t.Error("a call or a queue is still there")
	}
}

// The cache is as large as it was told to be, however small the commits are.
func TestTheCacheIsBounded(t *testing.T) {
	c := newCache(10_000)
	for n := uint64(1); n <= 20_000; n++ {
		c.add(n, []byte{byte(n)}, n%2 == 0)
	}
	if len(c.list) > 10_000/entryCost || cap(c.list) > 4*10_000/entryCost {
		t.Errorf("%d commits are in a cache of 10,000 bytes, with room for %d", len(c.list), cap(c.list))
	}
	large := make([]byte, 1<<20)
	c.add(20_001, large, true)
	large[5] = 1
	if got := c.get(20_001, 5, 1); len(got) != 1 || got[0] != 0 {
		t.Error("the newest commit is not in the cache as it was")
	}
	if len(c.list) != 1 {
		t.Errorf("beside a commit that is larger than the cache there are %d", len(c.list)-1)
	}
	for _, place := range []queue.Place{{Commit: 20_000}, {Commit: 20_002}, {Commit: 0}, {Commit: 20_001, Offset: 1 << 20}, {Commit: 20_001, Offset: 1<<32 - 1}} {
		if c.get(place.Commit, place.Offset, 1) != nil {
			t.Errorf("something is at %+v", place)
		}
	}
}
