// Package examples holds small programs, each a minute to read. They find the
// server by NATS_URL, and are built and run by the test beside this file.
//
//	producer   publishes, and goes on when it is on disk
//	worker     pulls, works, acks
//	service    an ordinary NATS micro service made a durable worker
//	poison     a poison message's way to the dead-letter queue and back
//
// These are ordinary JetStream programs, as they are written for NATS's own:
//
//	jetstream  in Go
//	node       in JavaScript, nats.js
//	c          in C, libnats
//	cli        in shell, with the nats command line only
package examples
