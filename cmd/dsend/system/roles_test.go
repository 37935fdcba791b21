package system

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// roles are the users of configs/nats-server.conf.
var roles = []string{"producer", "worker", "operator"}

// startGuarded starts a server with the sample configuration of nats-server.
func startGuarded(t *testing.T) *server {
	t.Helper()
	sample, err := filepath.Abs("../../../configs/nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for _, role := range roles {
		env = append(env, fmt.Sprintf("NATS_%s_PASSWORD='secret of %s'", strings.ToUpper(role), role))
	}
	return start(t, setup{
		env: env, args: []string{"--server-config", sample},
		config: settings("orders", "subjects: [orders.>]", "max_attempts: 1", "visibility_timeout: 10m"),
	})
}

func as(role string) nats.Option { return nats.UserInfo(role, "secret of "+role) }

// connectAs is a client with a role.
func (s *server) connectAs(t testing.TB, role string) *client {
	t.Helper()
	nc, err := nats.Connect(s.url(), as(role), nats.Timeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return &client{nc, t.Context()}
}

// Each role can do what it is for, and nothing else: the whole matrix, in the
// protocol's own verbs.
func TestRoles_Matrix(t *testing.T) {
	t.Parallel()
	s := startGuarded(t)
	producer, worker := s.connectAs(t, "producer"), s.connectAs(t, "worker")
	producer.put(t, plain("orders", "held"))
	held := worker.one(t, "orders")

	for _, row := range []struct {
		verb, subject string
		who           string // may do it
	}{
		{"pub", "dsend.publish.orders", "producer"},
		{"pub", "orders.new", "producer"},
		{"pub", "bills.new", ""},
		{"pub", "dsend.pull.orders", "worker"},
		{"pub", held.Reply, "worker"},
		{"pub", "dsend.api.queue.ls", "operator"},
		{"pub", "dsend.api.queue.purge", "operator"},
		{"pub", "dsend.api.dlq.replay", "operator"},
		{"pub", "$SRV.INFO.dsend", "operator"},
		{"pub", "dsend.work.orders", ""}, // nobody can make up a delivery
		{"pub", "dsend.dlq.orders", ""},
		{"pub", "dsend.event.orders.died", ""},
		{"pub", "_INBOX.somebody", ""},
		{"pub", "$JS.ACK.other.x.orders.work.1.1.1.1.1.x", ""},
		{"pub", "$SYS.REQ.SERVER.PING", ""},
		{"queue", "dsend.work.others", "worker"},
		{"sub", "dsend.work.orders", ""}, // watching is no worker's
		{"sub", "dsend.work.>", ""},
		{"sub", "_INBOX.mine", "producer worker operator"},
		{"sub", "dsend.event.>", "operator"},
		{"sub", "dsend.event.orders.died", "operator"},
		{"sub", "dsend.dlq.orders", "operator"},
		{"sub", "dsend.publish.>", ""},
		{"sub", "dsend.pull.>", ""},
		{"sub", "dsend.api.>", ""},
		{"sub", "$JS.ACK.>", ""},
		{"sub", "orders.>", ""},
		{"sub", ">", ""},
		{"queue", "dsend.publish.orders", ""},
		{"queue", "dsend.api.queue.ls", ""},
	} {
		for _, role := range roles {
			want := strings.Contains(row.who, role)
			if role == "worker" && row.subject == held.Reply {
				continue // below, when the others have tried
			}
			if got := s.allows(t, as(role), row.verb, row.subject); got != want {
				t.Errorf("%s may %s %s: %v, want %v", role, row.verb, row.subject, got, want)
			}
		}
	}
	operator := s.connectAs(t, "operator")
	operator.rest(t, "orders", counts{Ready: 2, InFlight: 1}) // two were published; nobody settled what was held
	held.must(t, ack, "ok")
	operator.rest(t, "orders", counts{Ready: 2})
}

// allows tells whether the server lets somebody publish or subscribe.
func (s *server) allows(t *testing.T, who nats.Option, verb, subject string) bool {
	t.Helper()
	nc, err := nats.Connect(s.url(), who, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	switch verb {
	case "pub":
		err = nc.Publish(subject, nil)
	case "sub":
		_, err = nc.SubscribeSync(subject)
	case "queue":
		_, err = nc.QueueSubscribeSync(subject, "workers")
	}
	if err == nil {
		err = nc.FlushTimeout(patience)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = nc.LastError() // the refusal comes before the flush is over
	if err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
		t.Fatal(err)
	}
	return err == nil
}

// The whole life of a message with one role for each part, by clients and by the
// command line.
func TestRoles_WorkTogether(t *testing.T) {
	t.Parallel()
	s := startGuarded(t)
	run := func(role string, arguments ...string) result {
		t.Helper()
		p := launch(t, []string{"NATS_USER=" + role, "NATS_PASSWORD=secret of " + role}, append([]string{"--server", s.url()}, arguments...)...)
		code := p.wait(t)
		return result{p.out.last(1000), p.err.last(1000), code}
	}
	for _, row := range []struct {
		role      string
		arguments []string
		want      string // stdout, or stderr of what is denied
		denied    bool
	}{
		{"producer", []string{"pub", "orders", "one"}, "message 1 of orders stored", false},
		{"worker", []string{"pub", "orders", "one"}, "not permitted", true},
		{"operator", []string{"pub", "orders", "one"}, "not permitted", true},
		{"worker", []string{"work", "orders", "--count", "1", "--", "cat"}, "one", false},
		{"producer", []string{"work", "orders", "--count", "1", "--", "cat"}, "not permitted", true},
		{"operator", []string{"work", "orders", "--count", "1", "--", "cat"}, "not permitted", true},
		{"producer", []string{"pub", "orders", "two"}, "message 2 of orders stored", false},
		{"worker", []string{"work", "orders", "--count", "1", "--", "false"}, "", false},
		{"operator", []string{"queue", "ls"}, "orders", false},
		{"operator", []string{"dlq", "ls", "orders"}, "exit status 1", false},
		{"producer", []string{"queue", "ls"}, "not permitted", true},
		{"worker", []string{"queue", "ls", "--json"}, "not permitted", true},
		{"worker", []string{"dlq", "replay", "orders", "--all"}, "not permitted", true},
		{"operator", []string{"dlq", "replay", "orders", "--all"}, "1 letter of orders-dlq replayed", false},
		{"worker", []string{"queue", "purge", "orders", "--force"}, "not permitted", true},
		{"operator", []string{"queue", "purge", "orders", "--force"}, "1 message of orders removed", false},
		{"nobody", []string{"queue", "ls"}, "refuses these credentials", true},
	} {
		r := run(row.role, row.arguments...)
		switch {
		case row.denied && (r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, row.want) || strings.Contains(r.stderr, "\n")):
			t.Errorf("%s: dsend %v: %+v, want to be denied", row.role, row.arguments, r)
		case !row.denied && (r.code != 0 || !strings.Contains(r.stdout, row.want)):
			t.Errorf("%s: dsend %v: %+v, want %q", row.role, row.arguments, r, row.want)
		}
		if strings.Contains(r.stdout+r.stderr, "secret of") {
			t.Errorf("%s: dsend %v shows a password: %+v", row.role, row.arguments, r)
		}
	}

	// By clients, with push.
	producer, worker, operator := s.connectAs(t, "producer"), s.connectAs(t, "worker"), s.connectAs(t, "operator")
	heard := operator.events(t, "orders")
	var got diary
	worker.work(t, "orders", "team", func(d *delivery) { d.must(t, term, "ok"); got.add(d) })
	producer.put(t, out{subject: "orders.eu", body: []byte("three")})
	if d := got.wait(t, 1)[0]; d.Subject != "orders.eu" {
		t.Errorf("%v on %s", d, d.Subject)
	}
	heard.next("died")
	if d := operator.dead(t, "orders"); string(d.Data) != "three" {
		t.Errorf("%+v", d)
	}
}

// Without credentials there is nothing, and all that listens does so on loopback,
// the leafnode door with a secret.
func TestRoles_Doors(t *testing.T) {
	t.Parallel()
	s := startGuarded(t)
	for _, who := range []nats.Option{nats.UserInfo("", ""), nats.UserInfo("worker", "wrong"), nats.UserInfo("dsend-internal", ""), nats.Token("x")} {
		if nc, err := nats.Connect(s.url(), who, nats.Timeout(patience)); err == nil || !errors.Is(err, nats.ErrAuthorization) {
			nc.Close()
			t.Errorf("connected without the right credentials: %v", err)
		}
	}
	doors := listens(t, s.pid())
	if len(doors) != 3 {
		t.Errorf("it listens on %v, want clients, HTTP and a leafnode door", doors)
	}
	for _, door := range doors {
		if host, _, err := net.SplitHostPort(door); err != nil || host != "127.0.0.1" {
			t.Errorf("it listens on %s", door)
		}
		if door == s.addr || door == s.web {
			continue
		}
		conn, err := net.Dial("tcp", door)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "CONNECT {\"user\":\"dsend-internal\",\"pass\":\"x\"}\r\nPING\r\n")
		var said []string
		for in := bufio.NewScanner(conn); in.Scan(); {
			said = append(said, in.Text())
		}
		if text := strings.Join(said, "\n"); !strings.Contains(text, "Authorization Violation") || strings.Contains(text, "PONG") {
			t.Errorf("the leafnode door says %s", text)
		}
	}
}

// listens are the TCP addresses a process listens on.
func listens(t testing.TB, pid int) (addrs []string) {
	t.Helper()
	mine := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		t.Fatalf("%d open files, %v", len(fds), err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
			mine[strings.Trim(to, "socket:[]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" || !mine[fields[9]] { // LISTEN
				continue
			}
			var ip [4]byte
			var port int
			if table == "tcp6" {
				addrs = append(addrs, "[tcp6]:"+fields[1])
			} else if _, err := fmt.Sscanf(fields[1], "%02X%02X%02X%02X:%04X", &ip[3], &ip[2], &ip[1], &ip[0], &port); err != nil {
				t.Fatal(err)
			} else {
				addrs = append(addrs, fmt.Sprintf("%s:%d", net.IP(ip[:]), port))
			}
		}
	}
	return addrs
}
