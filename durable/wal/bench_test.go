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
		b.Run(fmt.Sprintf("generation=%dMiB", size), func(b *testing.B) {
			l := open(b, b.TempDir(), Options{GenerationSize: size << 20})
			data := noise(1, 64<<10)
			var took []time.Duration
			b.SetBytes(int64(len(data)))
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
		})
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
