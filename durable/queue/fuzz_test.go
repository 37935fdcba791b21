package queue

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"runtime"
	"testing"
)

// The checksums of the log keep damage away from the decoders. These tests ask
// what happens if they do not: an error or a strange state, but no panic, no
// hang, and no more memory than a small multiple of the bytes.

// someLog is the log of a short random world.
func someLog(t tester, seed uint64) []entry {
	w := newWorld(t)
	c := newSeeded(seed)
	for range 60 {
		w.step(c)
		w.now++ // the log was synced meanwhile
	}
	return w.log
}

// mend makes the checksums of all messages right, so that what is behind them
// is reached too.
func mend(data []byte) []byte {
	data = append([]byte(nil), data...)
	for rest := data; ; {
		kind, body, size, err := split(rest)
		if err != nil {
			return data
		}
		if kind == kindMessage && len(body) >= 4 {
			binary.LittleEndian.PutUint32(body, crc32.Checksum(body[4:], castagnoli))
		}
		rest = rest[size:]
	}
}

// memoryOf is how many bytes fn allocates.
func memoryOf(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzRecover(f *testing.F) {
	for seed := range uint64(5) {
		log := someLog(f, seed)
		for i := 0; i+1 < len(log); i += 2 {
			f.Add(log[i].data, log[i+1].data)
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, log := range [][]entry{{{1, a}, {2, b}}, {{1, mend(a)}, {2, mend(b)}}} {
			var s *State
			var err error
			used := memoryOf(func() { s, err = recoverState(testConfig(), log) })
			if limit := uint64(1<<20 + 2048*(len(a)+len(b))); used > limit {
				t.Errorf("%d bytes of memory for %d of log", used, len(a)+len(b))
			}
			if err == nil {
				liveOn(s)
			}
		}
	})
}

// liveOn has a State do what a State does.
func liveOn(s *State) {
	var out Out
	now := s.Now()
	for _, step := range []int64{0, 1, math.MaxInt32, 1 << 50} {
		if now > math.MaxInt64-step {
			break
		}
		now += step
		s.Begin(3, now, &out)
		s.Tick(now, &out)
		for _, i := range s.Infos() {
			page, _ := s.List(List{Queue: i.Name, Limit: 3})
			s.Step(&Pull{Queue: i.Name, Inbox: "in", Peer: "p", Batch: 3}, now, &out)
			for _, e := range page {
				s.Step(&Answer{QueueID: i.ID, Seq: e.Seq, Delivery: i.Deliveries, Verb: Nak}, now, &out)
				s.Step(&Kill{Name: i.Name, Seq: e.Seq}, now, &out)
				s.Step(&Replay{Name: i.Name, Seq: e.Seq}, now, &out)
			}
			s.Step(&Publish{Queue: i.Name, MaxAttempts: -1}, now, &out)
		}
		s.Step(&Carry{Through: 2, Finish: true}, now, &out)
		s.Match(now, &out)
		s.Next()
		out = Out{}
	}
}

func FuzzDecodeMessage(f *testing.F) {
	for _, e := range someLog(f, 7) {
		for _, record := range Messages(e.data) {
			f.Add(record)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, record := range [][]byte{data, mend(data)} {
			var m Message
			var err error
			if used := memoryOf(func() { m, err = DecodeMessage(record) }); used > uint64(1<<16+64*len(data)) {
				t.Errorf("%d bytes of memory for %d", used, len(data))
			}
			if err != nil {
				continue
			}
			again, err := DecodeMessage(m.encode(nil))
			if err != nil || string(again.encode(nil)) != string(m.encode(nil)) {
				t.Errorf("%+v is read as %+v: %v", m, again, err)
			}
		}
	})
}
