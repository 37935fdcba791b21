package config

import (
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const natsSample = "../../../configs/nats-server.conf"

func natsOptions(t *testing.T) *server.Options {
	t.Helper()
	t.Setenv("NATS_PRODUCER_PASSWORD", "'p'")
	t.Setenv("NATS_WORKER_PASSWORD", "'$2a$04$V9BTuCz9ctuRjIM7ApcPOuEYz1f0fX31TVVzoPzW3ozWRfhSRGeam'")
	t.Setenv("NATS_OPERATOR_PASSWORD", "'123'")
	opts, err := server.ProcessConfigFile(natsSample)
	if err != nil {
		t.Fatal(err)
	}
	return opts
}

func TestNATSSampleIsParsed(t *testing.T) {
	opts := natsOptions(t)
	if ip := net.ParseIP(opts.Host); ip == nil || !ip.IsLoopback() || opts.Port != 4222 {
		t.Errorf("listens on %s:%d, not on loopback:4222", opts.Host, opts.Port)
	}
	want := map[string][2]string{ // a subject it may publish, one it may subscribe
		"producer": {"dsend.publish.>", "_INBOX.>"},
		"worker":   {"$JS.ACK.dsend.>", "dsend.work.> >"},
		"operator": {"dsend.api.>", "dsend.event.>"},
	}
	for _, u := range opts.Users {
		may, known := want[u.Username]
		if !known || u.Permissions == nil {
			t.Fatalf("user %q has no role", u.Username)
		}
		if !slices.Contains(u.Permissions.Publish.Allow, may[0]) || !slices.Contains(u.Permissions.Subscribe.Allow, may[1]) {
			t.Errorf("user %s may not do its work", u.Username)
		}
		delete(want, u.Username)
	}
	if len(want) > 0 {
		t.Errorf("roles without a user: %v", want)
	}
}

// The comments say how a hash comes through the environment.
func TestNATSSampleTakesAHash(t *testing.T) {
	opts := natsOptions(t)
	i := slices.IndexFunc(opts.Users, func(u *server.User) bool { return u.Username == "worker" })
	if want := "$2a$04$V9BTuCz9ctuRjIM7ApcPOuEYz1f0fX31TVVzoPzW3ozWRfhSRGeam"; opts.Users[i].Password != want {
		t.Errorf("password is %q", opts.Users[i].Password)
	}
}

func TestNATSSampleNeedsPasswords(t *testing.T) {
	if _, err := server.ProcessConfigFile(natsSample); err == nil {
		t.Error("parsed without passwords in the environment")
	}
}

// What the sample says of queue groups holds in a real server.
func TestNATSSampleWorkersJoinGroupsOnly(t *testing.T) {
	opts := natsOptions(t)
	opts.Port, opts.NoSigs, opts.NoLog = server.RANDOM_PORT, true, true
	for _, u := range opts.Users {
		u.Password = u.Username // the hash above is of nothing known
	}
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("not ready")
	}
	for _, row := range []struct {
		user, subject, group string
		refused              bool
	}{
		{"worker", "dsend.work.orders", "any.group", false},
		{"worker", "dsend.work.orders", "", true},
		{"worker", "dsend.event.>", "", true},
		{"worker", "_INBOX.x.*", "", false},
		{"producer", "dsend.work.orders", "g", true},
		{"operator", "dsend.dlq.>", "", false},
	} {
		nc, err := nats.Connect(s.ClientURL(), nats.UserInfo(row.user, row.user), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.QueueSubscribeSync(row.subject, row.group); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		if refused := errors.Is(nc.LastError(), nats.ErrPermissionViolation); refused != row.refused {
			t.Errorf("%s subscribes to %s in group %q: refused is %v, last error %v", row.user, row.subject, row.group, refused, nc.LastError())
		}
		nc.Close()
	}
}
