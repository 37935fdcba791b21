// Package recovery measures and proves a start after kill -9, beside NATS
// JetStream with the same messages in one work-queue stream.
//
//	publish ──► kill -9 ──► start ──► the queue tells how many messages it has
//	                         └───────────── measured ─────────────┘
//
// A start is over when a client that connects is told of all messages. The
// pages of the files are then still in the kernel's memory, for both alike: it
// is the process that is measured and not the disk.
//
//	go test ./cmd/dsend/recovery                   a start that is killed, again and again
//	go test -bench . -run - ./cmd/dsend/recovery   a minute for each million messages
//
// Everything is in the tests: nothing imports this package.
package recovery
