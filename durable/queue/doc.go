// Package queue is the life of a message: a pure machine that holds every
// queue of a store.
//
//	         publish            match                 ack
//	producer ───────► READY ───────────► IN FLIGHT ─────────► (gone)
//	                   ▲ ▲                  │ nak, timeout, worker gone
//	          replay   │ │ due              ▼
//	                   │ └───────────── DELAYED        attempts left
//	                   └──────────────── DEAD          attempts used up, term, expired
//
// # What it promises
//
// A State is a deterministic value: the same ops at the same times give the
// same records, and the same records give the same state. It knows no clock
// (now is an argument), no disk, no network, no goroutine and no random
// source. It is not safe for concurrent use: one goroutine owns it.
//
// What must survive is changed by one function, apply, for a record. A live op
// decides, makes a record, and applies it; recovery reads records and applies
// them. So what recovery builds is what the live process had:
//
//	op ──► step ──► record ──► apply ──► state       live
//	        log ──► record ──► apply ──► state       recovery
//
// What follows from time alone (a delay that has passed) is changed by Tick,
// and Next says when it wants to be woken.
//
// The caller makes Out.Records durable and only then says what is in
// Out.Replies and Out.Speech: write, then speak. If the write fails the State
// is ahead of the disk and must not be used again.
//
// # What time does
//
// Tick does what is due, in an order that depends on times, queues and numbers
// only: deadlines, expiries, then workers that are gone, pulls, queues. A
// message dies in Tick or in Step, never while it is being delivered. A Tick
// and a Match do so much of a kind and no more (tickBudget, matchBudget), so
// that no commit grows without bound; Next then asks for another at once, and
// what must die is not delivered meanwhile.
//
// A message that must die while its dead-letter queue is full is doomed: it is
// delayed, is not delivered again, gives up its key, and tries again every ten
// seconds. A late ack still completes it.
//
// # What survives
//
// Everything of queues, messages and ids: recovery gives the same State, with
// one exception that follows from time alone: a delay that has passed since the
// last commit is over with the next Tick. Also who holds what: windows of push
// groups are as full as before, and Holders names the peers to be asked for.
//
// Not what was learned of how long deliveries stay unanswered (Advice): an
// automatic visibility timeout stays where it was and learns anew. That value
// survives, as part of the queue's record, and so each of its changes is one.
//
// Not the clients: pulls are gone, groups have no members, and no peer is known
// to be there or away, until Pull, Members and Peer say so. Space and Stop are
// to be told again.
//
// # Consumers
//
// A consumer is a named group of workers that pull from a queue, with limits of
// its own; what it leaves open is as the queue has it. Every queue has the
// consumer "pull" without being told, with the queue's settings. Consumers
// compete: a message goes to one of them. They are served in turn, and so are
// the pulls of each; one that holds as many as it may, or is paused, takes no
// turn.
//
// The limits of a consumer hold for the deliveries through it. A message that
// waits has the attempts of the most patient consumer: when that one goes or
// changes its mind, those die that have none left. What is in flight through a
// consumer that is removed stays with its worker.
//
// Consumers and what they have delivered survive. Since when one is idle does
// not: after a restart that begins anew.
//
// # Where things are
//
// Bodies are not here. A message is known by its Place (a commit of the log
// and an offset in it). Plain waiting messages are not even objects: a run is a
// range of sequences whose records lie one behind another in one commit, and
// runs are coded by how they differ from the one before (see block). A message
// becomes an object of its own when it is in flight, delayed, dead,
// keyed, or has an expiry or limits of its own.
//
//	a plain message    at most 32 bytes; 4 if it was committed in a batch, and
//	                   next to nothing if those before and behind it are of
//	                   its size (TestWaitingMessagesAreSmall)
//	an object          about 215 bytes, and its history
//	an id              about 125 bytes and its text, for the window
//
// What a backlog took is given back when it has gone (runs, shelf, Schedule).
//
// A dead-letter queue is a queue of the same State, so death and replay are
// one record each: at any crash the message is on one side or the other.
//
// A message keeps its number; its place changes when the log is compacted
// (Carry). A number is never given twice: of a message in its queue, of a
// delivery in its queue, of a queue in its store. What was said of them in
// commits that are dropped is said again by the last Carry.
//
// Of the messages of one key at most one is ready, in flight, or waiting for
// another attempt; all others that are ready wait behind it, the lowest number
// first, whatever their priorities. A message that waits for its first time is
// not in that line.
//
// # The record
//
//	kind u8 | length u32 | fields
//
// The fields are uvarints and length-prefixed strings. A message's fields
// begin with a CRC-32C of the rest, so that one message can be read and proven
// by itself; the other records are proven by the checksum of their commit.
// Records of one commit are whole or absent together.
//
// A record may name a message or a queue that is not known: the log is dropped
// from the front, and a later record may still speak of what was dropped. Such
// a record does nothing, except that the numbers in it are never given again.
//
// # Lost commits
//
// A log that is damaged is recovered by a Salvage, which knows of the commits
// that are lost. It tells exactly which numbers were given to messages that are
// nowhere now, and which messages are here that may have been answered in what
// is lost (Losses), and makes records that mend the State (Mend): nothing that
// may have been given out, a number, a delivery or a token, is given again.
// What follows:
//
//	a publish is lost          the message is, if nothing else held it; its number is told
//	an ack, a death is lost    the message is back, and told as doubtful: delivered again,
//	                           never dropped
//	both places of a move      the letter stays, since it is the newer
//	a queue's record is lost   its messages are kept, under the name that a letter tells, or
//	                           recovered-<number>, with the default settings
//	settings, ids are lost     the older settings hold; a repeated id is not noticed
package queue
