package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"dsend/bridge/admin"
	"dsend/durable/queue"
)

func TestServiceIsDiscoveredWithSchemas(t *testing.T) {
	h := serve(t, nil)
	m, err := h.nc.Request("$SRV.INFO.dsend", nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	var info micro.Info
	if err := json.Unmarshal(m.Data, &info); err != nil {
		t.Fatal(err)
	}
	if info.Name != "dsend" || info.Version != "1.2.3" {
		t.Errorf("service %s %s", info.Name, info.Version)
	}
	want := []string{
		"queue.ls", "queue.info", "queue.advise", "queue.peek", "queue.pause", "queue.resume", "queue.purge", "queue.rm",
		"msg.get", "msg.rm", "msg.kill", "dlq.ls", "dlq.show", "dlq.groups", "dlq.replay", "dlq.purge",
		"backup.begin", "backup.read", "backup.end", "reload",
	}
	if len(info.Endpoints) != len(want) {
		t.Errorf("%d endpoints, want %d", len(info.Endpoints), len(want))
	}
	for i, e := range info.Endpoints {
		if e.Subject != "dsend.api."+want[i] {
			t.Errorf("endpoint %s, want %s", e.Subject, want[i])
		}
		checkSchemas(t, e)
	}
}

func checkSchemas(t *testing.T, e micro.EndpointInfo) {
	t.Helper()
	if e.Metadata["description"] == "" {
		t.Errorf("%s has no description", e.Subject)
	}
	for _, key := range []string{"request_schema", "response_schema"} {
		var schema struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		}
		if err := json.Unmarshal([]byte(e.Metadata[key]), &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s %s: %v in %s", e.Subject, key, err, e.Metadata[key])
		}
		for _, name := range schema.Required {
			if schema.Properties[name] == nil {
				t.Errorf("%s %s: %s is required, but not described", e.Subject, key, name)
			}
		}
	}
}

