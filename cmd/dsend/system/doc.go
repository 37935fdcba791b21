// Package system proves the whole of Dsend: its tests start the real binary, talk
// to it as users do, and break it.
//
//	test ──► server    the process: start, stop, kill -9, start again on its folder and port
//	     ──► client    a NATS connection: publish, pull, work, answer; the API
//	     ──► ledger    what was promised to the clients, to be compared with what is there
//	     ──► strace    counts system calls, makes the disk slow, kills at the next sync
//
// A play is named by the scenario it comes from (TestA1_… and so on). It waits for
// events, never for a time to pass; where time itself is the matter it measures.
//
// Every random choice comes from a seed that is logged; DSEND_SEED repeats it.
// DSEND_STORM=1 asks for the long form. DSEND_REQUIRE_ALL=1 turns a skip for want
// of a tool into a failure. DSEND_BINARY names a binary to be tested instead of the
// one built from these sources.
package system
