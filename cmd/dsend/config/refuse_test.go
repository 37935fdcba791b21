package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"dsend/durable/queue"
)

// Every row is a file that is refused, and all that is said about it.
func TestLoadRefusesYAML(t *testing.T) {
	long := strings.Repeat("n", 300)
	for _, row := range []struct {
		name, src string
		want      []string
	}{
		// Keys.
		{"misspelled at the top", "prefx: a\n", []string{"d.yaml:1: prefx: unknown key (did you mean prefix?)"}},
		{"misspelled in a table", "server:\n  listn: a:1\n", []string{"d.yaml:2: server.listn: unknown key (did you mean server.listen?)"}},
		{"misspelled table", "defualts: {}\n", []string{"d.yaml:1: defualts: unknown key (did you mean defaults?)"}},
		{"misspelled queues", "queue: []\n", []string{"d.yaml:1: queue: unknown key (did you mean queues?)"}},
		{"misspelled in a queue", "queues:\n- name: a\n  max_atempts: 5\n", []string{"d.yaml:3: queues.a.max_atempts: unknown key (did you mean max_attempts?)"}},
		{"misspelled in a table of a queue", "queues:\n- name: a\n  push: {subjekt: x}\n", []string{"d.yaml:3: queues.a.push.subjekt: unknown key (did you mean push.subject?)"}},
		{"upper case", "Prefix: a\n", []string{"d.yaml:1: Prefix: unknown key (did you mean prefix?)"}},
		{"at the wrong place", "visibility_timeout: 3s\n", []string{"d.yaml:1: visibility_timeout: unknown key (did you mean defaults.visibility_timeout?)"}},
		{"like nothing", "zzz: 1\n", []string{"d.yaml:1: zzz: unknown key"}},
		{"with odd letters", "\"a\\nb\\0\": 1\n", []string{`d.yaml:1: "a\nb\x00": unknown key`}},
		{"without letters", "'': 1\n", []string{`d.yaml:1: "": unknown key`}},
		{"dotted", "server.listen: a:1\n", []string{"d.yaml:1: server.listen: must be written as listen in a table server"}},
		{"JetStream's word", "queues:\n- name: a\n  ack_wait: 30s\n  max_deliver: -1\n  max_ack_pending: 5\n", []string{
			"d.yaml:3: queues.a.ack_wait: unknown key (here it is called visibility_timeout)",
			"d.yaml:4: queues.a.max_deliver: unknown key (here it is called max_attempts)",
			"d.yaml:5: queues.a.max_ack_pending: unknown key (here it is called max_in_flight)",
		}},
		{"JetStream's word in defaults", "defaults: {ack_wait: 30s}\n", []string{"d.yaml:1: defaults.ack_wait: unknown key (here it is called defaults.visibility_timeout)"}},
		{"twice", "prefix: a\nprefix: b\n", []string{"d.yaml:2: prefix: is given twice, first on line 1"}},
		{"twice in a queue", "queues:\n- name: a\n  paused: true\n  paused: true\n", []string{"d.yaml:4: queues.a.paused: is given twice, first on line 3"}},
		{"a table twice", "log: {level: info}\nlog: {format: json}\n", []string{"d.yaml:2: log: is given twice, first on line 1"}},
		{"subjects in defaults", "defaults:\n  subjects: [a]\n", []string{"d.yaml:2: defaults.subjects: belongs to one queue: set it below queues"}},
		{"push.subject in defaults", "defaults:\n  push: {subject: a}\n", []string{"d.yaml:2: defaults.push.subject: belongs to one queue: set it below queues"}},

		// Types.
		{"text for a number", "defaults: {max_attempts: ten}\n", []string{`d.yaml:1: defaults.max_attempts: must be a whole number, not the string "ten"`}},
		{"quoted number", "defaults: {max_attempts: '5'}\n", []string{`d.yaml:1: defaults.max_attempts: must be a whole number, not the string "5"`}},
		{"fraction", "defaults: {max_attempts: 1.5}\n", []string{"d.yaml:1: defaults.max_attempts: must be a whole number, not 1.5"}},
		{"octal", "defaults: {max_attempts: 010}\n", []string{`d.yaml:1: defaults.max_attempts: "010" is not a whole decimal number`}},
		{"hexadecimal", "defaults: {max_attempts: 0x10}\n", []string{`d.yaml:1: defaults.max_attempts: "0x10" is not a whole decimal number`}},
		{"huge number", "defaults: {max_messages: 9223372036854775808}\n", []string{`d.yaml:1: defaults.max_messages: "9223372036854775808" is too large`}},
		{"not a number", "defaults: {backoff: {factor: .nan}}\n", []string{`d.yaml:1: defaults.backoff.factor: ".nan" is not a decimal number such as 0.2`}},
		{"list for text", "prefix: [a]\n", []string{"d.yaml:1: prefix: must be a string, not a list"}},
		{"table for text", "prefix: {a: b}\n", []string{"d.yaml:1: prefix: must be a string, not a table"}},
		{"number for text", "storage: {dir: 5}\n", []string{`d.yaml:1: storage.dir: must be a string: put it in quotes: "5"`}},
		{"number for a name", "queues:\n- name: 123\n", []string{
			`d.yaml:2: queues.#1.name: must be a string: put it in quotes: "123"`,
		}},
		{"date for text", "prefix: 2020-01-01\n", []string{"d.yaml:1: prefix: must be a string, not a date or a tagged value"}},
		{"tag", "prefix: !secret a\n", []string{"d.yaml:1: prefix: must be a string, not a date or a tagged value"}},
		{"text for a switch", "auto_create: yes\n", []string{`d.yaml:1: auto_create: must be true or false, not the string "yes"`}},
		{"number for a switch", "auto_create: 1\n", []string{"d.yaml:1: auto_create: must be true or false, not 1"}},
		{"text for a table", "server: a\n", []string{`d.yaml:1: server: must be a table, not the string "a"`}},
		{"list for a table", "server: [a]\n", []string{"d.yaml:1: server: must be a table, not a list"}},
		{"text for a list", "queues:\n- name: a\n  subjects: a\n", []string{`d.yaml:3: queues.a.subjects: must be a list, not the string "a"`}},
		{"number in a list", "queues:\n- name: a\n  subjects:\n  - a\n  - 5\n", []string{`d.yaml:5: queues.a.subjects: must be a string: put it in quotes: "5"`}},
		{"table for queues", "queues:\n  a: {paused: true}\n", []string{"d.yaml:2: queues: must be a list of tables, each with a name, not a table"}},
		{"text for a queue", "queues: [a]\n", []string{`d.yaml:1: queues.#1: must be a table with a name, not the string "a"`}},
		{"nothing", "prefix:\n", []string{"d.yaml:1: prefix: has no value: give it one or take it out"}},
		{"nothing for a table", "log:\nprefix: a\n", []string{"d.yaml:1: log: has no value: give it one or take it out"}},
		{"nothing for queues", "prefix: a\nqueues:\n", []string{"d.yaml:2: queues: has no value: give it one or take it out"}},
		{"nothing for a queue", "queues:\n- name: a\n-\n", []string{"d.yaml:3: queues.#2: has no value: give it one or take it out"}},

		// Durations.
		{"duration without unit", "defaults: {visibility_timeout: '30'}\n", []string{`d.yaml:1: defaults.visibility_timeout: "30" has no unit: write 30s`}},
		{"number for a duration", "defaults: {visibility_timeout: 30}\n", []string{`d.yaml:1: defaults.visibility_timeout: "30" has no unit: write 30s`}},
		{"fraction for a duration", "defaults: {visibility_timeout: 1.5}\n", []string{`d.yaml:1: defaults.visibility_timeout: "1.5" has no unit: write 1.5s`}},
		{"days", "defaults: {max_age: 1d}\n", []string{`d.yaml:1: defaults.max_age: "1d": the longest unit is h: write 24h`}},
		{"weeks", "defaults: {max_age: 2w}\n", []string{`d.yaml:1: defaults.max_age: "2w": the longest unit is h: write 336h`}},
		{"two units apart", "defaults: {max_age: 1h 30m}\n", []string{`d.yaml:1: defaults.max_age: "1h 30m" is not a duration such as 30s or 1h30m`}},
		{"negative duration", "defaults: {visibility_timeout: -5s}\n", []string{"d.yaml:1: defaults.visibility_timeout: must be above 0"}},
		{"neither duration nor auto", "defaults: {visibility_timeout: aut}\n", []string{`d.yaml:1: defaults.visibility_timeout: "aut" is neither a duration such as 30s nor auto (did you mean auto?)`}},
		{"shortest above longest", "queues:\n- name: a\n  visibility_timeout: auto\n  visibility_timeout_min: 2h\n", []string{"d.yaml:4: queues.a.visibility_timeout_min: is above visibility_timeout_max"}},
		{"longest below shortest", "queues:\n- name: a\n  visibility_timeout: auto\n  visibility_timeout_max: 1s\n", []string{"d.yaml:4: queues.a.visibility_timeout_min: is above visibility_timeout_max"}},
		{"shortest of nothing", "queues:\n- name: a\n  visibility_timeout: auto\n  visibility_timeout_min: 0s\n", []string{"d.yaml:4: queues.a.visibility_timeout_min: must be above 0"}},
		{"bounds of a fixed timeout", "queues:\n- name: a\n  visibility_timeout: 30s\n  visibility_timeout_min: 1s\n  visibility_timeout_max: 1m\n", []string{
			"d.yaml:4: queues.a.visibility_timeout_min: has no meaning beside a visibility_timeout that is not auto",
			"d.yaml:5: queues.a.visibility_timeout_max: has no meaning beside a visibility_timeout that is not auto",
		}},
		{"hold below an automatic timeout", "queues:\n- name: a\n  visibility_timeout: auto\n  max_hold: 10m\n", []string{"d.yaml:4: queues.a.max_hold: is below visibility_timeout_max"}},
		{"no duration", "defaults: {visibility_timeout: 0}\n", []string{"d.yaml:1: defaults.visibility_timeout: must be above 0"}},
		{"no duration, with unit", "queues:\n- name: a\n  visibility_timeout: 0s\n", []string{"d.yaml:3: queues.a.visibility_timeout: must be above 0"}},
		{"empty duration", "worker_grace: ''\n", []string{`d.yaml:1: worker_grace: "" is not a duration such as 30s or 1h30m`}},
		{"negative grace", "worker_grace: -1s\n", []string{"d.yaml:1: worker_grace: must not be negative"}},
		{"long interval", "sync: {ack_interval: 2m}\n", []string{"d.yaml:1: sync.ack_interval: 2m is above 1m"}},
		{"long age", "defaults: {max_age: 99999h}\n", []string{"d.yaml:1: defaults.max_age: is above 10 years"}},

		// Sizes.
		{"size without unit", "storage: {cache: 64}\n", []string{`d.yaml:1: storage.cache: "64" has no unit: write 64B, or one of kB, MB, GB, KiB, MiB, GiB`}},
		{"small size", "storage: {slack: 16383KiB}\n", []string{`d.yaml:1: storage.slack: "16383KiB" is too small: it must be 16MiB or more`}},
		{"unclear unit", "storage: {cache: 64M}\n", []string{`d.yaml:1: storage.cache: "64M": there is no unit "M": write 64MiB or 64MB`}},
		{"small unit", "storage: {cache: 64mb}\n", []string{`d.yaml:1: storage.cache: "64mb": there is no unit "mb": write 64MB`}},
		{"unknown unit", "storage: {cache: 64XB}\n", []string{`d.yaml:1: storage.cache: "64XB": there is no unit "XB": take one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB`}},
		{"fraction for a size", "storage: {cache: 1.5GiB}\n", []string{`d.yaml:1: storage.cache: "1.5GiB" must be a whole number of a smaller unit`}},
		{"negative size", "defaults: {max_bytes: -1MiB}\n", []string{"d.yaml:1: defaults.max_bytes: must not be negative"}},
		{"huge size", "defaults: {max_bytes: 9000000TiB}\n", []string{`d.yaml:1: defaults.max_bytes: "9000000TiB" is too large`}},
		{"no size", "defaults: {max_bytes: lots}\n", []string{`d.yaml:1: defaults.max_bytes: "lots" is not a size such as 64MiB`}},

		// Values.
		{"negative attempts", "defaults: {max_attempts: -1}\n", []string{"d.yaml:1: defaults.max_attempts: must not be negative (0 is unlimited)"}},
		{"none in flight", "defaults: {max_in_flight: 0}\n", []string{"d.yaml:1: defaults.max_in_flight: must be above 0"}},
		{"none a worker", "queues:\n- name: a\n  push:\n    max_in_flight_per_worker: 0\n", []string{"d.yaml:4: queues.a.push.max_in_flight_per_worker: must be above 0"}},
		{"negative messages", "defaults: {max_messages: -1}\n", []string{"d.yaml:1: defaults.max_messages: must not be negative (0 is no bound)"}},
		{"hold below visibility", "defaults: {max_hold: 10s}\n", []string{"d.yaml:1: defaults.max_hold: is below visibility_timeout"}},
		{"hold below visibility of the queue", "defaults: {max_hold: 1m}\nqueues:\n- name: a\n  visibility_timeout: 2m\n", []string{"d.yaml:4: queues.a.max_hold: is below visibility_timeout"}},
		{"cap below base", "defaults:\n  backoff:\n    initial: 5s\n    max: 1s\n", []string{"d.yaml:4: defaults.backoff.max: 1s is below initial 5s"}},
		{"cap below base of the defaults", "defaults: {backoff: {initial: 5s}}\nqueues:\n- name: a\n  backoff: {max: 1s}\n", []string{"d.yaml:4: queues.a.backoff.max: 1s is below initial 5s"}},
		{"base above cap of the defaults", "queues:\n- name: a\n  backoff: {initial: 1h}\n", []string{"d.yaml:3: queues.a.backoff.max: 10m0s is below initial 1h0m0s"}},
		{"shrinking", "defaults: {backoff: {factor: 0.5}}\n", []string{"d.yaml:1: defaults.backoff.factor: 0.5 is not a number of 1 or more"}},
		{"all jitter", "defaults: {backoff: {jitter: 1}}\n", []string{"d.yaml:1: defaults.backoff.jitter: 1 is not from 0 to below 1"}},
		{"negative wait", "defaults: {backoff: [1s, -5s]}\n", []string{"d.yaml:1: defaults.backoff.list: entry 2, -5s, is negative"}},
		{"no waits", "defaults: {backoff: []}\n", []string{"d.yaml:1: defaults.backoff.list: must not be empty"}},
		{"bad wait", "defaults:\n  backoff:\n  - 1s\n  - 5\n", []string{`d.yaml:4: defaults.backoff.list: "5" has no unit: write 5s`}},
		{"both backoffs", "defaults:\n  backoff:\n    list: [1s]\n    max: 1m\n", []string{"d.yaml:3: defaults.backoff.list: stands beside initial, factor or max: use one or the other"}},
		{"both backoffs of a queue", "queues:\n- name: a\n  backoff: {list: [1s], initial: 1s}\n", []string{"d.yaml:3: queues.a.backoff.list: stands beside initial, factor or max: use one or the other"}},
		{"text for a backoff", "defaults: {backoff: 5s}\n", []string{`d.yaml:1: defaults.backoff: must be a table, not the string "5s"`}},
		{"all that is wrong with a queue", "queues:\n- name: a\n  max_attempts: -1\n  max_hold: 1s\n  backoff: {initial: 5s, max: 1s, jitter: 2}\n  max_in_flight: 0\n", []string{
			"d.yaml:3: queues.a.max_attempts: must not be negative (0 is unlimited)",
			"d.yaml:4: queues.a.max_hold: is below visibility_timeout",
			"d.yaml:5: queues.a.backoff.jitter: 2 is not from 0 to below 1",
			"d.yaml:5: queues.a.backoff.max: 1s is below initial 5s",
			"d.yaml:6: queues.a.max_in_flight: must be above 0",
		}},
		{"nothing is concluded from what could not be read", "defaults: {visibility_timeout: 5, max_hold: 10s}\n", []string{`d.yaml:1: defaults.visibility_timeout: "5" has no unit: write 5s`}},
		{"the fault of the defaults is not said of each queue", "defaults: {max_hold: 1s}\nqueues:\n- name: a\n- name: b\n", []string{"d.yaml:1: defaults.max_hold: is below visibility_timeout"}},
		{"address without port", "server: {listen: localhost}\n", []string{`d.yaml:1: server.listen: "localhost" is not host:port`}},
		{"empty address", "server: {listen: ''}\n", []string{`d.yaml:1: server.listen: "" is not host:port`}},
		{"huge port", "http: {listen: 'a:65536'}\n", []string{`d.yaml:1: http.listen: "65536" is not a port from 1 to 65535, or 0 for any free one`}},
		{"NATS's free port", "server: {listen: 'a:-1'}\n", []string{`d.yaml:1: server.listen: "-1" is not a port from 1 to 65535, or 0 for any free one`}},
		{"odd host", "server: {listen: 'a b:1'}\n", []string{`d.yaml:1: server.listen: "a b" is not a host name or IP address`}},
		{"one address for two", "server: {listen: '127.0.0.1:8280'}\n", []string{`d.yaml:1: server.listen: "127.0.0.1:8280" is both server.listen and http.listen`}},
		{"no folder", "storage: {dir: ''}\n", []string{"d.yaml:1: storage.dir: must not be empty"}},
		{"NUL in a folder", "storage: {dir: \"a\\0b\"}\n", []string{`d.yaml:1: storage.dir: "a\x00b" has a character that cannot be printed`}},
		{"unknown level", "log: {level: warning}\n", []string{`d.yaml:1: log.level: "warning" is not one of debug, info, warn, error (did you mean warn?)`}},
		{"number for a choice", "log: {level: 3}\n", []string{"d.yaml:1: log.level: must be one of debug, info, warn, error, not 3"}},
		{"empty prefix", "prefix: ''\n", []string{"d.yaml:1: prefix: must not be empty"}},
		{"wildcard prefix", "prefix: a.>\n", []string{`d.yaml:1: prefix: "a.>" is not a literal NATS subject`}},
		{"system prefix", "prefix: $JS\n", []string{`d.yaml:1: prefix: "$JS" must not begin with $ or _, which are NATS's own`}},
		{"inbox prefix", "prefix: _INBOX.a\n", []string{`d.yaml:1: prefix: "_INBOX.a" must not begin with $ or _, which are NATS's own`}},
		{"account of nothing", "server: {account: A}\n", []string{"d.yaml:1: server.account: needs server.config, which defines the accounts"}},
		{"a server to join, and one to be", "server: {leaf: 'h:1', listen: '127.0.0.1:1', account: A}\n", []string{
			"d.yaml:1: server.listen: is about the server inside, and server.leaf joins another one",
			"d.yaml:1: server.account: is about the server inside, and server.leaf joins another one",
		}},
		{"credentials for nobody", "server: {leaf_creds: d.yaml}\n", []string{"d.yaml:1: server.leaf_creds: needs server.leaf, the server it is for"}},
		{"certificate without key", "server: {leaf: 'h:1', leaf_cert: d.yaml}\n", []string{"d.yaml:1: server.leaf_cert: needs server.leaf_key"}},
		{"missing credentials", "server: {leaf: 'h:1', leaf_creds: no.creds}\n", []string{`d.yaml:1: server.leaf_creds: "no.creds": no such file or directory`}},
		{"leaf of another protocol", "server: {leaf: 'ws://u:secret@h:1'}\n", []string{"d.yaml:1: server.leaf: begins with something else than nats://, nats-leaf:// or tls://"}},
		{"leaf without host", "server: {leaf: 'nats://u:secret@'}\n", []string{"d.yaml:1: server.leaf: is not an address such as nats://user:password@host:7422"}},
		{"leaf with NUL", "server: {leaf: \"nats://u:sec\\0ret@h\"}\n", []string{"d.yaml:1: server.leaf: is not an address such as nats://user:password@host:7422"}},
		{"missing nats-server file", "server: {config: no.conf}\n", []string{`d.yaml:1: server.config: "no.conf": no such file or directory`}},
		{"folder as nats-server file", "server: {config: .}\n", []string{`d.yaml:1: server.config: "." is a folder`}},

		// Names.
		{"no name", "queues:\n- paused: true\n", []string{"d.yaml:2: queues.#1.name: is missing"}},
		{"the same name", "queues:\n- name: a\n- name: a\n", []string{"d.yaml:3: queues.a.name: is taken by the queue on line 2"}},
		{"empty name", "queues:\n- name: ''\n", []string{`d.yaml:2: queues.#1.name: "" is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"name with a space", "queues:\n- name: a b\n", []string{`d.yaml:2: queues.#1.name: "a b" is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"name with a dot", "queues:\n- name: a.b\n", []string{`d.yaml:2: queues.#1.name: "a.b" is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"name of dots", "queues:\n- name: ..\n", []string{`d.yaml:2: queues.#1.name: ".." is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"name with a star", "queues:\n- name: a*\n", []string{`d.yaml:2: queues.#1.name: "a*" is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"name of all", "queues:\n- name: '>'\n", []string{`d.yaml:2: queues.#1.name: ">" is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"name with a slash", "queues:\n- name: a/b\n", []string{`d.yaml:2: queues.#1.name: "a/b" is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"name with NUL", "queues:\n- name: \"a\\0\"\n", []string{`d.yaml:2: queues.#1.name: "a\x00" has a character that cannot be printed`}},
		{"name in other letters", "queues:\n- name: пошта\n", []string{`d.yaml:2: queues.#1.name: "пошта" is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"long name", "queues:\n- name: " + long + "\n", []string{`d.yaml:2: queues.#1.name: "` + long[:40] + `"… is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -`}},
		{"name too long for a DLQ", "queues:\n- name: " + long[:61] + "\n", []string{"d.yaml:2: queues." + long[:61] + ".dead_letter.queue: the default name " + long[:61] + "-dlq is too long; set one"}},

		// Subjects.
		{"one subject for two", "queues:\n- name: a\n  subjects: [x.y]\n- name: b\n  subjects: [x.y]\n", []string{`d.yaml:5: queues.b.subjects: "x.y" overlaps with "x.y" of queues.a, line 3`}},
		{"wildcard over literal", "queues:\n- name: a\n  subjects: [x.y]\n- name: b\n  subjects: [x.*]\n", []string{`d.yaml:5: queues.b.subjects: "x.*" overlaps with "x.y" of queues.a, line 3`}},
		{"literal under wildcard", "queues:\n- name: a\n  subjects: [x.>]\n- name: b\n  subjects:\n  - z\n  - x.y\n", []string{`d.yaml:7: queues.b.subjects: "x.y" overlaps with "x.>" of queues.a, line 3`}},
		{"any first token", "queues:\n- name: a\n  subjects: ['*.y']\n", []string{`d.yaml:3: queues.a.subjects: "*.y" overlaps with $JS.>, which no queue may capture`}},
		{"wildcards across", "queues:\n- name: a\n  subjects: [x.*.z]\n- name: b\n  subjects: [x.y.*]\n", []string{`d.yaml:5: queues.b.subjects: "x.y.*" overlaps with "x.*.z" of queues.a, line 3`}},
		{"overlap in one queue", "queues:\n- name: a\n  subjects: [x.y, x.>]\n", []string{`d.yaml:3: queues.a.subjects: "x.>" overlaps with "x.y" of queues.a, line 3`}},
		{"everything", "queues:\n- name: a\n  subjects: ['>']\n", []string{`d.yaml:3: queues.a.subjects: ">" overlaps with $JS.>, which no queue may capture`}},
		{"inboxes", "queues:\n- name: a\n  subjects: [_INBOX.x]\n", []string{`d.yaml:3: queues.a.subjects: "_INBOX.x" overlaps with _INBOX.>, which no queue may capture`}},
		{"system", "queues:\n- name: a\n  subjects: [$SYS.>]\n", []string{`d.yaml:3: queues.a.subjects: "$SYS.>" overlaps with $SYS.>, which no queue may capture`}},
		{"JetStream", "queues:\n- name: a\n  subjects: [$JS.ACK.x]\n", []string{`d.yaml:3: queues.a.subjects: "$JS.ACK.x" overlaps with $JS.>, which no queue may capture`}},
		{"our own", "prefix: acme.jobs\nqueues:\n- name: a\n  subjects: [acme.*.publish.a]\n", []string{`d.yaml:4: queues.a.subjects: "acme.*.publish.a" overlaps with acme.jobs.>, which no queue may capture`}},
		{"no subject", "queues:\n- name: a\n  subjects: [a..b, '', a.>.b, x y, 'a*']\n", []string{
			`d.yaml:3: queues.a.subjects: "a..b" is not a NATS subject`,
			`d.yaml:3: queues.a.subjects: "" is not a NATS subject`,
			`d.yaml:3: queues.a.subjects: "a.>.b" is not a NATS subject`,
			`d.yaml:3: queues.a.subjects: "x y" is not a NATS subject`,
			`d.yaml:3: queues.a.subjects: "a*" is not a NATS subject`,
		}},
		{"pushed and captured", "queues:\n- name: a\n  push: {subject: x.y}\n- name: b\n  subjects: [x.*]\n", []string{`d.yaml:3: queues.a.push.subject: "x.y" is captured by "x.*" of queues.b, line 5: deliveries would come back as publishes`}},
		{"pushed to publishes", "queues:\n- name: a\n  push: {subject: dsend.publish.a}\n", []string{`d.yaml:3: queues.a.push.subject: "dsend.publish.a" is below dsend.>, where no worker may listen`}},
		{"pushed to wildcards", "queues:\n- name: a\n  push: {subject: x.*}\n", []string{"d.yaml:3: queues.a.push.subject: is not a literal NATS subject"}},

		// Dead letters.
		{"its own DLQ", "queues:\n- name: a\n  dead_letter: {queue: a}\n", []string{"d.yaml:3: queues.a.dead_letter.queue: is the queue itself"}},
		{"DLQ with a bad name", "queues:\n- name: a\n  dead_letter: {queue: a.b}\n", []string{"d.yaml:3: queues.a.dead_letter.queue: is not a queue name"}},
		{"DLQ that is off", "queues:\n- name: a\n  dead_letter: {enabled: false, queue: b}\n", []string{"d.yaml:3: queues.a.dead_letter.queue: names a queue although dead_letter.enabled is false"}},
		{"two DLQs of each other", "queues:\n- name: z\n  dead_letter: {queue: a}\n- name: a\n  dead_letter: {queue: b}\n- name: b\n  dead_letter:\n    queue: a\n", []string{"d.yaml:5: queues.a.dead_letter.queue: goes in a circle: a, b, a"}},
		{"DLQ by name and back", "queues:\n- name: a\n- name: a-dlq\n  dead_letter: {queue: a}\n", []string{"d.yaml:2: queues.a.dead_letter.queue: goes in a circle: a, a-dlq, a"}},

		// The file.
		{"empty", "", []string{"d.yaml:1: is empty: set at least one key, or start without a file"}},
		{"only comments", "# a\n\n", []string{"d.yaml:1: is empty: set at least one key, or start without a file"}},
		{"an empty table", "{}\n", []string{"d.yaml:1: is empty: set at least one key, or start without a file"}},
		{"a list", "- a\n", []string{"d.yaml:1: must be a table of keys, not a list"}},
		{"two documents", "prefix: a\n---\nprefix: b\n", []string{"d.yaml:2: has a second YAML document; only one is read"}},
		{"not UTF-8", "prefix: a\n# \xff\n", []string{"d.yaml:2: is not UTF-8"}},
		{"not YAML", "prefix: a\nlog: {\nserver: {}\n", []string{"d.yaml:2: is not YAML: did not find expected ',' or '}'"}},
		{"not YAML, far down", "log:\n  level: info\n" + strings.Repeat("# x\n", 500) + "  format: text\n ]\n", []string{"d.yaml:504: is not YAML: did not find expected key"}},
		{"unknown alias", "log: {level: info}\nprefix: *a\n", []string{"d.yaml:2: is not YAML: unknown anchor 'a' referenced"}},
		{"endless alias", "queues: &q [*q]\n", []string{"d.yaml:1: is nested too deep"}},
		{"merge key", "log: {level: info}\n<<: {prefix: a}\n", []string{"d.yaml:2: merge keys (<<) are not supported; queues inherit from defaults"}},
		{"list as a key", "[a]: 1\n", []string{"d.yaml:1: a key must be a word"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			refused(t, Options{File: write(t, "d.yaml", row.src)}, row.want)
		})
	}
}

// refused wants these lines and no Config.
func refused(t *testing.T, o Options, want []string) {
	t.Helper()
	c, err := Load(o)
	if err == nil || c != nil {
		t.Fatalf("got %v, %v, want only an error", c, err)
	}
	if got := err.Error(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	var ps Problems
	if !errors.As(err, &ps) || len(ps) != len(want) {
		t.Errorf("got %d problems, want %d", len(ps), len(want))
	}
}

// The other formats say the same, with their own lines.
func TestLoadRefusesOtherFormats(t *testing.T) {
	for _, row := range []struct {
		name, file, src string
		want            []string
	}{
		{"unknown", "d.toml", "[server]\nlistn = 'a:1'\n", []string{"d.toml:2: server.listn: unknown key (did you mean server.listen?)"}},
		{"twice", "d.toml", "prefix = 'a'\n\nprefix = 'b'\n", []string{"d.toml:3: prefix: is given twice, first on line 1"}},
		{"a header twice", "d.toml", "[log]\nlevel = 'info'\n[log]\nformat = 'json'\n", []string{"d.toml:3: log: is given twice, first on line 1"}},
		{"inline and header", "d.toml", "log = {level = 'info'}\n[log]\nformat = 'json'\n", []string{"d.toml:2: log: is given twice, first on line 1"}},
		{"dotted and header", "d.toml", "log.level = 'info'\n[log]\nformat = 'json'\n", []string{"d.toml:2: is not TOML: table log already exists"}},
		{"a queue twice", "d.toml", "[[queues]]\nname = 'a'\n[queues.push]\nmax_in_flight_per_worker = 0\n\n[[queues]]\nname = 'a'\n", []string{
			"d.toml:4: queues.a.push.max_in_flight_per_worker: must be above 0",
			"d.toml:7: queues.a.name: is taken by the queue on line 2",
		}},
		{"types", "d.toml", "auto_create = 'yes'\nworker_grace = 30\n[defaults]\nmax_attempts = 1.5\nmax_age = 2020-01-01\nbackoff = [\n  '1s',\n  5,\n]\n", []string{
			`d.toml:1: auto_create: must be true or false, not the string "yes"`,
			`d.toml:2: worker_grace: "30" has no unit: write 30s`,
			"d.toml:4: defaults.max_attempts: must be a whole number, not 1.5",
			"d.toml:5: defaults.max_age: must be a duration such as 30s, not a date or a tagged value",
			`d.toml:8: defaults.backoff.list: "5" has no unit: write 5s`,
		}},
		{"octal", "d.toml", "[defaults]\nmax_attempts = 0o10\n", []string{`d.toml:2: defaults.max_attempts: "0o10" is not a whole decimal number`}},
		{"syntax", "d.toml", "prefix = 'a'\nlog = \n", []string{"d.toml:2: is not TOML: incomplete number"}},
		{"syntax with a line end", "d.toml", "a = 1\n[\n", []string{`d.toml:2: is not TOML: invalid character at start of key: \n`}},
		{"empty", "d.toml", "\n# nothing\n", []string{"d.toml:1: is empty: set at least one key, or start without a file"}},

		{"unknown", "d.json", "{\"server\":\n  {\"listn\": \"a:1\"}}", []string{"d.json:2: server.listn: unknown key (did you mean server.listen?)"}},
		{"twice", "d.json", "{\"prefix\": \"a\",\n\n\"prefix\": \"b\"}", []string{"d.json:3: prefix: is given twice, first on line 1"}},
		{"a queue twice", "d.json", "{\"queues\": [\n{\"name\": \"a\"},\n{\"name\": \"a\"}]}", []string{"d.json:3: queues.a.name: is taken by the queue on line 2"}},
		{"types", "d.json", "{\"auto_create\": \"yes\",\n\"worker_grace\": 30,\n\"defaults\": {\"max_attempts\": 1e1,\n\"backoff\": [\"1s\",\n5],\n\"max_age\": null}}", []string{
			`d.json:1: auto_create: must be true or false, not the string "yes"`,
			`d.json:2: worker_grace: "30" has no unit: write 30s`,
			"d.json:3: defaults.max_attempts: must be a whole number, not 1e1",
			`d.json:5: defaults.backoff.list: "5" has no unit: write 5s`,
			"d.json:6: defaults.max_age: has no value: give it one or take it out",
		}},
		{"half a character", "d.json", `{"storage": {"dir": "a\ud800"}}`, []string{`d.json:1: storage.dir: "a�" has a character that cannot be printed`}},
		{"a comma too many", "d.json", "{\"prefix\": \"a\",\n}", []string{"d.json:2: is not JSON: invalid character '}' looking for beginning of object key string"}},
		{"two values", "d.json", "{\"prefix\": \"a\"}\n{}", []string{"d.json:2: is not JSON: invalid character '{' after top-level value"}},
		{"YAML in it", "d.json", "prefix: a\n", []string{"d.json:1: is not JSON: invalid character 'p' looking for beginning of value"}},
		{"deep", "d.json", strings.Repeat("[", 100) + strings.Repeat("]", 100), []string{"d.json:1: is nested too deep"}},

		{"another format", "d.ini", "prefix=a\n", []string{"d.ini: has no known format: the name must end in .yaml, .yml, .toml or .json"}},
		{"no extension", "dsend", "prefix: a\n", []string{"dsend: has no known format: the name must end in .yaml, .yml, .toml or .json"}},
	} {
		t.Run(row.file+"/"+row.name, func(t *testing.T) {
			refused(t, Options{File: write(t, row.file, row.src)}, row.want)
		})
	}
}

func TestLoadRefusesMissingFile(t *testing.T) {
	t.Chdir(t.TempDir())
	refused(t, Options{File: "no.yaml"}, []string{"no.yaml: no such file or directory"})
	refused(t, Options{Env: []string{"DSEND_CONFIG=no.toml"}}, []string{"no.toml: no such file or directory"})
	if err := os.Mkdir("dir.yaml", 0o700); err != nil {
		t.Fatal(err)
	}
	refused(t, Options{File: "dir.yaml"}, []string{"dir.yaml: is a directory"})
}

func TestLoadRefusesEnvironment(t *testing.T) {
	for _, row := range []struct{ pair, want string }{
		{"DSEND_SERVER_LISTN=a:1", "environment DSEND_SERVER_LISTN: unknown variable (did you mean DSEND_SERVER_LISTEN?)"},
		{"DSEND_LOG=debug", "environment DSEND_LOG: unknown variable (did you mean DSEND_LOG_LEVEL?)"},
		{"DSEND_LISTEN=a:1", "environment DSEND_LISTEN: unknown variable (did you mean DSEND_SERVER_LISTEN?)"},
		{"DSEND_HTTP=a:1", "environment DSEND_HTTP: unknown variable (did you mean DSEND_HTTP_LISTEN?)"},
		{"DSEND_DATA=a", "environment DSEND_DATA: unknown variable (did you mean DSEND_STORAGE_DIR?)"},
		{"DSEND_LEAF=a:1", "environment DSEND_LEAF: unknown variable (did you mean DSEND_SERVER_LEAF?)"},
		{"DSEND_QUEUES=a", "environment DSEND_QUEUES: unknown variable"},
		{"DSEND_=a", "environment DSEND_: unknown variable"},
		{"DSEND_prefix=a", "environment DSEND_prefix: unknown variable (did you mean DSEND_PREFIX?)"},
		{"DSEND_PORT_4222=a", "environment DSEND_PORT_4222: unknown variable"},
		{"DSEND_SERVER_LISTEN=", `environment DSEND_SERVER_LISTEN: "" is not host:port`},
		{"DSEND_STORAGE_DIR=", "environment DSEND_STORAGE_DIR: must not be empty"},
		{"DSEND_SYNC_ACK_INTERVAL=10", `environment DSEND_SYNC_ACK_INTERVAL: "10" has no unit: write 10s`},
		{"DSEND_AUTO_CREATE=yes", `environment DSEND_AUTO_CREATE: "yes" is not true or false`},
		{"DSEND_DEFAULTS_MAX_ATTEMPTS=ten", `environment DSEND_DEFAULTS_MAX_ATTEMPTS: "ten" is not a whole decimal number`},
		{"DSEND_DEFAULTS_MAX_ATTEMPTS=-1", "environment DSEND_DEFAULTS_MAX_ATTEMPTS: must not be negative (0 is unlimited)"},
		{"DSEND_DEFAULTS_BACKOFF_LIST=1s,,5s", `environment DSEND_DEFAULTS_BACKOFF_LIST: "" is not a duration such as 30s or 1h30m`},
		{"DSEND_DEFAULTS_BACKOFF_MAX=1ms", "environment DSEND_DEFAULTS_BACKOFF_MAX: 1ms is below initial 1s"},
		{"DSEND_DEFAULTS_SUBJECTS=a", "environment DSEND_DEFAULTS_SUBJECTS: unknown variable"},
		{"DSEND_SERVER_ACCOUNT=A", "environment DSEND_SERVER_ACCOUNT: needs server.config, which defines the accounts"},
	} {
		t.Run(row.pair, func(t *testing.T) {
			refused(t, Options{Env: []string{"HOME=/", row.pair}}, []string{row.want})
		})
	}
}

func TestLoadRefusesFlags(t *testing.T) {
	for _, row := range []struct{ arg, want string }{
		{"--listen=4222", `--listen: "4222" is not host:port`},
		{"--listen=", `--listen: "" is not host:port`},
		{"--data=", "--data: must not be empty"},
		{"--http=8280", `--http: "8280" is not host:port`},
		{"--http=127.0.0.1:4222", `--http: "127.0.0.1:4222" is both server.listen and http.listen`},
		{"--worker-grace=1", `--worker-grace: "1" has no unit: write 1s`},
		{"--auto-create=maybe", `--auto-create: "maybe" is not true or false`},
		{"--storage-reserve=1g", `--storage-reserve: "1g": there is no unit "g": write 1GiB or 1GB`},
		{"--defaults-visibility-timeout=-5s", "--defaults-visibility-timeout: must be above 0"},
		{"--defaults-max-hold=1s", "--defaults-max-hold: is below visibility_timeout"},
	} {
		t.Run(row.arg, func(t *testing.T) {
			fs := Flags()
			if err := fs.Parse([]string{row.arg}); err != nil {
				t.Fatal(err)
			}
			refused(t, Options{Flags: fs}, []string{row.want})
		})
	}
}

func TestFlagError(t *testing.T) {
	for _, row := range []struct{ arg, want string }{
		{"--lisen=a:1", "--lisen: unknown flag (did you mean --listen?)"},
		{"--zzzzzz", "--zzzzzz: unknown flag"},
		{"-x", "-x: unknown flag"},
		{"--listen", "flag needs an argument: --listen"},
	} {
		fs := Flags()
		err := fs.Parse([]string{row.arg})
		if err == nil {
			t.Fatalf("%s was parsed", row.arg)
		}
		if got := FlagError(fs, err).Error(); got != row.want {
			t.Errorf("%s: got %q, want %q", row.arg, got, row.want)
		}
	}
}

// All sources are judged, in their order.
func TestLoadReportsEverySource(t *testing.T) {
	fs := Flags()
	if err := fs.Parse([]string{"--listen=x"}); err != nil {
		t.Fatal(err)
	}
	env := []string{"DSEND_HTTP_LISTEN=y", "DSEND_A=1"}
	tail := []string{
		"environment DSEND_A: unknown variable",
		`environment DSEND_HTTP_LISTEN: "y" is not host:port`,
		`--listen: "x" is not host:port`,
	}
	file := write(t, "d.yaml", "zz: 1\nlog: {level: loud}\n")
	refused(t, Options{File: file, Env: env, Flags: fs}, append([]string{
		"d.yaml:1: zz: unknown key",
		`d.yaml:2: log.level: "loud" is not one of debug, info, warn, error`,
	}, tail...))
	refused(t, Options{File: "no.yaml", Env: env, Flags: fs}, append([]string{"no.yaml: no such file or directory"}, tail...))
}

// A key of a queue that lost its name to another is judged all the same.
func TestLoadJudgesQueuesWithoutName(t *testing.T) {
	file := write(t, "d.yaml", "queues:\n- name: a\n- name: a\n  max_attempts: -1\n- max_hold: 1s\n")
	refused(t, Options{File: file}, []string{
		"d.yaml:3: queues.a.name: is taken by the queue on line 2",
		"d.yaml:4: queues.a.max_attempts: must not be negative (0 is unlimited)",
		"d.yaml:5: queues.#3.name: is missing",
		"d.yaml:5: queues.#3.max_hold: is below visibility_timeout",
	})
}

// What Validate says is found by its key, whatever it says.
func TestFindingsEnd(t *testing.T) {
	found := findings("x", queue.Settings{MaxHold: -1, MaxAttempts: -1, MaxInFlight: -1, DedupeWindow: -1, MaxMessages: -1, MaxBytes: -1, MaxMessageSize: -1, MaxAge: -1})
	if len(found) < 10 {
		t.Errorf("only %d findings: %v", len(found), found)
	}
}
