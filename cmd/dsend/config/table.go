package config

import (
	"strings"
	"time"

	"dsend/durable/queue"
)

// A key is one thing that can be told. Its name is dotted, and a queue's key
// stands both in a queue and below defaults.
type key struct {
	name string
	kind kind
	help string // a sentence, for the sample and for --help
	flag string // empty: the name with dashes
	// live keys can be changed by a reload.
	live bool
	// own keys of a queue have no default.
	own bool
	// others is what others call it, to be recognised and refused.
	others []string
	// One of the two is where the value is kept.
	global   func(*Config) any
	perQueue func(*queue.Settings) any
}

// serverKeys are the keys there is one of.
func serverKeys() []key {
	return []key{
		{name: "server.listen", kind: one(words("address", address)), flag: "listen",
			help:   "Where NATS clients connect, host:port, before what server.config says; port 0 picks a free one.",
			global: func(c *Config) any { return &c.Server.Listen }},
		{name: "server.config", kind: one(words("file", anything)),
			help:   "A nats-server configuration file (TLS, users, accounts, cluster), used as it is.",
			global: func(c *Config) any { return &c.Server.Config }},
		{name: "server.account", kind: one(words("string", account)),
			help:   "The account to serve, one of server.config; empty is the global account.",
			global: func(c *Config) any { return &c.Server.Account }},
		{name: "server.leaf", kind: one(leafPorts()), flag: "leaf",
			help:   "Join this NATS server by its leafnode port instead, nats://user:password@host:7422; several with commas.",
			global: func(c *Config) any { return &c.Server.Leaf }},
		{name: "server.leaf_creds", kind: one(words("file", anything)),
			help:   "A credentials file for it, instead of user and password.",
			global: func(c *Config) any { return &c.Server.LeafCreds }},
		{name: "server.leaf_ca", kind: one(words("file", anything)),
			help:   "Who may have signed its certificate (PEM); empty is the system's.",
			global: func(c *Config) any { return &c.Server.LeafCA }},
		{name: "server.leaf_cert", kind: one(words("file", anything)),
			help:   "Our own certificate for it (PEM), where it asks for one.",
			global: func(c *Config) any { return &c.Server.LeafCert }},
		{name: "server.leaf_key", kind: one(words("file", anything)),
			help:   "The key of that certificate (PEM).",
			global: func(c *Config) any { return &c.Server.LeafKey }},
		{name: "http.listen", kind: one(words("address", orEmpty(address))), flag: "http",
			help:   "Where health and metrics are served over HTTP, host:port; empty turns it off.",
			global: func(c *Config) any { return &c.HTTP.Listen }},
		{name: "storage.dir", kind: one(words("folder", filled)), flag: "data", others: []string{"store_dir", "data_dir"},
			help:   "The data folder.",
			global: func(c *Config) any { return &c.Storage.Dir }},
		{name: "storage.reserve", kind: one(size()),
			help:   "Bytes that stay free on its disk: with less, publishes are refused; 0 is no reserve.",
			global: func(c *Config) any { return &c.Storage.Reserve }},
		{name: "storage.slack", kind: one(sizeFrom(LeastSlack)),
			help:   "Bytes that the log may have beside twice what is needed of it; less means more work to keep it small.",
			global: func(c *Config) any { return &c.Storage.Slack }},
		{name: "storage.cache", kind: one(size()),
			help:   "Bytes of recent commits kept in memory; 0 keeps none.",
			global: func(c *Config) any { return &c.Storage.Cache }},
		{name: "sync.ack_interval", kind: one(duration(0, time.Minute)),
			help:   "How long a plain ack may wait for the disk; 0 is not at all.",
			global: func(c *Config) any { return &c.Sync.AckInterval }},
		{name: "log.level", kind: one(oneOf("debug", "info", "warn", "error")), live: true,
			help:   "The least of what is logged: debug, info, warn or error.",
			global: func(c *Config) any { return &c.Log.Level }},
		{name: "log.format", kind: one(oneOf("text", "json")),
			help:   "How it is logged: text or json.",
			global: func(c *Config) any { return &c.Log.Format }},
		{name: "prefix", kind: one(words("subject", prefix)),
			help:   "What Dsend's own subjects begin with.",
			global: func(c *Config) any { return &c.Prefix }},
		{name: "worker_grace", kind: one(duration(0, longest)),
			help:   "How long the inbox of a worker may be gone before what it holds has failed.",
			global: func(c *Config) any { return &c.WorkerGrace }},
		{name: "auto_create", kind: one(truth()), live: true,
			help:   "The first publish to an unknown queue creates it; by default only without a file.",
			global: func(c *Config) any { return &c.AutoCreate }},
	}
}

