package jetstream

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/durable/queue"
)

// publishSubject is where a queue is published to, whatever it captures.
func (a *API) publishSubject(name string) string { return a.cfg.Prefix + ".publish." + name }

// streamConfig is a queue as a stream.
func (a *API) streamConfig(i *queue.Info) server.StreamConfig {
	s := &i.Settings
	subjects := slices.Clone(s.Subjects)
	if len(subjects) == 0 {
		subjects = []string{a.publishSubject(i.Name)}
	}
	return server.StreamConfig{
		Name: i.Name, Description: s.Description, Subjects: subjects, Metadata: s.Metadata,
		Retention: server.WorkQueuePolicy, Discard: server.DiscardNew, Storage: server.FileStorage, Replicas: 1,
		MaxMsgs: unbounded(s.MaxMessages), MaxBytes: unbounded(s.MaxBytes), MaxAge: s.MaxAge,
		MaxMsgSize: int32(unbounded(min(s.MaxMessageSize, math.MaxInt32))), MaxMsgsPer: -1, MaxConsumers: -1,
		Duplicates: s.DedupeWindow, AllowDirect: true, AllowMsgTTL: true, AllowMsgSchedules: true,
	}
}

// unbounded writes no bound as JetStream does.
func unbounded(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// bound reads a bound: what is not above 0 is none.
func bound(n int64) int64 { return max(n, 0) }

// fresh are the settings that a stream asks for that is not there yet.
func (a *API) fresh(cfg *server.StreamConfig) queue.Settings {
	s := *a.defaults.Load()
	s.MaxMessages, s.MaxBytes, s.MaxMessageSize, s.MaxAge = 0, 0, 0, 0
	s.Subjects = []string{cfg.Name}
	return a.updated(cfg, s)
}

// updated are the settings of a queue when a stream's configuration takes the
// place of what it can say. Subjects and window may be left out.
func (a *API) updated(cfg *server.StreamConfig, s queue.Settings) queue.Settings {
	s.Description, s.Metadata = cfg.Description, ownMetadata(cfg.Metadata)
	s.MaxMessages, s.MaxBytes, s.MaxMessageSize = bound(cfg.MaxMsgs), bound(cfg.MaxBytes), bound(int64(cfg.MaxMsgSize))
	s.MaxAge = max(cfg.MaxAge, 0)
	if cfg.Duplicates > 0 {
		s.DedupeWindow = cfg.Duplicates
	}
	if len(cfg.Subjects) > 0 {
		s.Subjects = a.captured(cfg)
	}
	return s
}

// claimed are the settings of a queue that is there if it is as a stream asks
// for: what that leaves open is as it is.
func (a *API) claimed(cfg *server.StreamConfig, s queue.Settings) queue.Settings {
	want := a.updated(cfg, s)
	for _, open := range []struct {
		is  bool
		set func()
	}{
		{cfg.Description == "", func() { want.Description = s.Description }},
		{len(cfg.Metadata) == 0, func() { want.Metadata = s.Metadata }},
		{cfg.MaxMsgs <= 0, func() { want.MaxMessages = s.MaxMessages }},
		{cfg.MaxBytes <= 0, func() { want.MaxBytes = s.MaxBytes }},
		{cfg.MaxMsgSize <= 0, func() { want.MaxMessageSize = s.MaxMessageSize }},
		{cfg.MaxAge <= 0, func() { want.MaxAge = s.MaxAge }},
	} {
		if open.is {
			open.set()
		}
	}
	return want
}

// captured are the subjects of a stream but for the one that every queue has.
func (a *API) captured(cfg *server.StreamConfig) []string {
	own := a.publishSubject(cfg.Name)
	subjects := slices.DeleteFunc(slices.Clone(cfg.Subjects), func(s string) bool { return s == own })
	if len(subjects) == 0 {
		return nil
	}
	return subjects
}

// serverMetadata is what servers say of themselves in metadata.
const serverMetadata = "_nats."

// ownMetadata is the metadata that is its maker's.
func ownMetadata(all map[string]string) map[string]string {
	var own map[string]string
	for k, v := range all {
		if strings.HasPrefix(k, serverMetadata) {
			continue
		}
		if own == nil {
			own = map[string]string{}
		}
		own[k] = v
	}
	return own
}

// field is something a configuration must not ask for.
type field struct {
	set  bool
	name string
	id   server.ErrorIdentifier
	why  string
}

// firstOf refuses the first field that is set.
func firstOf(fields []field) error {
	for _, f := range fields {
		if f.set {
			return refuse(f.id, "%s: %s", f.name, f.why)
		}
	}
	return nil
}

// checkStream refuses what a queue cannot be.
func (a *API) checkStream(cfg *server.StreamConfig) error {
	const invalid = server.JSStreamInvalidConfigF
	limited := cfg.MaxMsgs > 0 || cfg.MaxBytes > 0
	err := firstOf([]field{
		{!queue.ValidName(cfg.Name), "name", invalid, "is not a queue name: [A-Za-z0-9_-]{1,64}"},
		{isBucket(cfg), "subjects", invalid, "key-value and object stores are read again and again, a queue is not: keep them in JetStream"},
		{cfg.Mirror != nil, "mirror", invalid, "a queue is no mirror"},
		{len(cfg.Sources) > 0, "sources", invalid, "a queue has no sources"},
		{cfg.Retention == server.InterestPolicy, "retention", invalid, "a queue is a work queue: interest is not supported"},
		{limited && cfg.Discard == server.DiscardOld, "discard", invalid, "a full queue refuses the new and never drops the old: use new"},
		{cfg.DiscardNewPer, "discard_new_per_subject", invalid, "is not supported"},
		{cfg.Replicas < 0, "num_replicas", server.JSReplicasCountCannotBeNegative, "is negative"},
		{cfg.Replicas > 1, "num_replicas", server.JSStreamReplicasNotSupportedErr, "more than 1 is not supported"},
		{cfg.NoAck, "no_ack", invalid, "every publish is answered"},
		{cfg.Placement != nil, "placement", invalid, "is not supported"},
		{cfg.RePublish != nil, "republish", invalid, "is not supported"},
		{cfg.SubjectTransform != nil, "subject_transform", invalid, "is not supported"},
		{cfg.MaxMsgsPer > 0, "max_msgs_per_subject", invalid, "is not supported"},
		{cfg.MaxConsumers > 0, "max_consumers", invalid, "is not supported"},
		{cfg.ConsumerLimits != server.StreamConsumerLimits{}, "consumer_limits", invalid, "is not supported"},
		{cfg.FirstSeq > 1, "first_seq", invalid, "a queue begins with 1"},
		{cfg.Compression != server.NoCompression, "compression", invalid, "is not supported"},
		{cfg.Sealed, "sealed", invalid, "is not supported"},
		{cfg.DenyDelete, "deny_delete", invalid, "is not supported"},
		{cfg.DenyPurge, "deny_purge", invalid, "is not supported"},
		{cfg.AllowMsgCounter, "allow_msg_counter", invalid, "is not supported"},
		{cfg.PersistMode != server.DefaultPersistMode, "persist_mode", invalid, "every publish is on disk when it is answered"},
		{cfg.SubjectDeleteMarkerTTL != 0, "subject_delete_marker_ttl", invalid, "is not supported"},
		{cfg.Duplicates < 0, "duplicate_window", invalid, "is negative"},
		{cfg.MaxAge < 0, "max_age", invalid, "is negative"},
		{cfg.MaxAge > 0 && cfg.MaxAge < 100*time.Millisecond, "max_age", invalid, "is below 100ms"},
		{len(cfg.Description) > server.JSMaxDescriptionLen, "description", invalid, "is too long"},
	})
	if err != nil {
		return err
	}
	return a.checkCaptures(cfg)
}

// isBucket tells whether a stream is to be a key-value or object store: a client
// would be told of it only when it writes or reads.
func isBucket(cfg *server.StreamConfig) bool {
	return slices.ContainsFunc(cfg.Subjects, func(s string) bool {
		return strings.HasPrefix(s, "$KV.") || strings.HasPrefix(s, "$O.")
	})
}

// checkCaptures refuses subjects that are not a queue's to have.
func (a *API) checkCaptures(cfg *server.StreamConfig) error {
	for _, subject := range a.captured(cfg) {
		if !queue.ValidPattern(subject) {
			return refuse(server.JSStreamInvalidConfigF, "subjects: %q is not a subject", subject)
		}
		for _, reserved := range a.cfg.Reserved {
			if queue.Overlap(subject, reserved) {
				return refuse(server.JSStreamInvalidConfigF, "subjects: %q overlaps with %s, which is NATS's or Dsend's own", subject, reserved)
			}
		}
	}
	return nil
}
