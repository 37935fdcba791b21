// Package system proves the whole of Dsend: its tests start the real binary, talk
// to it as users do, and break it.
//
//	test ──► server    the process: start, stop, kill -9, start again on its folder and port
//	     ──► hub       a stock nats-server that dsend is attached to, or a cluster of them
//	     ──► client    a NATS connection: publish, pull, work, answer; the API
//	     ──► ledger    what was promised to the clients, to be compared with what is there
//	     ──► strace    counts system calls, makes the disk slow, kills at the next sync
//	     ──► disk      a file system of its own, whose power is cut
//
// A play is named by the scenario it comes from (TestA1_… and so on). It waits for
// events, never for a time to pass; where time itself is the matter it measures.
// The storms are everything at once, with a kill or a power cut in the midst of it,
// over and over. They end with four counters, all of which must be 0:
//
//	lost        taken, and nowhere to be found
//	undone      confirmed as done, removed or dead, and not so any more
//	invented    never sent, or not what was sent
//	duplicated  in two places, or handed out twice as one delivery
//
// Every random choice comes from a seed that is logged; TEST_SEED repeats it.
// TEST_STORM=1 asks for the long form. TEST_REQUIRE_ALL=1 turns a skip for want
// of a tool into a failure. TEST_BINARY names a binary to be tested instead of the
// one built from these sources.
package system
