// Package durable keeps a queue.State on disk: the one loop that owns the
// state and the log.
//
//	Submit ─► inbox ─┐                                     ┌─► Speaker.Replies
//	Do, View ────────┤    ┌───────────────────────────┐    │
//	                 └──► │ loop: take all that came,  │    ├─► Speaker.Speak (with bodies)
//	                      │ step, match, write, sync   │ ─► │
//	compactor ◄─ oldest ─ │ (group commit)             │    ├─► Speaker.Events
//	  └──── carry ──────► └───────────────────────────┘    │
//	                                │                      └── speaking goroutine
//	                                ▼
//	                               Log
//
// # What it promises
//
// Nothing is said before it is durable. The loop takes everything that has
// come in, lets the State step it, appends the records as one entry of the
// Log, syncs once, and only then hands on what is to be said. While the disk
// works, the next batch gathers: that is the whole of group commit.
//
// Records that nobody waits for (a plain ack) ride along with the next commit,
// and wait for it AckInterval at the most.
//
// The log is to have 2 × what is needed of it and Slack (56 MiB) at the most,
// where a small generation counts 16 KiB.
// What is needed are messages, queues, and message ids for their time. The
// compactor carries what is needed of the oldest generation forward, a little
// with each commit, and has it dropped. The fuller the log is the more it
// carries for each byte that is written (see usage), so that it keeps up before
// anybody must wait for it; where it does not, what comes in may write as much
// as it wins. The log may be above the bound only because something large was
// removed just now.
//
// The State's time is wall time when the store is opened, and from then on what
// has passed: it does not jump with the wall clock, and does not go back over a
// restart.
//
// # What it assumes
//
// The Log is append-only, proves its entries by checksum, and after Sync
// returned nil keeps them through a power cut. The Speaker does not wait.
//
// # Start
//
// Open reads the whole log, tells Config.Progress how far it is, and starts
// nothing before the end. It changes nothing of the log but its torn end, so
// that it can be killed at any time and done again.
//
// # When something fails
//
//	write or sync failed     the store is over: nothing of that commit is said, Done
//	                         is closed, Err says why, and so does what is asked of it
//	                         later. The process must end; recovery on the next start
//	                         decides what of the commit is there.
//	a body that is damaged   the same: damaged bytes are never delivered, and nothing is
//	                         said after them. Who looks at one (Message) is told so, and
//	                         the store goes on.
//	compaction failed        the same: the log would grow until the disk is full
//	too much waits           Submit returns ErrBusy for publishes; nothing else is refused
//	disk nearly full         publishes are refused by the State (Space) until room is back;
//	                         garbage is given back by compaction long before the log is
//	                         twice its need. When others fill the disk all the same, the
//	                         ballast is given back, for acks, deaths and compaction
//	disk full                a write fails, see above. The next start gives the ballast back
//	                         before it writes
//	a log that is not whole  Open refuses it, with a sentence
//
// # A log that is not open
//
// Examine rebuilds the queues from a closed log as a server would, and proves
// them: the State contradicts itself nowhere, each message is in exactly one
// state, and its record is where it will be read from. Where commits are lost it
// says what that means for each queue, and makes the commit that mends it (see
// queue.Salvage).
//
// # A copy while it is in use
//
// Hold takes hold of the log as of one commit: the generation being written is
// sealed, and until it is read or released no generation of the copy is dropped,
// so that the log may meanwhile be larger than its bound. A file is proven before
// it is given. When the disk is nearly full the log comes first: the Hold ends
// with ErrGivenUp.
//
// # Who owns what
//
// The loop owns State, Log.Append and Log.Sync, and the count of what the log
// still needs. The speaking goroutine reads bodies and calls the Speaker, in
// the order of the commits. What is brief and in memory, the loop says by
// itself when the speaking goroutine has nothing to say: waking it would cost a
// lone publisher more than saying it costs the disk. The compactor scans old
// generations of the log and has them dropped, by a goroutine that does nothing
// else, since it takes some syncs; but only when everything that was said before
// has been read. The janitor watches the room on the disk and owns the ballast.
// What these ask of the loop goes before what has come in. Open starts the five,
// Close joins them.
//
// Memory is bounded by MaxWaiting, Cache, and a few commits of about 1 MiB
// beside what the State holds. Bodies of a backlog are read when they are
// delivered, one piece of about 1 MiB at a time: in the order of the log,
// neighbours together, to memory that is the next piece's when the Speaker has
// said this one. That the disk reads ahead is the kernel's business.
package durable
