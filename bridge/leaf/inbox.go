package leaf

import "strings"

// A peer is a client process, as far as its inboxes tell. The official clients name an inbox <prefix>.<NUID> or
// <prefix>.<NUID>.<token>, where a NUID is 22 characters of base 62: 12 random ones per generator and 10 of a counter
// (github.com/nats-io/nuid). All inboxes of one generator begin alike, and one of them, the wildcard subscription
// <prefix>.<NUID>.* for the answers of all requests, stays as long as the connection. So while any inbox
// subscription with the same 12 characters is there, the process is. What the clients do (Go read on disk,
// the others in stored copies of their repositories):
//
//	client           one generator per     answers on               does the rule hold
//	nats.go          process (global)      _INBOX.<nuid>.*          yes; several connections count as one process
//	nats.js, deno    process (module)      _INBOX.<nuid>.*          yes; a second copy of the module is a second peer
//	nats.py          connection            _INBOX.<nuid>.*          yes, per connection (nats-client, the new one: uuid, no)
//	nats.java        connection            _INBOX.<nuid>.*          yes, per connection
//	nats.c           process (base 36)     _INBOX.<nuid>.*          yes
//	nats.rs          process (locked)      _INBOX.<nuid>.*          yes; built without its feature "nuid" every inbox
//	                                                                is 22 random characters: no, and not tracked (below)
//	nats.net v2      thread, but every     _INBOX.<nuid>.*          yes, per connection: an inbox is <connection's
//	                 inbox has the                                  NUID>.<NUID>, the first one counts; all of them
//	                 connection's first                             come through the one wildcard subscription
//	nats-pure.rb     connection            _INBOX.<nuid>.*          yes, per connection
//	gnat (Elixir)    none: 12 random bytes _INBOX.<base64>.*        no NUID: the inbox itself is the peer
//
// The wildcard subscription is made with the first request, which every JetStream client makes (CONSUMER.INFO). Where
// it is missing (clients set to the old style of requests, or a hand-made subscription
// that pulls and is dropped before the work is done), an inbox that goes looks like a process that went: the contract
// is that a worker keeps its inbox, or any other, while it works.
//
// Errors on the safe side: a forked process shares its parent's generator, so the two count as one peer; a
// generator whose counter runs over (after 10^15 inboxes) begins a new one.

const (
	nuidLength = 22
	nuidPrefix = 12
)

// PeerOf returns the name of the process that owns an inbox: everything up to and including the first 12 characters
// of its first token that looks like a NUID. Where none does, the inbox itself is the peer. So it is for replies that
// the server has translated (_R_.… between accounts, _GR_.… between clusters): who owns those is not to be seen.
func PeerOf(inbox string) string {
	if end := nuidEnd(inbox); end > 0 {
		return inbox[:end-nuidLength+nuidPrefix]
	}
	return inbox
}

// nuidEnd is where the first token that looks like a NUID ends in a subject; 0 if there is none.
func nuidEnd(subject string) int {
	if translated(subject) {
		return 0
	}
	at := 0
	for rest, more := subject, true; more; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		if len(token) == nuidLength && base62(token) {
			return at + nuidLength
		}
		at += len(token) + 1
	}
	return 0
}

func translated(subject string) bool {
	return strings.HasPrefix(subject, "_R_.") || strings.HasPrefix(subject, "_GR_.") || strings.HasPrefix(subject, "$GR.")
}

func base62(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c-'0' > 9 && c-'A' > 25 && c-'a' > 25 {
			return false
		}
	}
	return true
}
