// Package bench is the load of dsend bench: producers and workers that a server
// is measured with, and the comparison of Dsend with what a NATS user has
// otherwise.
//
//	Publish, Work, Life      one load on one server: messages per second, latencies
//	Compare                  the rows of BENCHMARKS.md, in one run on this machine
//
//	       compare                                   one load
//	┌──────────────────────────┐        ┌───────────────────────────────────┐
//	│ dsend             process│◄───────┤ publishers: a window of publishes │
//	│ echo              process│ one at │ per connection                    │
//	│ JetStream         process│ a time ├───────────────────────────────────┤
//	│ JetStream, always process│◄───────┤ workers: pull, ack                │
//	└──────────────────────────┘        └───────────────────────────────────┘
//
// # What is measured
//
// Every client is one connection of nats.go. Without a rate, a publisher keeps
// its window full: each answer makes room for the next publish, and the latency
// is from the publish to its answer. With a rate, publishes have their times; the
// latency is from the time a publish should have been sent, so that a server that
// stalls is not asked less and does not look better for it (coordinated omission).
// The duration ends it all the same: of a rate that is out of reach, the publishes
// still to come are not sent, and the rate that was reached is told.
// Latencies are kept in HdrHistograms of three digits.
//
// A worker has at most two batches on their way, asks again when half of what it
// asked for has come, and acks each message without waiting. Of Life, the latency
// is from the publish to the worker; messages that others have published, or an
// earlier load, are acked and have none. A number of deliveries is exact: what comes
// beyond it is not acked, and is delivered again later.
//
// The two modes differ in two subjects: where is published, and where is asked for
// messages. Requests, statuses and acks are JetStream's in both; natively, a worker
// asks for deliveries without Dsend's own headers ("no_headers"), which JetStream's
// have not either.
//
// # What is compared
//
// All contenders take their turns in each round, A B A B, so that the drift of the
// machine cancels; a row's ratios are those of the rounds, shown as minimum,
// median and maximum. Each is a process of its own on this machine:
//
//	dsend              dsend serve with its defaults: fsync before every answer
//	dsend-as-jetstream the same, spoken to in the subjects of a JetStream client
//	echo               a NATS server and an ordinary client in its process that answers
//	                   at once and stores nothing: the ceiling of the path
//	jetstream          JetStream, file storage, work-queue retention, its defaults: no
//	                   fsync before the answer
//	jetstream-always   the same with sync_interval: always
//
// A Dsend with a backlog has its turns beside one without, both after they have
// warmed up, and both with so much storage slack that nothing is compacted: what
// compaction costs beside publishes is BenchmarkCompactionBacklog of package durable.
//
// The device's own fdatasync is measured in each round beside the lone publisher,
// in the folder that the contenders have their data in. It must be on the disk
// that is meant: in a memory file system a sync costs nothing.
//
// # When something fails
//
// A refused publish, a lost connection, a contender that ends, and silence of half
// a minute end the run with one error. The contenders are stopped and their data
// removed however it ends; only a kill -9 of the run itself leaves the folder.
package bench
