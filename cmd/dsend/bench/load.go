package bench

import (
	"errors"
	"math"
	"time"

	"github.com/nats-io/nats.go"
)

// Load is what a server is asked for. What is 0 is not asked for.
type Load struct {
	Publishers int           // connections that publish
	Window     int           // publishes of one of them that wait for their answers at the most
	Rate       float64       // publishes per second of all together; 0 is as fast as the answers come
	Size       int           // bytes of a body
	Header     nats.Header   // of every publish
	Workers    int           // connections that pull and ack
	Batch      int           // messages that a worker asks for at once
	Duration   time.Duration // how long; 0 is until Count
	Count      int           // publishes, or deliveries of a load without publishers, that end it; 0 is no bound

	answer  func(*nats.Msg) []byte           // of a worker; nil acks
	latency func(*nats.Msg, time.Time) int64 // of a delivery in ns, negative if unknown; nil is from the publish
}

// minSize is the bytes of a body that hold the time of its publish.
const minSize = 8

// Check refuses a load that cannot be meant.
func (l Load) Check() error {
	switch {
	case l.Publishers < 0 || l.Workers < 0 || l.Publishers+l.Workers == 0:
		return errors.New("there must be publishers or workers")
	case l.Publishers > 0 && l.Window < 1:
		return errors.New("the window must be at least 1")
	case l.Publishers > 0 && l.Size < minSize:
		return errors.New("the size must be at least 8 bytes: they hold the time of the publish")
	case l.Workers > 0 && l.Batch < 1:
		return errors.New("the batch must be at least 1")
	case math.IsNaN(l.Rate) || math.IsInf(l.Rate, 0):
		return errors.New("the rate must be a number of publishes per second; 0 is as fast as the answers come")
	case l.Rate < 0 || l.Duration < 0 || l.Count < 0:
		return errors.New("rate, duration and count cannot be negative")
	case l.Duration == 0 && l.Count == 0:
		return errors.New("a duration or a count must end it")
	}
	return nil
}

// Result is what a load came to.
type Result struct {
	Seconds   float64 `json:"seconds"`
	Published uint64  `json:"published"`
	Delivered uint64  `json:"delivered"`

	PublishRate float64 `json:"publishes_per_second"`
	DeliverRate float64 `json:"deliveries_per_second"`
	PerSync     float64 `json:"messages_per_sync,omitempty"` // publishes and deliveries; 0 if not known

	Publish Latency  `json:"publish_latency"`
	Deliver Latency  `json:"delivery_latency"`
	Device  *Latency `json:"device_sync,omitempty"` // measured after the load
}

// Progress is how far a load has come.
type Progress struct {
	Elapsed              time.Duration
	Published, Delivered uint64
}
