package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Mode is whose subjects a client uses.
type Mode string

// The modes.
const (
	Native    Mode = "native"    // Dsend's own
	JetStream Mode = "jetstream" // those of a JetStream client
)

// Server is where the load goes.
type Server struct {
	URL     string
	Options []nats.Option // how to log in
	Mode    Mode
	Prefix  string // of Dsend's own subjects
	Queue   string
	Queues  int    // publishes are spread over so many queues, Queue-0 and so on; 0 is the one
	Metrics string // URL of Dsend's metrics; empty: messages per sync are not told
}

// Consumer is the durable consumer of the JetStream mode.
const Consumer = "bench"

// maxInFlight is the default of a queue of Dsend, and that of JetStream is
// smaller than what the workers of a test ask for.
const maxInFlight = 10_000

// subjects is where it is published.
func (s Server) subjects() []string {
	if s.Queues > 0 {
		all := make([]string, s.Queues)
		for i := range all {
			all[i] = fmt.Sprintf("%s.publish.%s-%d", s.Prefix, s.Queue, i)
		}
		return all
	}
	if s.Mode == JetStream {
		return []string{"bench." + s.Queue}
	}
	return []string{s.Prefix + ".publish." + s.Queue}
}

// pulls is where messages are asked for.
func (s Server) pulls() string {
	if s.Mode == JetStream {
		return "$JS.API.CONSUMER.MSG.NEXT." + s.Queue + "." + Consumer
	}
	return s.Prefix + ".pull." + s.Queue
}

// noHeaders asks for deliveries as JetStream's are: what Dsend says in headers of
// its own, a client can read from the reply subject, and parsing them costs the
// client more than all else.
func (s Server) noHeaders() string {
	if s.Mode == JetStream {
		return ""
	}
	return `,"no_headers":true`
}

func (s Server) connect() (*nats.Conn, error) {
	options := append([]nats.Option{nats.Name("dsend bench"), nats.NoReconnect()}, s.Options...)
	return nats.Connect(s.URL, options...)
}

// setupTimeout bounds one request that prepares a load.
const setupTimeout = 30 * time.Second

// prepare makes the stream and its consumer where there must be some.
func (s Server) prepare(ctx context.Context) error {
	if s.Mode != JetStream {
		return nil
	}
	return s.asJetStream(ctx, func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: s.Queue, Subjects: s.subjects(), Storage: jetstream.FileStorage, Retention: jetstream.WorkQueuePolicy,
		})
		if err != nil {
			return fmt.Errorf("stream %s: %w", s.Queue, err)
		}
		_, err = js.CreateOrUpdateConsumer(ctx, s.Queue, jetstream.ConsumerConfig{
			Durable: Consumer, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: maxInFlight,
		})
		if err != nil {
			return fmt.Errorf("consumer %s: %w", Consumer, err)
		}
		return nil
	})
}

func (s Server) asJetStream(ctx context.Context, do func(context.Context, jetstream.JetStream) error) error {
	nc, err := s.connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	return do(ctx, js)
}

// remove deletes the queue with all its messages.
func (s Server) remove(ctx context.Context) error {
	if s.Mode == JetStream {
		return s.asJetStream(ctx, func(ctx context.Context, js jetstream.JetStream) error {
			return js.DeleteStream(ctx, s.Queue)
		})
	}
	nc, err := s.connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	request, err := json.Marshal(map[string]string{"queue": s.Queue})
	if err != nil {
		return err
	}
	answer, err := nc.RequestWithContext(ctx, s.Prefix+".api.queue.rm", request)
	if err != nil {
		return fmt.Errorf("remove queue %s: %w", s.Queue, err)
	}
	if text := answer.Header.Get("Nats-Service-Error"); text != "" {
		return errors.New("remove queue " + s.Queue + ": " + text)
	}
	return nil
}
