// Package admin is the people's side of Dsend: what an operator, a script or a
// monitor asks a running store, and tells it.
//
//	dsend CLI, nats CLI ─► micro service "dsend" ─┐
//	                       <prefix>.api.…         ├─► Store ─► queue.State
//	Prometheus, probes  ─► HTTP 127.0.0.1:8280   ─┘
//	                       /healthz /readyz /metrics
//
// # What it promises
//
// All views are of one source, Store.Infos: the metrics, the API and the command
// line tell the same counts at the same moment.
//
// Looking changes nothing: no attempt is counted, nothing is held, no order is
// changed. What changes something is answered when it is durable, and writes one
// line to the log that says what was asked and what came of it.
//
// A request is one JSON object, or nothing at all where no field is required. It
// is taken strictly: an unknown field, a wrong type or a second value is an error
// that names it. Nothing is guessed and nothing ignored. An answer is one JSON
// object. Times are RFC 3339 in UTC, or null; durations are nanoseconds (in
// filters and backoffs words such as "1m30s"); bodies are base64.
//
// Headers are a list of name and value, so that order and repetition survive.
// Where that list cannot say them exactly (bytes that are not UTF-8, unusual
// white space), header_data holds the whole block as it is.
//
// # Pages
//
// A request is bounded in size (MaxRequest), an answer by what NATS carries
// (max_payload, at most MaxAnswer) and a request's work by time. So what may be
// long comes in pages: an answer with more set to true is continued by the same
// request with from set to its next (and through and began as it says). A page
// may be short, even empty, and more still true. Pages go by sequence: what was
// there all the time is in exactly one of them, whatever comes and goes beside
// it. through is fixed by the first page, so a listing ends however fast the
// queue grows; began likewise fixes the moment from which ages are reckoned.
//
// A body that does not fit is cut, with more set to true on the message; the rest
// is read by msg.get with offset.
//
// # Replay
//
// dlq.replay and dlq.purge do one page of letters and tell how far they came. The
// client goes on, as fast as it likes. Each letter is one durable record, so
// wherever this is interrupted nothing is half done, and a new start goes on with
// what is left. Letters that die again while a replay runs lie behind through:
// "all" is all that were dead when it began.
//
// # Backup
//
// backup.begin holds the log as of one commit, backup.read gives its files piece
// by piece, from the first to the last, backup.end lets go. There is one backup
// at a time; one that asks for nothing for 30 s is given up, and so is one whose
// room the log needs because the disk is nearly full.
//
// # Errors
//
// An error has the headers Nats-Service-Error-Code (as in HTTP, errors.go has the
// table) and Nats-Service-Error, a sentence; the body is the same as JSON
// (Problem), with a word for programs.
//
//	400 not a request, a bad value   409 not in this state    503 stopping, failed
//	404 no such queue or message     413 too large            504 not in time
//	                                 507 full
//
// A refusal on the way through a page is not an error of the request, as what was
// done before it stands: it is stopped in the answer.
//
// # HTTP
//
// /healthz says whether the process is worth keeping (503 once it has failed),
// /readyz whether it takes work (503 while it starts, has failed, or stops); both
// say why in one line. /metrics is Prometheus, in its text format. The 34 lines of
// each queue are written without the library, which takes a second for those of ten
// thousand queues.
//
// A message is counted under the queue it belongs to: as dead under the queue it
// died in, and as ready, delayed or in flight under the dead-letter queue that holds
// it. Counts of states are exact; counters (_total) begin at 0 with the process,
// recovery does not count.
package admin
