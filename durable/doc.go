// Package durable keeps a queue.State on disk: the one loop that owns the
// state and the log.
//
//	Submit ─► inbox ─┐                                     ┌─► Speaker.Replies
//	Do, View ────────┤    ┌───────────────────────────┐    │
//	                 └──► │ loop: take all that came,  │    ├─► Speaker.Speak (with bodies)
//	                      │ step, match, write, sync   │ ─► │
//	janitor ◄── drop ──── │ (group commit)             │    ├─► Speaker.Events
//	  └─── carry ───────► └───────────────────────────┘    │
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
// # What it assumes
//
// The Log is append-only, proves its entries by checksum, and after Sync
// returned nil keeps them through a power cut.
//
// # When something fails
//
//	write or sync failed     the store is over: nothing of that commit is said, Done
//	                         is closed, Err says why. The process must end; recovery
//	                         on the next start decides what of it is there.
//	too much waits           Submit returns ErrBusy for publishes; nothing else is refused
//	disk nearly full         publishes are refused by the State (Space) until room is back
//	a body that is damaged   as a failed write: damaged bytes are never delivered
//
// # Who owns what
//
// The loop owns State, Log.Append and Log.Sync, and the count of what the log
// still needs. The speaking goroutine reads bodies and calls the Speaker, in
// the order of the commits. The janitor drops old generations of the log. Open
// starts the three, Close joins them.
package durable
