package jetstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// refusal asks for something that must be refused, and compares the code and the
// words that the description begins with.
func refusal(t *testing.T, nc *nats.Conn, subject, body string, errCode uint16, words string) {
	t.Helper()
	resp := ask[server.ApiResponse](t, nc, subject, body)
	switch e := resp.Error; {
	case e == nil:
		t.Errorf("%s %.200s is not refused", subject, body)
	case e.ErrCode != errCode || !strings.HasPrefix(e.Description, words) || e.Code < 400:
		t.Errorf("%s %.200s is refused with %d, %d: %.200s; want %d: %s…", subject, body, e.Code, e.ErrCode, e.Description, errCode, words)
	}
	if resp.Type == "" {
		t.Errorf("%s is answered without a type", subject)
	}
}

// What a queue cannot be is refused, by the name of the field, and nothing is
// made.
func TestStreamRefusals(t *testing.T) {
	n := start(t)
	nc := n.connect(t)
	for field, refused := range map[string]struct {
		value string
		code  uint16
	}{
		"mirror":                    {`{"name":"other"}`, 10052},
		"sources":                   {`[{"name":"other"}]`, 10052},
		"retention":                 {`"interest"`, 10052},
		"discard_new_per_subject":   {`true`, 10052},
		"num_replicas":              {`3`, 10074},
		"no_ack":                    {`true`, 10052},
		"placement":                 {`{"cluster":"c"}`, 10052},
		"republish":                 {`{"src":"a","dest":"b"}`, 10052},
		"subject_transform":         {`{"src":"a","dest":"b"}`, 10052},
		"max_msgs_per_subject":      {`1`, 10052},
		"max_consumers":             {`1`, 10052},
		"consumer_limits":           {`{"max_ack_pending":1}`, 10052},
		"first_seq":                 {`7`, 10052},
		"compression":               {`"s2"`, 10052},
		"sealed":                    {`true`, 10052},
		"deny_delete":               {`true`, 10052},
		"deny_purge":                {`true`, 10052},
		"allow_msg_counter":         {`true`, 10052},
		"persist_mode":              {`"async"`, 10052},
		"subject_delete_marker_ttl": {`1000000000`, 10052},
		"duplicate_window":          {`-1`, 10052},
		"max_age":                   {`1`, 10052},
		"description":               {`"` + strings.Repeat("x", 5000) + `"`, 10052},
		"subjects":                  {`["$JS.API.>"]`, 10052},
	} {
		refusal(t, nc, "STREAM.CREATE.orders", fmt.Sprintf(`{"name":"orders","retention":"workqueue","storage":"file","discard":"new",%q:%s}`, field, refused.value), refused.code, field+":")
	}
	for _, bad := range []struct {
		subject, body string
		code          uint16
		words         string
	}{
		{"STREAM.CREATE.orders", `{"name":"orders","discard":"old","max_msgs":5}`, 10052, "discard:"},
		{"STREAM.CREATE.orders", `{"name":"orders","subjects":["a b"]}`, 10052, "subjects:"},
		{"STREAM.CREATE.orders", `{"name":"orders","subjects":["dsend.work.x"]}`, 10052, "subjects:"},
		{"STREAM.CREATE.orders", `{"name":"other"}`, 10056, "stream name in subject"},
		{"STREAM.CREATE.or~ders", `{"name":"or~ders"}`, 10052, "name:"},
		{"STREAM.CREATE.orders", `{"name":"orders","nonsense":1}`, 10025, "invalid JSON"},
		{"STREAM.CREATE.orders", `{"name":"orders"`, 10025, "invalid JSON"},
		{"STREAM.CREATE.orders", `{"name":"orders"} {}`, 10025, "invalid JSON"},
		{"STREAM.CREATE.orders", ``, 10003, "bad request"},
		{"STREAM.UPDATE.orders", `{"name":"orders"}`, 10059, "stream not found"},
		{"STREAM.INFO.orders", ``, 10059, "stream not found"},
		{"STREAM.INFO.orders", `nonsense`, 10025, "invalid JSON"},
		{"STREAM.DELETE.orders", ``, 10059, "stream not found"},
		{"STREAM.DELETE.orders", `{}`, 10038, "expected an empty"},
		{"STREAM.PURGE.orders", ``, 10059, "stream not found"},
		{"STREAM.PURGE.orders", `{"seq":1,"keep":1}`, 10003, "seq, keep:"},
		{"STREAM.MSG.GET.orders", `{"seq":1}`, 10059, "stream not found"},
		{"STREAM.MSG.GET.orders", ``, 10003, "bad request"},
		{"STREAM.MSG.GET.orders", `{}`, 10003, "seq:"},
		{"STREAM.MSG.DELETE.orders", `{"seq":1}`, 10059, "stream not found"},
		{"STREAM.MSG.DELETE.orders", ``, 10003, "bad request"},
	} {
		refusal(t, nc, bad.subject, bad.body, bad.code, bad.words)
	}
	if infos, err := n.store.Infos(t.Context()); err != nil || len(infos) != 0 {
		t.Errorf("and yet there are %+v, %v", infos, err)
	}
}

