package config

import (
	"time"

	"dsend/durable/queue"
)

// Config is everything a server is told.
type Config struct {
	// File is where it was read from; empty without a file.
	File string

	Server  Server
	HTTP    HTTP
	Storage Storage
	Sync    Sync
	Log     Log

	// Prefix is what Dsend's own subjects begin with; a literal subject.
	Prefix string
	// WorkerGrace is how long the inbox of a worker may be gone before what the
	// worker holds has failed; 0 is not at all.
	WorkerGrace time.Duration
	// AutoCreate lets the first publish to an unknown queue create it.
	AutoCreate bool
	// Defaults are the settings of a queue that nobody configured, and of each
	// key that a configured one leaves out.
	Defaults queue.Settings
	// Queues are those of the file, in its order.
	Queues []Queue
}

// Server is the NATS server Dsend works with.
type Server struct {
	// Listen is where clients connect, host:port; port 0 picks a free one. It is
	// empty with Leaf, and if Config was given and no address beside it: then the
	// address is that file's.
	Listen string
	// Config is the path of a nats-server configuration, used as it is; empty is
	// none.
	Config string
	// Account is the account Dsend serves; empty is the global account.
	Account string

	// Leaf is the leafnode port of a server to join instead, or several of one
	// cluster with commas between; empty is none. It may hold a password.
	Leaf string
	// LeafCreds, LeafCA, LeafCert and LeafKey are paths: a credentials file, and
	// PEM files for TLS.
	LeafCreds, LeafCA, LeafCert, LeafKey string
}

// HTTP is health and metrics.
type HTTP struct {
	// Listen is host:port; empty turns HTTP off, port 0 picks a free one.
	Listen string
}

// Storage is the disk.
type Storage struct {
	// Dir is the data folder.
	Dir string
	// Reserve is how many bytes stay free: below it publishes are refused. 0 is
	// no reserve.
	Reserve int64
	// Slack is how many bytes the log may have beside twice what is needed of
	// it, LeastSlack or more.
	Slack int64
	// Cache is how many bytes of recent commits are kept in memory.
	Cache int64
}

// LeastSlack is a few generations of the log: with less it could not be
// compacted while publishes go on.
const LeastSlack = 16 << 20

// Sync is about the moment a write reaches the disk.
type Sync struct {
	// AckInterval is how long a plain ack may wait for the disk; 0 is not at all.
	AckInterval time.Duration
}

// Log is about what the server says of itself.
type Log struct {
	Level  string // debug, info, warn or error
	Format string // text or json
}

// Queue is a queue of the file.
type Queue struct {
	Name     string
	Settings queue.Settings
	File     string
	Line     int // of its first key, from 1
}

// Default is the configuration without a file, environment or flags.
func Default() *Config {
	return &Config{
		Server:      Server{Listen: "127.0.0.1:4222"},
		HTTP:        HTTP{Listen: "127.0.0.1:8280"},
		Storage:     Storage{Dir: "./dsend-data", Reserve: 256 << 20, Slack: 56 << 20, Cache: 64 << 20},
		Sync:        Sync{AckInterval: 10 * time.Millisecond},
		Log:         Log{Level: "info", Format: "text"},
		Prefix:      "dsend",
		WorkerGrace: time.Second,
		AutoCreate:  true,
		Defaults:    queue.Defaults(),
	}
}
