package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Contend runs one of the contenders that are not Dsend until ctx ends, and says
// on out where it is.
func Contend(ctx context.Context, kind Kind, data string, out io.Writer) error {
	opts := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, ServerName: "bench"}
	switch kind {
	case KindEcho:
	case KindJetStream, KindAlways:
		opts.JetStream, opts.StoreDir, opts.SyncAlways = true, data, kind == KindAlways
	default:
		return fmt.Errorf("%q is not a contender: echo, jetstream or jetstream-always", kind)
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		return fmt.Errorf("%s: the server is not ready", kind)
	}
	if kind == KindEcho {
		nc, err := echo(s)
		if err != nil {
			return err
		}
		defer nc.Close()
	}
	if _, err := fmt.Fprintln(out, "listening on ", s.ClientURL()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// echo answers every publish at once, as an ordinary client in the process does.
func echo(s *server.Server) (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return nil, err
	}
	answer := []byte(`{"stream":"bench","seq":123456,"domain":"dsend"}`)
	sub, err := nc.Subscribe("dsend.publish.>", func(m *nats.Msg) { _ = m.Respond(answer) }) // as lost as on a real wire
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}
