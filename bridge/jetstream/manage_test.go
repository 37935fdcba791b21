package jetstream_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dsend/durable/queue"
)

// What a stream asks for is what its queue has, and what is shown of it.
func TestStreamSettings(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	want := jetstream.StreamConfig{
		Name: "orders", Description: "what is ordered", Subjects: []string{"orders.>", "invoices.*"}, Metadata: map[string]string{"team": "red"},
		MaxMsgs: 10, MaxBytes: 1 << 20, MaxAge: time.Hour, MaxMsgSize: 100, Duplicates: time.Minute, Discard: jetstream.DiscardNew,
		Retention: jetstream.WorkQueuePolicy, AllowDirect: true,
	}
	s, err := js.CreateStream(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	got := s.CachedInfo().Config
	for what, ok := range map[string]bool{
		"description": got.Description == want.Description, "subjects": slices.Equal(got.Subjects, want.Subjects),
		"metadata": got.Metadata["team"] == "red", "max_msgs": got.MaxMsgs == 10, "max_bytes": got.MaxBytes == 1<<20,
		"max_age": got.MaxAge == time.Hour, "max_msg_size": got.MaxMsgSize == 100, "duplicate_window": got.Duplicates == time.Minute,
		"discard": got.Discard == jetstream.DiscardNew, "retention": got.Retention == jetstream.WorkQueuePolicy,
		"allow_direct": got.AllowDirect, "num_replicas": got.Replicas == 1,
	} {
		if !ok {
			t.Errorf("%s is not what was asked for: %+v", what, got)
		}
	}
	info, err := n.store.Info(ctx, "orders")
	if err != nil || info.Settings.MaxMessages != 10 || info.Settings.DedupeWindow != time.Minute || info.Source != queue.FromAPI {
		t.Errorf("the queue is %+v, %v", info, err)
	}
	if _, err := js.CreateStream(ctx, want); err != nil {
		t.Errorf("made again as it is: %v", err)
	}
	want.MaxMsgs = 11
	if _, err := js.CreateStream(ctx, want); !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		t.Errorf("made again otherwise: %v", err)
	}
	want.Subjects, want.MaxBytes = []string{"orders.>"}, -1
	updated, err := js.UpdateStream(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	if got := updated.CachedInfo().Config; got.MaxMsgs != 11 || got.MaxBytes != -1 || len(got.Subjects) != 1 || got.Metadata["team"] != "red" {
		t.Errorf("updated it is %+v", got)
	}
	if _, err := js.UpdateStream(ctx, jetstream.StreamConfig{Name: "other"}); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("update of what is not there: %v", err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "more", Subjects: []string{"orders.new"}}); code(err) != 10065 {
		t.Errorf("overlapping subjects: %v", err)
	}
	if err := js.DeleteStream(ctx, "orders"); err != nil {
		t.Error(err)
	}
	if _, err := js.Stream(ctx, "orders"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

// code is the JetStream error code of an error.
func code(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

// Without subjects a stream has its name's, as in JetStream; every queue has the
// publish subject besides.
func TestStreamSubjects(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "jobs"}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "jobs", nil); err != nil {
		t.Error(err)
	}
	if _, err := js.Publish(ctx, "dsend.publish.used", nil); err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(ctx, "used")
	if err != nil || !slices.Equal(s.CachedInfo().Config.Subjects, []string{"dsend.publish.used"}) {
		t.Errorf("a queue of its first publish is %+v, %v", s.CachedInfo(), err)
	}
	if _, err := js.UpdateStream(ctx, s.CachedInfo().Config); err != nil {
		t.Errorf("and cannot be updated as it is: %v", err)
	}
	for subject, want := range map[string]string{"jobs": "jobs", "dsend.publish.used": "used", "dsend.publish.jobs": "jobs"} {
		if name, err := js.StreamNameBySubject(ctx, subject); err != nil || name != want {
			t.Errorf("%s is of %s, %v", subject, name, err)
		}
	}
	if _, err := js.StreamNameBySubject(ctx, "nothing"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("a subject of nobody: %v", err)
	}
}

// A queue of the configuration file is claimed by who asks for what it is, and
// not changed.
func TestStreamOfTheFile(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	settings := defaults()
	settings.Subjects, settings.MaxMessages = []string{"orders.*"}, 100
	if _, err := n.store.Do(ctx, &queue.Declare{Name: "orders", Settings: settings, Source: queue.FromFile}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders.*"}}); err != nil {
		t.Errorf("claimed: %v", err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "orders", Subjects: []string{"other"}}); !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		t.Errorf("claimed with other subjects: %v", err)
	}
	if _, err := js.UpdateStream(ctx, jetstream.StreamConfig{Name: "orders", Subjects: []string{"other"}}); code(err) != 10069 {
		t.Errorf("updated: %v", err)
	}
}