// queueKeys are the keys of a queue. Their bounds are those of
// queue.Settings.Validate.
func queueKeys() []key {
	return append([]key{
		{name: "subjects", kind: many(words("subject", anything), "subjects", 0), own: true,
			help:     "Subjects to capture: what is published there is published to the queue.",
			perQueue: func(s *queue.Settings) any { return &s.Subjects }},
		{name: "visibility_timeout", kind: visibility(), others: []string{"ack_wait", "ttr"},
			help:     "How long a delivery may stay unanswered; auto follows how long workers take.",
			perQueue: func(s *queue.Settings) any { return s }},
		{name: "visibility_timeout_min", kind: one(anyDuration()),
			help:     "No automatic visibility timeout is shorter.",
			perQueue: func(s *queue.Settings) any { return &s.VisibilityMin }},
		{name: "visibility_timeout_max", kind: one(anyDuration()),
			help:     "No automatic visibility timeout is longer.",
			perQueue: func(s *queue.Settings) any { return &s.VisibilityMax }},
		{name: "max_hold", kind: one(anyDuration()),
			help:     "How long in-progress answers can hold a delivery, from its start; 0 is no bound.",
			perQueue: func(s *queue.Settings) any { return &s.MaxHold }},
		{name: "max_attempts", kind: one(integer()), others: []string{"max_deliver", "max_retries", "retries"},
			help:     "How many attempts a message has, the first included; 0 is unlimited.",
			perQueue: func(s *queue.Settings) any { return &s.MaxAttempts }},
		{name: "backoff.initial", kind: one(anyDuration()),
			help:     "The wait after the first failed attempt.",
			perQueue: func(s *queue.Settings) any { return &s.Backoff.Initial }},
		{name: "backoff.factor", kind: one(decimal()),
			help:     "Each further wait is this many times the one before.",
			perQueue: func(s *queue.Settings) any { return &s.Backoff.Factor }},
		{name: "backoff.max", kind: one(anyDuration()),
			help:     "No wait is longer.",
			perQueue: func(s *queue.Settings) any { return &s.Backoff.Max }},
		{name: "backoff.list", kind: many(anyDuration(), "durations", 1),
			help:     "Instead of the three above: the waits one by one; the last one repeats.",
			perQueue: func(s *queue.Settings) any { return &s.Backoff.List }},
		{name: "backoff.jitter", kind: one(decimal()),
			help:     "The part of a wait that may be cut off at random, from 0 to below 1.",
			perQueue: func(s *queue.Settings) any { return &s.Backoff.Jitter }},
	}, limitKeys()...)
}

