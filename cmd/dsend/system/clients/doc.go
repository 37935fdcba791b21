// Package clients proves that JetStream clients are Dsend's clients, unmodified:
// its tests start the real binary and let real clients do with it whatever they do
// with a work queue.
//
//	nats.go      the old API and jetstream, in the test itself
//	nats.js      node/matrix.mjs, a program
//	nats.c       c/matrix.c, a program
//	nats CLI     commands
//
// Each client does each operation it has, lives the whole life of a message (publish,
// fail, retry, term, dead letter, replay, ack), goes on by itself when the server is
// killed with -9 and started again, and gives back what it holds when it is killed
// itself. What was done is written to .cache/clients.txt, a table of client ×
// operation, which make test prints.
//
// A program tells the test in lines how it goes:
//
//	pass OPERATION
//	fail OPERATION: why
//	kill                 now kill the server with -9 and start it again
//	held N               N messages are held and not answered
package clients