// Lists come in pages.
func TestLists(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	const many = 300
	for i := range many {
		if _, err := n.store.Do(ctx, &queue.Declare{Name: fmt.Sprintf("q%03d", i), Settings: defaults(), Source: queue.FromAPI}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for s := range js.ListStreams(ctx).Info() {
		names = append(names, s.Config.Name)
	}
	if len(names) != many || names[many-1] != "q299" {
		t.Errorf("%d streams are listed", len(names))
	}
	named := 0
	for range js.StreamNames(ctx).Name() {
		named++
	}
	if named != many {
		t.Errorf("%d streams are named", named)
	}
	for i := range many {
		if _, err := js.CreateConsumer(ctx, "q000", jetstream.ConsumerConfig{Durable: fmt.Sprintf("c%03d", i), AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := js.Stream(ctx, "q000")
	if err != nil {
		t.Fatal(err)
	}
	listed, nameless := 0, 0
	for range s.ListConsumers(ctx).Info() {
		listed++
	}
	for range s.ConsumerNames(ctx).Name() {
		nameless++
	}
	if listed != many || nameless != many {
		t.Errorf("%d consumers are listed and %d named", listed, nameless)
	}
	account, err := js.AccountInfo(ctx)
	if err != nil || account.Streams != many || account.Consumers != many || account.Domain != "dsend" {
		t.Errorf("the account has %+v, %v", account, err)
	}
}

// Messages are looked at, deleted and purged.
func TestMessages(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	s, err := js.Stream(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		msg := &nats.Msg{Subject: fmt.Sprintf("orders.%d", i%2), Data: fmt.Append(nil, i), Header: nats.Header{"A": {"x", "y"}}}
		if _, err := js.PublishMsg(ctx, msg); err != nil {
			t.Fatal(err)
		}
	}
	for what, get := range map[string]func() (*jetstream.RawStreamMsg, error){
		"by number": func() (*jetstream.RawStreamMsg, error) { return s.GetMsg(ctx, 6) },
		"the last":  func() (*jetstream.RawStreamMsg, error) { return s.GetLastMsgForSubject(ctx, "orders.1") },
		"the next": func() (*jetstream.RawStreamMsg, error) {
			return s.GetMsg(ctx, 5, jetstream.WithGetMsgSubject("orders.1"))
		},
		"by wildcards": func() (*jetstream.RawStreamMsg, error) { return s.GetLastMsgForSubject(ctx, "orders.*") },
	} {
		m, err := get()
		if err != nil || string(m.Data) != "5" || m.Subject != "orders.1" || !slices.Equal(m.Header["A"], []string{"x", "y"}) || m.Sequence != 6 {
			t.Errorf("%s is %+v, %v", what, m, err)
		}
	}
	stored := ask[server.JSApiMsgGetResponse](t, n.connect(t), "STREAM.MSG.GET.orders", `{"seq":6}`)
	if m := stored.Message; m == nil || string(m.Data) != "5" || m.Subject != "orders.1" || m.Time.IsZero() {
		t.Errorf("asked without directness it is %+v", stored)
	}
	for what, missing := range map[string]func() error{
		"no such number":  func() error { _, err := s.GetMsg(ctx, 99); return err },
		"no such subject": func() error { _, err := s.GetLastMsgForSubject(ctx, "orders.none"); return err },
	} {
		if err := missing(); !errors.Is(err, jetstream.ErrMsgNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for filter, want := range map[string]map[string]uint64{
		">": {"orders.0": 3, "orders.1": 3}, "orders.1": {"orders.1": 3}, "none": {},
	} {
		if info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter)); err != nil || !maps.Equal(info.State.Subjects, want) {
			t.Errorf("subjects %s are %v, %v", filter, info, err)
		}
	}
	if err := s.DeleteMsg(ctx, 3); err != nil {
		t.Error(err)
	}
	if err := s.DeleteMsg(ctx, 3); err == nil || !strings.Contains(err.Error(), "err_code=10043") {
		t.Errorf("deleted twice: %v", err)
	}
	info, err := s.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil || info.State.NumDeleted != 1 || !slices.Equal(info.State.Deleted, []uint64{3}) || info.State.Msgs != 5 || info.State.FirstSeq != 1 || info.State.LastSeq != 6 {
		t.Errorf("with a gap the stream is %+v, %v", info.State, err)
	}
	if err := s.Purge(ctx, jetstream.WithPurgeSequence(3)); err != nil {
		t.Error(err)
	}
	if err := s.Purge(ctx, jetstream.WithPurgeKeep(2)); err != nil {
		t.Error(err)
	}
	if info, err := s.Info(ctx); err != nil || info.State.Msgs != 2 || info.State.FirstSeq != 5 {
		t.Errorf("purged but two: %+v, %v", info.State, err)
	}
	if err := s.Purge(ctx); err != nil {
		t.Error(err)
	}
	if info, err := s.Info(ctx); err != nil || info.State.Msgs != 0 || info.State.FirstSeq != 7 || info.State.LastSeq != 6 {
		t.Errorf("purged: %+v, %v", info.State, err)
	}
}

// A consumer is made, changed, paused, resumed, shown and deleted.
func TestConsumerSettings(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	c := orders(t, js, jetstream.ConsumerConfig{
		Durable: "w", Description: "they work", Metadata: map[string]string{"team": "blue"}, AckWait: time.Minute, MaxDeliver: 7,
		BackOff: []time.Duration{time.Second, time.Minute}, MaxAckPending: 20, MaxWaiting: 30, InactiveThreshold: time.Hour, FilterSubject: "orders.>",
	})
	got := c.CachedInfo().Config
	for what, ok := range map[string]bool{
		"description": got.Description == "they work", "metadata": got.Metadata["team"] == "blue", "ack_wait": got.AckWait == time.Minute,
		"max_deliver": got.MaxDeliver == 7, "backoff": len(got.BackOff) == 2, "max_ack_pending": got.MaxAckPending == 20,
		"max_waiting": got.MaxWaiting == 30, "inactive_threshold": got.InactiveThreshold == time.Hour, "durable": got.Durable == "w",
	} {
		if !ok {
			t.Errorf("%s is not what was asked for: %+v", what, got)
		}
	}
	plain, err := js.CreateConsumer(ctx, "orders", jetstream.ConsumerConfig{Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if got := plain.CachedInfo().Config; got.AckWait != 30*time.Second || got.MaxDeliver != 3 || got.MaxAckPending != 10_000 || got.MaxWaiting != 512 || got.InactiveThreshold != 0 {
		t.Errorf("what is left open is %+v", got)
	}
	if _, err := js.CreateConsumer(ctx, "orders", jetstream.ConsumerConfig{Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 9}); !errors.Is(err, jetstream.ErrConsumerExists) {
		t.Errorf("made again otherwise: %v", err)
	}
	if _, err := js.UpdateConsumer(ctx, "orders", jetstream.ConsumerConfig{Durable: "none", AckPolicy: jetstream.AckExplicitPolicy}); !errors.Is(err, jetstream.ErrConsumerDoesNotExist) {
		t.Errorf("updated and not there: %v", err)
	}
	until := time.Now().Add(time.Hour)
	paused, err := js.PauseConsumer(ctx, "orders", "plain", until)
	if err != nil || !paused.Paused || paused.PauseRemaining <= 59*time.Minute {
		t.Errorf("paused: %+v, %v", paused, err)
	}
	if info, err := plain.Info(ctx); err != nil || !info.Paused || info.Config.PauseUntil == nil || !info.Config.PauseUntil.Equal(until) {
		t.Errorf("and then it is %+v, %v", info, err)
	}
	publish(t, js, 1)
	if got, err := plain.FetchNoWait(1); len(batch(t, got, err)) != 0 {
		t.Error("a paused consumer delivers")
	}
	if resumed, err := js.ResumeConsumer(ctx, "orders", "plain"); err != nil || resumed.Paused {
		t.Errorf("resumed: %+v, %v", resumed, err)
	}
	if got, err := plain.FetchNoWait(1); len(batch(t, got, err)) != 1 {
		t.Error("a resumed consumer does not deliver")
	}
	if err := js.DeleteConsumer(ctx, "orders", "plain"); err != nil {
		t.Error(err)
	}
	if err := js.DeleteConsumer(ctx, "orders", "plain"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := js.Consumer(ctx, "orders", "plain"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

// The numbers of a consumer are true.
func TestConsumerNumbers(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	c := orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	publish(t, js, 5)
	first, second := next(t, c), next(t, c)
	if err := first.Nak(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it comes back", func() bool {
		e, err := n.store.Entry(ctx, "orders", 1)
		return err == nil && e.Phase == queue.Ready
	})
	again := next(t, c)
	info, err := c.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if info.NumPending != 3 || info.NumAckPending != 2 || info.NumRedelivered != 1 || info.NumWaiting != 0 ||
		info.Delivered.Consumer != 3 || info.Delivered.Stream != 2 || info.AckFloor.Consumer != 1 || info.AckFloor.Stream != 0 || info.Delivered.Last == nil {
		t.Errorf("with two in flight: %+v", info)
	}
	for _, msg := range []jetstream.Msg{second, again} {
		if err := msg.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if info, err = c.Info(ctx); err != nil || info.NumAckPending != 0 || info.AckFloor.Consumer != 3 || info.AckFloor.Stream != 2 {
		t.Errorf("with nothing in flight: %+v, %v", info, err)
	}
}

// A consumer without a durable name is gone when nobody has used it for a while,
// and not before.
func TestEphemeral(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	c := orders(t, js, jetstream.ConsumerConfig{InactiveThreshold: 200 * time.Millisecond})
	name := c.CachedInfo().Name
	if name == "" || c.CachedInfo().Config.Durable != "" {
		t.Fatalf("it is %+v", c.CachedInfo())
	}
	got, err := c.Fetch(1, jetstream.FetchMaxWait(time.Second))
	if bodies := batch(t, got, err); len(bodies) != 0 {
		t.Errorf("fetched %q", bodies)
	}
	eventually(t, "it is gone", func() bool {
		_, err := js.Consumer(ctx, "orders", name)
		return errors.Is(err, jetstream.ErrConsumerNotFound)
	})
	nameless := ask[server.JSApiConsumerCreateResponse](t, n.connect(t), "CONSUMER.CREATE.orders", `{"stream_name":"orders","config":{"ack_policy":"explicit"}}`)
	if i := nameless.ConsumerInfo; i == nil || i.Name == "" || i.Config.InactiveThreshold != 5*time.Second {
		t.Errorf("the oldest form makes %+v", nameless)
	}
}

// The last and the next message of a subject are found however far away they
// are, past gaps.
func TestFarMessages(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	orders(t, js, jetstream.ConsumerConfig{Durable: "w"})
	s, err := js.Stream(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "orders.first", nil); err != nil {
		t.Fatal(err)
	}
	publish(t, js, 10_020)
	if _, err := js.Publish(ctx, "orders.last", nil); err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1400); seq < 1410; seq++ {
		if err := s.DeleteMsg(ctx, seq); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := s.GetLastMsgForSubject(ctx, "orders.first"); err != nil || m.Sequence != 1 {
		t.Errorf("the last of the first is %+v, %v", m, err)
	}
	if m, err := s.GetMsg(ctx, 2, jetstream.WithGetMsgSubject("orders.last")); err != nil || m.Sequence != 10_022 {
		t.Errorf("the next of the last is %+v, %v", m, err)
	}
	if _, err := s.Info(ctx, jetstream.WithSubjectFilter(">")); code(err) != 10117 {
		t.Errorf("too many are counted: %v", err)
	}
}

// A reload gives new streams other defaults; those that are there keep theirs.
func TestConfigure(t *testing.T) {
	n := start(t)
	js, ctx := newClient(t, n), within(t)
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "before"}); err != nil {
		t.Fatal(err)
	}
	changed := defaults()
	changed.MaxAttempts = 77
	n.api.Configure(changed)
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "after"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"before": defaults().MaxAttempts, "after": 77} {
		if info, err := n.store.Info(ctx, name); err != nil || info.Settings.MaxAttempts != want {
			t.Errorf("%s has %d attempts, %v", name, info.Settings.MaxAttempts, err)
		}
	}
}

// Requests that come when the API has stopped are answered.
func TestStopped(t *testing.T) {
	n := start(t)
	nc := n.connect(t)
	n.api.Stop()
	refusal(t, nc, "STREAM.NAMES", "", 10023, "the server is shutting down")
}
