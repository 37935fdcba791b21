// Package power cuts the power, and makes the disk fail, under a store and under a whole dsend, and checks that what was
// promised holds. It has tests only.
//
//	clients ──► dsend serve ──┐
//	                          ├──► crashfs (package crashfs, in the process of the test)
//	a story ──► durable.Store ┘      cut at a call │ PowerOn
//	   │                                           ▼
//	   └── what was confirmed ──── compare ──── what is there
//
// # A story
//
// A story is one scripted life of a store in the process of the test: generations of the log made and dropped, retries,
// deaths, replays, a purge, a queue removed and made again, everything worked off. Each of its steps is one commit, so
// there are as many views of what the store holds as there are steps, and after a cut it must hold what it held
// before the step that was not confirmed, or what it holds after it. It is cut at every call (TestCutAnywhere), again
// while it recovers (TestCutAgain), and every call is made to fail (TestStoreErrors). Deliberately broken
// stores must not pass (TestBrokenStores).
//
// # A load
//
// The rest has real clients of a real dsend, which do everything at once, and a ledger of what was confirmed to them
// (TestRandomCuts, TestServerErrors).
//
// # What is counted
//
// Every storm ends with one line of a table, which make storm collects:
//
//	lost      confirmed to be stored, and nowhere to be found
//	undone    confirmed to be done, dead, brought back or removed, and not so any more
//	invented  never published
//	damaged   another body than was published
//	failed    recovery needed help, or the store stood still
//
// Every random choice comes from a seed that is logged; TEST_SEED repeats it. TEST_STORM=1 asks for the long forms.
package power
