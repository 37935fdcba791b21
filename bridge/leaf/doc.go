// Package leaf is one side of a leafnode connection: the connection by which nats-servers connect to each other,
// spoken by a program. It can do three things an ordinary client connection cannot: deliver under another subject
// than the one it publishes to, with a reply subject that begins with $JS.ACK.; address one queue group; and be told
// of every subscription that comes and goes. It knows nothing of queues.
//
// # Promise
//
//   - Messages and interest arrive in the order in which the server sent them, whole, each exactly once, on one
//     goroutine. A client that subscribes to its inbox and then asks is known as a listener before its question is.
//   - Connected is called when the interest told before it is whole, and before the first message. The server sends
//     all it knows within its processing of CONNECT, so the PONG to a PING sent behind CONNECT ends it.
//   - What Send took goes out in order, batches whole and unmixed. Close waits until the server has it.
//   - Subscriptions outlive connections.
//   - Memory is bounded: by Options.MaxPending on the way out, on the way in by one read and the largest message
//     (64 MiB at most, however large a size a line claims: the buffer follows the bytes that came).
//   - No message of ours makes the server close the connection for everybody: what it would close for (too large, no
//     permission, white space in a subject, a line too long) is refused by Batch, message by message.
//
// What is not promised: that a message sent arrives. A leaf gets no answer, no back-pressure and no 503; what was on
// its way when a connection broke is lost, both ways. Nothing that was promised to anybody may depend on it.
//
// # The picture
//
//	                 net.Conn
//	    ┌───────────────┴────────────────┐
//	    │ read                           │ write
//	    ▼                                ▲
//	reading goroutine              writer goroutine
//	owns: read buffer, parser,     owns: the buffer being written, the ping ticker
//	  the session, dialing         one per connection; started and joined by the reading goroutine
//	one per Conn, Start to Close         ▲
//	    │ calls, one after the other     │ takes all at once, in pieces
//	    ▼                                │
//	Handler                           outbox (mutex: bytes that wait, callbacks for PONGs)
//	  Messages, Interest,                ▲
//	  Connected, Disconnected            │ appends
//	                                  Send, Subscribe, Unsubscribe, Flush: any goroutine
//
// What waits is in pieces of one write each, which are used again: in a rush of large messages memory follows
// what waits and not what passes. While nothing waits in the outbox, what is sent goes to the kernel at once, by whoever sends it and as far as there is
// room without waiting; the writer takes the rest. Over TLS everything is the writer's.
//
// A Conn makes sessions, one after the other; a session is one net.Conn from dialing to its end. Slices in a Msg are
// pieces of the read buffer and die when Messages returns. Batch is the caller's; Send copies it.
//
// # The bytes
//
// Lines end in \r\n; n is a size in bytes. From us: CONNECT {json}, PING, PONG, LS+ and LS- with a subject, and
//
//	LMSG <subject> [<reply>] <n>\r\n<payload>\r\n                    plain subscriptions
//	LMSG <subject> + <reply> <group> <n>\r\n…                        and one member of the group; with a reply
//	LMSG <subject> | <group> <n>\r\n…                                without one
//	HMSG … <header n> <total n>\r\n<header><payload>\r\n             any of these with headers
//
// From the server the same, and INFO {json}, -ERR 'text', LS+ <subject> [<queue> <members>], LS- <subject> [<queue>].
//
// # Delivering under another subject
//
// A reply of the form <ack>@<subject>, where ack begins with $JS.ACK. and has at least 8 dots before the first @
// that counts, is taken apart by the server that delivers to a client (nats-server v2.15.3 server/client.go:4406-4422
// finds the @, 5519-5526 splits): the client sees subject as the message's subject and ack as its reply. JetStream
// forwards its deliveries over routes and leafnodes in this way. It holds for plain subscriptions (5681) and
// for queue groups (5915) alike, and across routes, where the reply travels unsplit (6004-6010). An @ before the
// eighth dot (in a stream's or consumer's name) does not count, nor does a further one in the subject; the tokens
// after the eighth dot must have none.
//
// # Assumptions
//
//   - The server is a nats-server that speaks this protocol as 2.15.3 does. It is not documented, but servers of
//     different versions speak it with each other, so it stays compatible.
//   - One leaf is in one account. JetStream's own subjects ($JS.API.>, $KV.>, $OBJ.>) do not pass between server and
//     leaf, in neither direction (server/leafnode.go:2194-2247); $JS.ACK.> and $JS.<domain>.API.> do.
//   - The handler returns quickly. The server keeps what we do not read, beyond its max_pending (that bound is for
//     clients only, client.go:2690), slows publishers down a little, and closes the connection when a whole
//     write_deadline (10 s by default) passes in which it could not write one byte (client.go:2075-2080).
//
// # Failures
//
//	what happens                              what is done
//	the connection breaks or is closed        Disconnected; reconnect after 50 ms, doubling to 5 s, less up to half;
//	                                          of several addresses all are tried before the next wait
//	silence for three ping intervals          ErrStale, then as above (a handler at work is not silence)
//	the server takes no bytes                 Send waits up to SendWait, then ErrOverflow; after WriteTimeout in one
//	                                          write (256 KiB at most) the connection is given up
//	Send while not connected                  ErrDisconnected at once; the batch is not sent
//	-ERR                                      logged; when the server then hangs up, it is Disconnected's error
//	no permission to subscribe, or wrong      the server hangs up each time: it goes on trying, with the longest wait,
//	  credentials after a good start          and logs each attempt
//	a bad line, size or end of message        ErrProtocol with the start of the line; what was whole before it is
//	                                          handed over; then as for a break
//	the first attempt of Start fails          Start returns the error, nothing runs
//	max_payload is reloaded                   the server tells leafs only what it was at its own start (reload.go:671):
//	                                          after raising it the old one counts here until the server restarts,
//	                                          after lowering it a message in between costs the connection
//
// Passwords, tokens and signatures are sent and never logged; errors never quote a URL.
package leaf
