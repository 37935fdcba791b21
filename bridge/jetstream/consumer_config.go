package jetstream

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/durable/queue"
)

// ephemeralThreshold is how long a consumer without a durable name stays that
// nobody uses, as in JetStream.
const ephemeralThreshold = 5 * time.Second

// consumerSettings are what a consumer asks for.
func consumerSettings(cfg *server.ConsumerConfig) queue.ConsumerSettings {
	s := queue.ConsumerSettings{
		Durable: cfg.Durable != "", Description: cfg.Description, Metadata: ownMetadata(cfg.Metadata),
		VisibilityTimeout: cfg.AckWait, MaxAttempts: max(cfg.MaxDeliver, 0), Backoff: slices.Clone(cfg.BackOff),
		MaxInFlight: max(cfg.MaxAckPending, 0), MaxWaiting: cmp.Or(cfg.MaxWaiting, server.JSWaitQueueDefaultMax),
		InactiveThreshold: cfg.InactiveThreshold,
		MaxBatch:          cfg.MaxRequestBatch, MaxExpires: cfg.MaxRequestExpires, MaxBytes: cfg.MaxRequestMaxBytes,
	}
	if !s.Durable && s.InactiveThreshold == 0 {
		s.InactiveThreshold = ephemeralThreshold
	}
	if cfg.PauseUntil != nil {
		s.PausedUntil = pausedUntil(*cfg.PauseUntil)
	}
	return s
}

// latest is the last moment that the store can note, in April 2262.
var latest = time.Unix(0, math.MaxInt64)

const tooLate = "is after April 2262"

// pausedUntil is the end of a pause up to latest; 0 if it was before all queues.
func pausedUntil(t time.Time) int64 {
	if t.Before(time.Unix(0, 0)) {
		return 0
	}
	return t.UnixNano()
}

// consumerConfig is a consumer as JetStream has it, with what it has from its
// queue.
func consumerConfig(q *queue.Info, i *queue.ConsumerInfo) *server.ConsumerConfig {
	s := &i.Settings
	cfg := &server.ConsumerConfig{
		Name: i.Name, Description: s.Description, Metadata: s.Metadata,
		DeliverPolicy: server.DeliverAll, AckPolicy: server.AckExplicit, ReplayPolicy: server.ReplayInstant,
		AckWait:       cmp.Or(s.VisibilityTimeout, q.Visibility),
		MaxDeliver:    cmp.Or(s.MaxAttempts, q.Settings.MaxAttempts, -1),
		BackOff:       s.Backoff,
		MaxAckPending: cmp.Or(s.MaxInFlight, q.Settings.MaxInFlight),
		MaxWaiting:    s.MaxWaiting, InactiveThreshold: s.InactiveThreshold, Replicas: 1,
		MaxRequestBatch: s.MaxBatch, MaxRequestExpires: s.MaxExpires, MaxRequestMaxBytes: s.MaxBytes,
	}
	if s.Durable {
		cfg.Durable = i.Name
	}
	if i.Paused {
		until := at(s.PausedUntil)
		cfg.PauseUntil = &until
	}
	return cfg
}