// What a consumer of a queue cannot be is refused, by the name of the field.
func TestConsumerRefusals(t *testing.T) {
	n := start(t)
	js, nc := newClient(t, n), n.connect(t)
	orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	for field, refused := range map[string]struct {
		value string
		code  uint16
	}{
		"deliver_subject":  {`"push.here"`, 10112},
		"deliver_group":    {`"g"`, 10112},
		"flow_control":     {`true`, 10089},
		"idle_heartbeat":   {`1000000000`, 10088},
		"rate_limit_bps":   {`1`, 10086},
		"deliver_policy":   {`"new"`, 10101},
		"opt_start_seq":    {`5`, 10101},
		"opt_start_time":   {`"2026-01-01T00:00:00Z"`, 10101},
		"replay_policy":    {`"original"`, 10182},
		"filter_subject":   {`"orders.eu.>"`, 10093},
		"filter_subjects":  {`["orders.eu","orders.us"]`, 10093},
		"headers_only":     {`true`, 10094},
		"sample_freq":      {`"100"`, 10095},
		"max_batch":        {`-1`, 10114},
		"max_expires":      {`1`, 10115},
		"max_bytes":        {`-1`, 10094},
		"num_replicas":     {`3`, 10126},
		"direct":           {`true`, 10090},
		"sourcing":         {`true`, 10090},
		"priority_groups":  {`["a"]`, 10160},
		"priority_policy":  {`"overflow"`, 10160},
		"priority_timeout": {`1`, 10160},
		"ack_wait":         {`-1`, 10183},
		"backoff":          {`[-1]`, 10184},
		"max_waiting":      {`-1`, 10087},
		"description":      {`"` + strings.Repeat("x", 5000) + `"`, 10107},
	} {
		body := fmt.Sprintf(`{"stream_name":"orders","config":{"durable_name":"c","ack_policy":"explicit",%q:%s}}`, field, refused.value)
		refusal(t, nc, "CONSUMER.CREATE.orders.c", body, refused.code, field+":")
		refusal(t, nc, "CONSUMER.DURABLE.CREATE.orders.c", body, refused.code, field+":")
	}
	explicit := func(more string) string {
		return `{"stream_name":"orders","config":{"ack_policy":"explicit"` + more + `}}`
	}
	for _, bad := range []struct {
		subject, body string
		code          uint16
		words         string
	}{
		{"CONSUMER.CREATE.orders.c", `{"stream_name":"orders","config":{"name":"c"}}`, 10084, "ack_policy:"},
		{"CONSUMER.CREATE.orders.c", `{"stream_name":"orders","config":{"name":"c","ack_policy":"all"}}`, 10084, "ack_policy:"},
		{"CONSUMER.CREATE.orders.c", explicit(`,"max_deliver":1,"backoff":[1,2]`), 10116, "max_deliver:"},
		{"CONSUMER.CREATE.orders.c", explicit(`,"filter_subject":"orders.>","filter_subjects":["orders.>"]`), 10136, "filter_subjects:"},
		{"CONSUMER.CREATE.orders.c", explicit(`,"pause_until":"9999-12-31T23:59:59Z"`), 10094, "pause_until: is after"},
		{"CONSUMER.PAUSE.orders.w", `{"pause_until":"2600-01-01T00:00:00Z"}`, 10003, "pause_until: is after"},
		{"CONSUMER.CREATE.orders.c", explicit(`,"name":"d"`), 10017, "consumer name in subject"},
		{"CONSUMER.CREATE.orders.c", explicit(`,"name":"d","durable_name":"c"`), 10132, "Consumer Durable"},
		{"CONSUMER.CREATE.orders.c.orders.>", explicit(``), 10131, "Consumer create request"},
		{"CONSUMER.CREATE.orders", explicit(`,"durable_name":"c"`), 10020, "consumer expected to be ephemeral"},
		{"CONSUMER.DURABLE.CREATE.orders.c", explicit(``), 10018, "consumer expected to be durable"},
		{"CONSUMER.DURABLE.CREATE.orders.c", explicit(`,"durable_name":"d"`), 10017, "consumer name in subject"},
		{"CONSUMER.CREATE.orders", explicit(`,"name":"a/b"`), 10127, "Consumer name can not contain path"},
		{"CONSUMER.CREATE.orders", explicit(`,"name":"a@b"`), 10103, "durable name can not contain"},
		{"CONSUMER.CREATE.orders." + strings.Repeat("x", 300), explicit(``), 10102, "consumer name is too long"},
		{"CONSUMER.CREATE.other.c", explicit(``), 10056, "stream name in subject"},
		{"CONSUMER.CREATE.none.c", `{"stream_name":"none","config":{"ack_policy":"explicit"}}`, 10059, "stream not found"},
		{"CONSUMER.CREATE.orders.c", `{"stream_name":"orders","config":{"ack_policy":"explicit","new_thing":1}}`, 10025, "invalid JSON"},
		{"CONSUMER.CREATE.orders.c", ``, 10003, "bad request"},
		{"CONSUMER.INFO.orders.c", ``, 10014, "consumer not found"},
		{"CONSUMER.INFO.none.c", ``, 10059, "stream not found"},
		{"CONSUMER.DELETE.orders.c", ``, 10014, "consumer not found"},
		{"CONSUMER.DELETE.orders.w", `{}`, 10038, "expected an empty"},
		{"CONSUMER.PAUSE.orders.c", `{}`, 10014, "consumer not found"},
		{"CONSUMER.LIST.none", ``, 10059, "stream not found"},
		{"CONSUMER.NAMES.none", ``, 10059, "stream not found"},
	} {
		refusal(t, nc, bad.subject, bad.body, bad.code, bad.words)
	}
	ctx := within(t)
	if _, err := js.OrderedConsumer(ctx, "orders", jetstream.OrderedConsumerConfig{}); code(err) != 10084 {
		t.Errorf("an ordered consumer: %v", err)
	}
	names := ask[server.JSApiConsumerNamesResponse](t, nc, "CONSUMER.NAMES.orders", nil)
	if len(names.Consumers) != 1 {
		t.Errorf("and yet there are %q", names.Consumers)
	}
}

