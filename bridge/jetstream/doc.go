// Package jetstream lets unmodified JetStream clients work on a store: a queue
// looks like a work-queue stream of its name, and every consumer on it is a
// group of workers that pull from it.
//
//	client ─► $JS.dsend.API.… ─► leaf ─► bridge ─┬─ CONSUMER.MSG.NEXT ─► Store.Submit
//	client ─► $JS.API.… ────────┘                └─ all others ─► API ─► Store.Do, views
//
// # What it promises
//
// Every request is answered, with JetStream's own types: what is not known or
// cannot be honoured with an error in JetStream's shape, with JetStream's code
// where there is one, whose text begins with the name of the field. Nothing is
// ignored that would change what becomes of a message. What changes something
// is answered when it is durable.
//
// The numbers are those of the queue, at one moment for each answer.
//
// # A stream
//
//	name, subjects         of the queue; without subjects they are [name] as in JetStream
//	max_msgs, max_bytes    its limits; they refuse the new and never drop the old, so
//	                       discard must be new where one is set
//	max_age, max_msg_size, duplicate_window, description, metadata   the same
//	retention              asked for as limits (clients cannot leave it out) or workqueue,
//	                       and always workqueue
//	storage                memory is taken and is a file
//	allow_…                taken, and the answer tells which of them hold: direct,
//	                       msg_ttl and msg_schedules; what uses another one is refused
//
// Refused: retention interest, mirror, sources, republish, subject_transform,
// placement, more than one replica, no_ack, sealed, deny_delete, deny_purge,
// max_msgs_per_subject, max_consumers, consumer_limits, first_seq above 1,
// compression, allow_msg_counter, persist_mode async, discard_new_per_subject,
// subject_delete_marker_ttl, and the subjects of key-value and object stores
// ($KV., $O.). A queue of the configuration file is changed there
// only: an update that would change it is refused.
//
// A dead-letter queue is a stream like any other. There are no advisories: what
// dies is in that stream, and told on the bridge's own subjects.
//
// # A consumer
//
//	ack_wait             the visibility timeout of its deliveries
//	max_deliver          the attempt after which a failed message is dead; without it (or
//	                     -1) the queue's rule holds
//	backoff              how long failed attempts wait, whatever made them fail; it does not
//	                     shorten ack_wait, as JetStream's does
//	max_ack_pending      how many messages may be in flight through it; without it the
//	                     queue's own bound
//	max_waiting          how many requests may wait (512)
//	max_batch, max_expires, max_bytes   what one request may ask for
//	inactive_threshold   5 s without a durable name. It begins anew with a restart
//	pause_until          as in JetStream
//	filter_subject(s)    taken if they match all that the stream captures
//
// Refused: ack policies none and all, push consumers (deliver_subject, and what
// belongs to it), ordered consumers (they ask for ack none), deliver policies
// but all, replay original, filters that leave something out, headers_only,
// priority groups, rate_limit_bps, sample_freq and more than one replica.
//
// Each message goes to one consumer only: consumers of a queue compete.
//
//	num_pending      messages that are ready
//	num_ack_pending  messages in flight through it
//	delivered        the number of its last delivery; the highest sequence it delivered
//	ack_floor        all its deliveries up to this one are answered; nothing up to this
//	                 sequence is in the queue any more
//
// # What it assumes
//
// Requests come by the bridge, in the account that Dsend serves: from a domain's
// clients on $JS.dsend.API, from others on $JS.API, while the server has no
// JetStream of its own. Where its leaf is denied the latter, Gateway hands on
// what comes there. Always they come through the leaf in the end, so that the
// interest of an inbox is known before a request for messages names it.
//
// # When something fails
//
//	too many requests wait  429, err_code 10167
//	the store is stopping   503, err_code 10023
//	not done in time        503, err_code 10008; it may be done later, unless it waited
//	                        for so long behind other requests
package jetstream
