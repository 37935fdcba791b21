// Package bridge is the wire: it turns what NATS clients send into ops of the
// store, and what the store says into NATS messages.
//
//	producer ──► nats-server ──LMSG──► leaf ──► ingest ──► Store.Submit
//	worker  ◄──  (embedded)  ◄─LMSG──  leaf ◄── dispatch ◄── Speaker
//	                  │
//	                  └─LS+/LS-──────► leaf ──► audience ──► Members, Interest, Peer
//
// # What it promises
//
// A publish is answered with what the store says of it, and with nothing
// before. A delivery has the original subject and the user's headers byte for
// byte, and a reply subject that only its receiver knows (token.go). An answer
// is obeyed only with the token of a delivery that was made.
//
// Queue, attempt and deadline are in headers of every delivery, unless the pull
// says "no_headers": clients are slow to parse headers, and queue and attempt are
// in the reply subject, too. What a dead letter was is always said.
//
// Who is there is known from the server's interest events: a message is only
// delivered where somebody listens.
//
// # What it assumes
//
// The connection is a leafnode: an ordinary client can neither send a reply
// subject under $JS.ACK. nor deliver under the original subject, and is not
// told who listens.
//
// The server is one of our own inside the process (Server), or one that somebody
// else runs and that we join by its leafnode port (Attached). Nothing here knows
// which. A leafnode may do in its account whatever its user may, except for the
// JetStream API without a domain ($JS.API.>): that is the server's own, or
// nobody's. Of a server of our own without JetStream it is ours: by the leaf
// (Bare), or by jetstream.Gateway where the leaf is denied it.
//
// # When something fails
//
//	the leaf connection breaks    nothing is delivered until the interest is told anew; what was sent
//	                              meanwhile is lost on the wire, not in the store: a publish is
//	                              repeated by its producer, a delivery comes back when its visibility
//	                              timeout is over. Workers have returnGrace from then on to come back,
//	                              as after a restart of our own: they were cut off as we were
//	the store is busy or closing  publishes are answered with an error
//	a request cannot be read      it is answered with an error that says why
//
// # Goroutines
//
// The leaf's reading goroutine calls Messages and Interest; the store's
// speaking goroutine calls Replies, Speak, Events and Changed. What both touch
// is guarded by audience.mu and the router's atomic pointer.
package bridge