// checkConsumer refuses what a consumer of a queue cannot be.
func (a *API) checkConsumer(q *queue.Info, cfg *server.ConsumerConfig) error {
	const invalid = server.JSConsumerInvalidPolicyErrF
	return firstOf([]field{
		{cfg.DeliverSubject != "", "deliver_subject", server.JSConsumerInvalidDeliverSubject, "push consumers are not supported: pull, or subscribe to the work subject of the queue"},
		{cfg.DeliverGroup != "", "deliver_group", server.JSConsumerInvalidDeliverSubject, "push consumers are not supported"},
		{cfg.FlowControl, "flow_control", server.JSConsumerFCRequiresPushErr, "is for push consumers, which are not supported"},
		{cfg.Heartbeat != 0, "idle_heartbeat", server.JSConsumerHBRequiresPushErr, "is for push consumers, which are not supported"},
		{cfg.RateLimit != 0, "rate_limit_bps", server.JSConsumerPullWithRateLimitErr, "is for push consumers, which are not supported"},
		{cfg.AckPolicy != server.AckExplicit, "ack_policy", server.JSConsumerPullRequiresAckErr, "a queue needs explicit acks"},
		{cfg.DeliverPolicy != server.DeliverAll, "deliver_policy", server.JSConsumerWQConsumerNotDeliverAllErr, "a consumer of a queue must be deliver all"},
		{cfg.OptStartSeq != 0, "opt_start_seq", server.JSConsumerWQConsumerNotDeliverAllErr, "a consumer of a queue must be deliver all"},
		{cfg.OptStartTime != nil, "opt_start_time", server.JSConsumerWQConsumerNotDeliverAllErr, "a consumer of a queue must be deliver all"},
		{cfg.ReplayPolicy != server.ReplayInstant, "replay_policy", server.JSConsumerReplayPolicyInvalidErr, "only instant is supported"},
		{cfg.FilterSubject != "" && len(cfg.FilterSubjects) > 0, "filter_subjects", server.JSConsumerDuplicateFilterSubjects, "goes not with filter_subject"},
		{cfg.FilterSubject != "" && !a.covers(q, cfg.FilterSubject), "filter_subject", server.JSConsumerFilterNotSubsetErr, "a consumer takes all of a queue: make a queue of these subjects"},
		{len(cfg.FilterSubjects) > 0 && !a.covers(q, cfg.FilterSubjects...), "filter_subjects", server.JSConsumerFilterNotSubsetErr, "a consumer takes all of a queue: make a queue of these subjects"},
		{cfg.HeadersOnly, "headers_only", invalid, "is not supported"},
		{cfg.SampleFrequency != "", "sample_freq", server.JSConsumerInvalidSamplingErrF, "is not supported"},
		{cfg.MaxRequestBatch < 0, "max_batch", server.JSConsumerMaxRequestBatchNegativeErr, "needs to be positive"},
		{cfg.MaxRequestExpires != 0 && cfg.MaxRequestExpires < time.Millisecond, "max_expires", server.JSConsumerMaxRequestExpiresTooSmall, "needs to be >= 1ms"},
		{cfg.MaxRequestMaxBytes < 0, "max_bytes", invalid, "needs to be positive"},
		{cfg.Replicas > 1, "num_replicas", server.JSConsumerReplicasExceedsStream, "more than 1 is not supported"},
		{cfg.Replicas < 0, "num_replicas", server.JSReplicasCountCannotBeNegative, "is negative"},
		{cfg.Direct, "direct", server.JSConsumerDirectRequiresPushErr, "is not supported"},
		{cfg.Sourcing, "sourcing", server.JSConsumerDirectRequiresPushErr, "is not supported"},
		{len(cfg.PriorityGroups) > 0, "priority_groups", server.JSConsumerInvalidPriorityGroupErr, "are not supported: give messages a Dsend-Priority"},
		{cfg.PriorityPolicy != server.PriorityNone, "priority_policy", server.JSConsumerInvalidPriorityGroupErr, "is not supported"},
		{cfg.PinnedTTL != 0, "priority_timeout", server.JSConsumerInvalidPriorityGroupErr, "is not supported"},
		{cfg.AckWait < 0, "ack_wait", server.JSConsumerAckWaitNegativeErr, "needs to be positive"},
		{slices.ContainsFunc(cfg.BackOff, func(d time.Duration) bool { return d < 0 }), "backoff", server.JSConsumerBackOffNegativeErr, "needs to be positive"},
		{cfg.MaxDeliver > 0 && cfg.MaxDeliver <= len(cfg.BackOff), "max_deliver", server.JSConsumerMaxDeliverBackoffErr, "needs to be above the number of entries of backoff"},
		{cfg.PauseUntil != nil && cfg.PauseUntil.After(latest), "pause_until", invalid, tooLate},
		{cfg.MaxWaiting < 0, "max_waiting", server.JSConsumerMaxWaitingNegativeErr, "needs to be positive"},
		{len(cfg.Description) > server.JSMaxDescriptionLen, "description", server.JSConsumerDescriptionTooLongErrF, "is too long"},
	})
}

// checkConsumerName refuses what cannot be a token of a reply subject.
func checkConsumerName(name string) error {
	switch {
	case queue.ValidConsumerName(name):
		return nil
	case len(name) > server.JSMaxNameLen:
		return server.NewJSConsumerNameTooLongError(server.JSMaxNameLen)
	case strings.ContainsAny(name, `/\`):
		return server.NewJSConsumerNameContainsPathSeparatorsError()
	case name == "":
		return server.NewJSConsumerDurableNameNotSetError()
	}
	return refuse(server.JSConsumerBadDurableNameErr, "durable name can not contain '.', '*', '>', '@' or white space: %q", name)
}
