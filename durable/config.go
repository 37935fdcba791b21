package durable

import (
	"log/slog"
	"time"

	"dsend/durable/queue"
)

// Speaker says what has become durable. It is called by one goroutine at a
// time, in the order of the commits.
//
// It must not wait for the network, nor for the Store (Do, View, Message,
// Close): all queues would wait with it. Submit does not wait. The slices and
// what they point to, the bytes of a Message too, are the Store's again when the
// call returns.
type Speaker interface {
	// Replies answers ops that were submitted.
	Replies([]queue.Reply)
	// Speak sends deliveries and statuses, in order. The deliveries of one
	// commit may come in several calls.
	Speak([]Spoken)
	// Events tells what happened.
	Events([]Event)
	// Changed tells of queues that were made, removed (ID is 0), or whose
	// settings changed. It comes before what else the commit allows.
	Changed([]queue.Info)
}

// Spoken is a delivery with its message, or a status.
type Spoken struct {
	*queue.Speech
	Message queue.Message
}

// Event is an event; a death comes with its message.
type Event struct {
	*queue.Event
	Message queue.Message
}

// Observer is told of each commit, by the loop: it must be quick.
type Observer interface {
	// Commit tells how many ops it holds, its bytes, and how long the sync
	// took.
	Commit(ops, bytes int, sync time.Duration)
}

// Ballast is a file that holds room on the disk, to be given back when others
// have filled it. Nothing durable depends on it.
type Ballast interface {
	Size() int64 // bytes
	Held() bool
	Take() error
	Give() error
}

// Config is what a Store needs.
type Config struct {
	Queue       queue.Config
	Speaker     Speaker
	Observer    Observer      // nil is none
	Logger      *slog.Logger  // nil is none
	AckInterval time.Duration // longest wait of a record nobody waits for; 0 is none
	Cache       int64         // bytes of recent commits kept in memory; the newest one always is
	MaxWaiting  int64         // bytes of publishes that may wait for the disk; 0 is 64 MiB
	Reserve     uint64        // bytes of disk, with the ballast, below which publishes are refused
	Ballast     Ballast       // nil is none
	Slack       int64         // bytes that the log may have beside twice what it needs; 0 is 56 MiB

	// Progress is told, during Open, how many bytes of the log have been
	// recovered and how many there are; nil is nobody. An error ends it.
	Progress func(done, total int64) error
}

// complete fills in what was left out.
func (c *Config) complete() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.MaxWaiting == 0 {
		c.MaxWaiting = 64 << 20
	}
	if c.Slack == 0 {
		c.Slack = 56 << 20
	}
}