// A schema lists exactly what an answer has.
func TestSchemaFitsTheAnswer(t *testing.T) {
	h := serve(t, nil)
	h.die(t, "orders", "body", "no such customer")
	schemas := map[string]string{}
	m, err := h.nc.Request("$SRV.INFO.dsend", nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	var info micro.Info
	if err := json.Unmarshal(m.Data, &info); err != nil {
		t.Fatal(err)
	}
	for _, e := range info.Endpoints {
		schemas[strings.TrimPrefix(e.Subject, "dsend.api.")] = e.Metadata["response_schema"]
	}
	for endpoint, request := range map[string]string{
		"queue.ls": ``, "queue.info": `{"queue":"orders"}`, "queue.peek": `{"queue":"orders-dlq"}`,
		"queue.advise": `{"queue":"orders"}`,
		"msg.get":      `{"queue":"orders-dlq","seq":1}`, "dlq.ls": `{"queue":"orders"}`, "dlq.show": `{"queue":"orders","seq":1}`,
		"dlq.groups": `{"queue":"orders"}`, "dlq.replay": `{"queue":"orders","dry_run":true}`,
	} {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal([]byte(schemas[endpoint]), &schema); err != nil {
			t.Fatal(err)
		}
		answer := get[map[string]json.RawMessage](t, h, endpoint, request)
		for field := range answer {
			if schema.Properties[field] == nil {
				t.Errorf("%s answers with %s, which its schema has not", endpoint, field)
			}
		}
		for field := range schema.Properties {
			if answer[field] == nil {
				t.Errorf("%s answers without %s, which its schema has", endpoint, field)
			}
		}
	}
}

func TestRequestsAreTakenStrictly(t *testing.T) {
	h := serve(t, nil)
	for _, c := range []struct {
		endpoint, body string
		code           int
		part           string
	}{
		{"queue.info", `{"queue":"orders","seq":1}`, 400, `unknown field "seq"`},
		{"queue.info", `{"queue":7}`, 400, "queue cannot be a number"},
		{"queue.info", `[]`, 400, "the request is a JSON array"},
		{"queue.info", `{"queue":"a"} {}`, 400, "goes on"},
		{"queue.info", `{"queue":`, 400, "ends early"},
		{"queue.info", `nonsense`, 400, "invalid character"},
		{"queue.info", ``, 400, "queue is missing"},
		{"queue.info", `{"queue":"orders"}`, 404, "there is no queue orders"},
		{"queue.peek", `{"queue":"orders","state":"dead"}`, 400, "not one of"},
		{"queue.peek", `{"queue":"orders","limit":-1}`, 400, "limit -1 is negative"},
		{"msg.get", `{"queue":"orders","seq":1,"offset":-1}`, 400, "offset -1 is negative"},
		{"dlq.ls", `{"queue":"orders","filter":{"reason":"expired"}}`, 400, `unknown field "reason"`},
		{"dlq.ls", `{"queue":"orders","filter":{"reasons":["tired"]}}`, 400, "is not a reason"},
		{"dlq.ls", `{"queue":"orders","filter":{"first_seq":9,"last_seq":1}}`, 400, "last_seq 1 is below"},
		{"dlq.replay", `{"queue":"orders"}`, 404, "there is no queue orders"},
		{"reload", `{"hard":true}`, 400, `unknown field "hard"`},
		{"reload", ``, 409, "no configuration file"},
		{"queue.ls", strings.Repeat(" ", admin.MaxRequest+1), 413, "bytes"},
	} {
		refused(t, h, c.endpoint, c.body, c.code, c.part)
	}
}

func TestEveryRefusalHasACode(t *testing.T) {
	h := serve(t, nil)
	for code := queue.NoQueue; code <= queue.NoDLQ; code++ {
		h.set(func() { h.failed = &queue.Error{Code: code, Text: "the sentence"} })
		_, err := ask[any](t, h, "queue.ls", "")
		var p *admin.Problem
		if !errors.As(err, &p) || p.Code == 500 || p.Description != "the sentence" {
			t.Errorf("code %d: %+v", code, p)
		}
	}
	for _, c := range []struct {
		err  error
		kind string
		code int
	}{
		{errors.New("disk on fire"), "failed", 503},
		{context.DeadlineExceeded, "timeout", 504},
		{fmt.Errorf("wrapped: %w", context.Canceled), "stopping", 503},
	} {
		h.set(func() { h.failed = c.err })
		_, err := ask[any](t, h, "queue.ls", "")
		var p *admin.Problem
		if !errors.As(err, &p) || p.Code != c.code || p.Kind != c.kind {
			t.Errorf("%v: %+v", c.err, p)
		}
	}
}

func TestChangesAreLoggedAndLooksAreNot(t *testing.T) {
	h := serve(t, func(c *admin.Config) {
		c.Reload = func(context.Context) ([]string, error) { return []string{"orders.max_attempts: 5 -> 7"}, nil }
	})
	h.die(t, "orders", "x", "bad")
	h.die(t, "orders", "y", "bad")
	get[admin.Queue](t, h, "queue.info", `{"queue":"orders"}`)
	get[admin.ReplayAnswer](t, h, "dlq.replay", `{"queue":"orders","dry_run":true}`)
	get[admin.ReplayAnswer](t, h, "dlq.replay", `{"queue":"orders","limit":1}`)
	get[admin.Queue](t, h, "queue.pause", `{"queue":"orders"}`)
	get[admin.Removed](t, h, "queue.purge", `{"queue":"orders"}`)
	refused(t, h, "msg.rm", `{"queue":"orders","seq":99}`, 404, "99")
	get[admin.Reloaded](t, h, "reload", ``)
	want := []string{
		`msg="admin dlq.replay" request="{\"queue\":\"orders\",\"limit\":1}" replayed=1 skipped=0`,
		`msg="admin queue.pause" request="{\"queue\":\"orders\"}"`,
		`msg="admin queue.purge" request="{\"queue\":\"orders\"}" removed=1`,
		`msg="admin msg.rm" request="{\"queue\":\"orders\",\"seq\":99}" error="there is no message 99 in queue orders"`,
		`msg="admin reload" request={} changes=1`,
	}
	got := h.log.all()
	if len(got) != len(want) {
		t.Fatalf("%d lines: %q", len(got), got)
	}
	for i := range want {
		if !strings.HasSuffix(got[i], want[i]) {
			t.Errorf("line %d: %s\nwant: %s", i, got[i], want[i])
		}
	}
}

func TestReloadThatIsRefusedSaysWhy(t *testing.T) {
	h := serve(t, func(c *admin.Config) {
		c.Reload = func(context.Context) ([]string, error) { return nil, errors.New("dsend.yaml:3: prefix: cannot change") }
	})
	refused(t, h, "reload", ``, 409, "dsend.yaml:3: prefix: cannot change")
}

// A request that is under way when the service stops is answered; what comes
// later has nobody there.
func TestStopAnswersWhatRuns(t *testing.T) {
	h := serve(t, nil)
	h.publish(t, "orders", "x")
	entered := make(chan struct{})
	h.set(func() { h.before = func(ctx context.Context, _ queue.Op) { close(entered); <-ctx.Done() } })
	answered := make(chan string, 1)
	go func() {
		m, err := h.nc.Request("dsend.api.queue.pause", []byte(`{"queue":"orders"}`), patience)
		if err != nil {
			answered <- err.Error()
			return
		}
		answered <- m.Header.Get("Nats-Service-Error-Code")
	}()
	<-entered
	if err := h.service.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; got != "503" {
		t.Errorf("answered with %q, want 503: its work was cut short", got)
	}
	if _, err := h.nc.Request("dsend.api.queue.ls", nil, patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after Stop: %v, want no responders", err)
	}
}

func TestVersionsThatAreNotSemantic(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "devel": "0.0.0", "": "0.0.0",
		"v0.0.0-20260101000000-abcdef123456+dirty": "0.0.0-20260101000000-abcdef123456+dirty",
	} {
		h := serve(t, func(c *admin.Config) { c.Version = version })
		m, err := h.nc.Request("$SRV.PING.dsend", nil, patience)
		if err != nil {
			t.Fatal(err)
		}
		var ping micro.Ping
		if err := json.Unmarshal(m.Data, &ping); err != nil || ping.Version != want {
			t.Errorf("version %q is shown as %q, want %q (%v)", version, ping.Version, want, err)
		}
		if err := h.service.Stop(); err != nil {
			t.Error(err)
		}
	}
}