// A key-value or object store is refused when it is made, and not only when it
// is used.
func TestBucketsRefused(t *testing.T) {
	n := start(t)
	nc := n.connect(t)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	_, kv := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "b"})
	_, objects := js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: "b"})
	for what, err := range map[string]error{"key-value": kv, "object": objects} {
		var refused *jetstream.APIError
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Description, "subjects: key-value and object stores") {
			t.Errorf("%s store: %v", what, err)
		}
	}
	if streams := ask[server.JSApiStreamNamesResponse](t, nc, "STREAM.NAMES", "").Streams; len(streams) > 0 {
		t.Errorf("made: %v", streams)
	}
}

// What is not served is answered, at once, by its name.
func TestUnknown(t *testing.T) {
	nc := start(t).connect(t)
	for _, subject := range []string{
		"NONSENSE", "STREAM", "STREAM.NONSENSE", "STREAM.CREATE", "STREAM.INFO.a.b", "STREAM.SNAPSHOT.orders", "STREAM.RESTORE.orders",
		"STREAM.LEADER.STEPDOWN.orders", "STREAM.PEER.REMOVE.orders", "CONSUMER.UNPIN.orders.w", "CONSUMER.RESET.orders.w",
		"CONSUMER.LEADER.STEPDOWN.orders.w", "META.LEADER.STEPDOWN", "SERVER.REMOVE", "ACCOUNT.PURGE.a", "INFO.more", "CONSUMER.MSG.NEXT.orders",
	} {
		refusal(t, nc, subject, "", 10003, subject+" is not served")
	}
	for subject, status := range map[string]string{
		"DIRECT.GET.none":         "408",
		"DIRECT.GET.none.subject": "404",
	} {
		m, err := nc.Request("$JS.API."+subject, nil, patient)
		if err != nil || m.Header.Get("Status") != status {
			t.Errorf("%s is answered %+v, %v", subject, m, err)
		}
	}
}