func limitKeys() []key {
	return []key{
		{name: "max_in_flight", kind: one(integer()), others: []string{"max_ack_pending"},
			help:     "How many deliveries of a queue may be unanswered at a time.",
			perQueue: func(s *queue.Settings) any { return &s.MaxInFlight }},
		{name: "push.subject", kind: one(words("subject", anything)), own: true, others: []string{"deliver_subject"},
			help:     "Where workers subscribe; empty is PREFIX.work.NAME.",
			perQueue: func(s *queue.Settings) any { return &s.Push.Subject }},
		{name: "push.max_in_flight_per_worker", kind: one(integer()),
			help:     "How many of them each subscribed worker may hold.",
			perQueue: func(s *queue.Settings) any { return &s.Push.MaxInFlightPerWorker }},
		{name: "dedupe_window", kind: one(anyDuration()), others: []string{"duplicate_window", "duplicates"},
			help:     "How long a Nats-Msg-Id is remembered, from its first publish; 0 turns dedupe off.",
			perQueue: func(s *queue.Settings) any { return &s.DedupeWindow }},
		{name: "max_messages", kind: one(count()), others: []string{"max_msgs"},
			help:     "How many messages a queue holds before it refuses more; 0 is no bound.",
			perQueue: func(s *queue.Settings) any { return &s.MaxMessages }},
		{name: "max_bytes", kind: one(size()),
			help:     "How many bytes it holds before it refuses more; 0 is no bound.",
			perQueue: func(s *queue.Settings) any { return &s.MaxBytes }},
		{name: "max_message_size", kind: one(size()), others: []string{"max_msg_size"},
			help:     "How large one message may be, headers included; 0 is the server's max_payload.",
			perQueue: func(s *queue.Settings) any { return &s.MaxMessageSize }},
		{name: "max_age", kind: one(anyDuration()), others: []string{"ttl"},
			help:     "When a message that is not in flight expires, from its publish; 0 is never.",
			perQueue: func(s *queue.Settings) any { return &s.MaxAge }},
		{name: "dead_letter.enabled", kind: one(truth()),
			help:     "Keep the messages that are given up; false drops them, with an event.",
			perQueue: func(s *queue.Settings) any { return &s.DeadLetter.Enabled }},
		{name: "dead_letter.queue", kind: one(words("queue", anything)),
			help:     "The queue they are kept in; empty is NAME-dlq.",
			perQueue: func(s *queue.Settings) any { return &s.DeadLetter.Queue }},
		{name: "paused", kind: one(truth()),
			help:     "Take publishes and answers, and deliver nothing.",
			perQueue: func(s *queue.Settings) any { return &s.Paused }},
	}
}

// defaultKeys are the keys of a queue that have a default, below defaults.
func defaultKeys() []key {
	var keys []key
	for _, k := range queueKeys() {
		if k.own {
			continue
		}
		field := k.perQueue
		k.name, k.live, k.perQueue = "defaults."+k.name, true, nil
		k.global = func(c *Config) any { return field(&c.Defaults) }
		keys = append(keys, k)
	}
	return keys
}

// globalKeys are all keys with one value: those that a variable and a flag can
// set.
func globalKeys() []key { return append(serverKeys(), defaultKeys()...) }

// variable is the key's name in the environment.
func (k key) variable() string {
	return "DSEND_" + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

// flagName is the key's flag.
func (k key) flagName() string {
	if k.flag != "" {
		return k.flag
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(k.name)
}

// KeyDoc describes a key to people.
type KeyDoc struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Default  string `json:"default"`
	Help     string `json:"help"`
	Flag     string `json:"flag,omitempty"`        // "--listen"
	Env      string `json:"environment,omitempty"` // "DSEND_SERVER_LISTEN"
	PerQueue bool   `json:"per_queue"`             // below queues
	Live     bool   `json:"live"`                  // a reload can change it
}

// Keys describes every key there is: those of the server, of defaults and of a
// queue.
func Keys() []KeyDoc {
	var docs []KeyDoc
	c := Default()
	for _, k := range globalKeys() {
		d := k.doc(k.global(c))
		d.Flag, d.Env, d.Live = "--"+k.flagName(), k.variable(), k.live
		docs = append(docs, d)
	}
	for _, k := range queueKeys() {
		d := k.doc(k.perQueue(&c.Defaults))
		d.PerQueue, d.Live = true, true
		docs = append(docs, d)
	}
	return docs
}

func (k key) doc(field any) KeyDoc {
	return KeyDoc{
		Name: k.name, Type: k.kind.name, Help: k.help,
		Default: strings.Join(k.kind.texts(field), ","),
	}
}
