package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latency is a distribution, in ns.
type Latency struct {
	Count int64         `json:"count"`
	Mean  time.Duration `json:"mean_ns"`
	P50   time.Duration `json:"p50_ns"`
	P90   time.Duration `json:"p90_ns"`
	P99   time.Duration `json:"p99_ns"`
	P999  time.Duration `json:"p999_ns"`
	Max   time.Duration `json:"max_ns"`
}

// longest is the longest time that is told from a longer one.
const longest = 10 * time.Minute

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(longest), 3) }

// record notes a time. What is out of range counts as the bound of it.
func record(h *hdrhistogram.Histogram, ns int64) {
	_ = h.RecordValue(min(max(ns, 1), int64(longest))) // in range
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) }
	return Latency{
		Count: h.TotalCount(), Mean: time.Duration(h.Mean()),
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: time.Duration(h.Max()),
	}
}