// What is wrong with a request is said even if what is wrong is as long as a
// message can be.
func TestLongRefusals(t *testing.T) {
	n := start(t)
	nc := n.connect(t)
	room := int(nc.MaxPayload()) - 200
	long, quotes := strings.Repeat("x", room), strings.Repeat(`\" `, room/3)
	ask[server.JSApiStreamCreateResponse](t, nc, "STREAM.CREATE.orders", `{"name":"orders"}`)
	for _, bad := range []struct {
		subject, body, words string
		code                 uint16
	}{
		{"STREAM.CREATE.bad", `{"` + long + `":1}`, "invalid JSON: ", 10025},
		{"STREAM.CREATE.bad", `{"name":"bad","subjects":["` + quotes + `"]}`, "subjects: ", 10052},
		{"CONSUMER.CREATE.orders.c", `{"stream_name":"orders","config":{"pause_until":"` + long + `"}}`, "invalid JSON: ", 10025},
	} {
		refusal(t, nc, bad.subject, bad.body, bad.code, bad.words)
	}
	statuses := map[string]string{
		"$JS.API.DIRECT.GET.orders": `{"` + long + `":1}`,
		"dsend.pull.orders":         `{"batch":` + strings.Repeat("1", room) + `}`,
	}
	for subject, body := range statuses {
		m, err := nc.Request(subject, []byte(body), patient)
		if err != nil || !strings.HasPrefix(m.Header.Get("Description"), "Bad Request - ") {
			t.Errorf("%s: %v", subject, err)
		}
	}
	publish := &nats.Msg{Subject: "dsend.publish.orders", Header: nats.Header{"Nats-Batch-" + long: {"1"}}}
	m, err := nc.RequestMsg(publish, patient)
	if err != nil || !strings.Contains(string(m.Data), "Nats-Batch-") {
		t.Errorf("a publish with a long header: %v", err)
	}
}

// A request that relies on a newer server is refused.
func TestApiLevel(t *testing.T) {
	nc := start(t).connect(t)
	for level, errCode := range map[string]uint16{"4": 0, "5": 10185, "x": 10185} {
		m, err := nc.RequestMsg(&nats.Msg{
			Subject: "$JS.API.STREAM.CREATE.orders", Header: nats.Header{"Nats-Required-Api-Level": {level}}, Data: []byte(`{"name":"orders"}`),
		}, patient)
		if err != nil {
			t.Fatal(err)
		}
		var got server.ApiResponse
		if err := json.Unmarshal(m.Data, &got); err != nil {
			t.Fatal(err)
		}
		if errCode == 0 && got.Error != nil || errCode != 0 && (got.Error == nil || got.Error.ErrCode != errCode) {
			t.Errorf("level %s: %s", level, m.Data)
		}
	}
}

// Publishes that ask for what a queue has not are refused with JetStream's code.
func TestPublishRefusals(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	for header, want := range map[string]jetstream.ErrorCode{
		"Nats-Expected-Stream: orders":     10003,
		"Nats-Expected-Last-Sequence: 0":   10003,
		"Nats-Rollup: all":                 10003,
		"Nats-Incr: 1":                     10168,
		"Nats-Batch-Id: b":                 10174,
		"Nats-Stream-Source: other":        10227,
		"Nats-TTL: soon":                   10165,
		"Nats-Schedule: @every 5s":         10189,
		"Nats-Schedule-Target: orders.new": 10190,
	} {
		key, value, _ := strings.Cut(header, ": ")
		_, err := js.PublishMsg(ctx, &nats.Msg{Subject: "orders.new", Header: nats.Header{key: {value}}})
		if code(err) != want || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v; want %d", header, err, want)
		}
	}
	if info, err := n.store.Info(ctx, "orders"); err != nil || info.Ready != 0 {
		t.Errorf("and yet there are %d messages, %v", info.Ready, err)
	}
}
