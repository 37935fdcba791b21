// Package throughput measures how many publishes are answered per second, side
// by side in one run: Dsend, which answers after fsync; an echo that stores
// nothing, which is the ceiling of the path; and JetStream file storage at its
// default (no fsync before the answer) and with sync_interval: always.
//
// Each runs as a process of its own on this machine, takes the same load from
// the same client code, and they take turns, so that the machine's drift
// cancels. It is a benchmark, never a test: make bench.
package throughput
