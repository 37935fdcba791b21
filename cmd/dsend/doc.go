// Command dsend runs a durable work queue on NATS, and looks after one that
// runs.
//
//	dsend serve                 run the queues (serve.go)
//	dsend queue, msg, dlq       people's side: looks and changes
//	dsend pub, work             a producer and a worker for the shell
//	dsend reload, config check  the configuration
//	dsend backup, restore       the data of a running server in one file, and back
//	dsend verify, repair        the data of a stopped server: proven, mended
//	dsend log cat               its records as text
//	dsend bench                 how fast it is, alone and beside JetStream
//
// Every command but serve, restore, verify, repair, log cat, config check and
// bench compare is an ordinary NATS client: it connects where the nats CLI would
// (connect.go, natscontext.go) and asks the micro service "dsend" of package
// dsend/bridge/admin. So what a command can do is what the NATS account lets it
// do.
//
// # What it promises
//
// Exit code 0: it was done. 1: it was not, or not all of it; one line on
// stderr, "dsend: …", says why. 2: the command line was wrong; nothing was
// asked of anybody.
//
// With --json, stdout is exactly one valid JSON document, whose field names do
// not depend on what there is; an empty list is []. Times are RFC 3339 in UTC,
// durations nanoseconds, bodies base64. Without it, stdout is a table or a
// sentence for people, without colour; bytes that a terminal would obey are
// shown escaped. What may be long is one document a line: dlq export, unless --json
// asks for one of all, and log cat --json.
//
// What destroys messages asks first, with their number, when stdin and stderr
// are a terminal; elsewhere it needs --force. Secrets are taken from files, the
// environment and NATS contexts, never from flags, and are never shown.
//
// # When things break
//
//	no server, wrong credentials,       one line, exit 1
//	no Dsend there, not permitted
//	stdout closed (| head)              quiet, exit 1
//	interrupted                         what was confirmed stands; running the
//	                                    command again goes on with the rest
package main
