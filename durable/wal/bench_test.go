package wal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// BenchmarkCommit is Append and Sync of 64 KiB commits: the latency that publishers see, rolls included.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int64{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprintf("generation=%dMiB", size), func(b *testing.B) { benchmarkCommits(b, 64<<10, size<<20) })
	}
}

// BenchmarkRoom is the same for the sizes of commits that ask for room, and one that does not.
func BenchmarkRoom(b *testing.B) {
	for _, size := range []int{300, 8 << 10, 32 << 10, 64 << 10, 128 << 10} {
		b.Run(fmt.Sprintf("commit=%dB", size), func(b *testing.B) { benchmarkCommits(b, size, 0) })
	}
}

// benchmarkCommits is Append and Sync of commits of a size, and of Drop.
func benchmarkCommits(b *testing.B, size int, generation int64) {
	l := open(b, b.TempDir(), Options{GenerationSize: generation})
	data := noise(1, size)
	var took []time.Duration
	b.SetBytes(int64(size))
	for b.Loop() {
		start := time.Now()
		check(b, l.Append(data))
		check(b, l.Sync())
		took = append(took, time.Since(start))
		if gens := l.Generations(); len(gens) > 8 {
			b.StopTimer()
			check(b, l.Drop(gens[0].First))
			b.StartTimer()
		}
	}
	slices.Sort(took)
	for _, p := range []int{50, 99, 100} {
		at := (len(took) - 1) * p / 100
		b.ReportMetric(float64(took[at].Microseconds()), fmt.Sprintf("p%d-µs", p))
	}
}

// BenchmarkRecover is the speed of recovery, for large commits and for small ones.
func BenchmarkRecover(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		b.Run(fmt.Sprintf("commit=%dB", size), func(b *testing.B) {
			dir := b.TempDir()
			l := open(b, dir, Options{})
			const total = 64 << 20
			data := noise(1, size)
			for range total / size {
				check(b, l.Append(data))
			}
			check(b, l.Close())
			b.SetBytes(total)
			for b.Loop() {
				l, err := Open(dir, Options{})
				check(b, err)
				check(b, l.Recover(func(uint64, []byte) error { return nil }))
				check(b, l.Close())
			}
		})
	}
}

// BenchmarkRead is a cold read of one message out of a commit, from the page cache.
func BenchmarkRead(b *testing.B) {
	l := open(b, b.TempDir(), Options{})
	for range 1000 {
		check(b, l.Append(noise(1, 64<<10)))
	}
	check(b, l.Sync())
	p := make([]byte, 1024)
	for b.Loop() {
		check(b, l.Read(1+rand.Uint64N(1000), 512, p))
	}
}
