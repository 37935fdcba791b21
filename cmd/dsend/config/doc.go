// Package config reads what a server is told: one file, the environment and
// the flags, in rising order. It is the only package that knows viper.
//
//	FILE ──► tree ──► table ──┐
//	(YAML, TOML, JSON)        │  layers of    viper     Config   checks
//	DSEND_… ────────► table ──┼─► texts by ──► merge ──► of     ──► across
//	                          │  dotted key             values     keys
//	--flags ────────► table ──┘
//
// # What is promised
//
//   - One table (table.go) describes each key once: its name, type, help, flag
//     and field. The schema, the flags, the names of the environment, the sample
//     configs/dsend.yaml and the documentation come from it.
//   - Nothing is replaced by a default in silence. A key that is unknown, given
//     twice, of the wrong type, without its unit or against another key is
//     refused.
//   - A refusal is one line: "FILE:LINE: key: what", "environment DSEND_X: what"
//     or "--flag: what". All of them are reported together: those of the file in
//     the file's order, then the environment, then the flags. Load returns no
//     Config beside an error.
//   - Values keep their case and their bytes. Keys are case-sensitive too.
//   - Load writes nothing, anywhere. It reads the file, and asks whether the file
//     that server.config names is there.
//
// # Rules of its own
//
//	durations    Go's syntax, with a unit (30s, 1h30m); 0 needs none. No d, no w.
//	sizes        a whole number with B, KiB, MiB, GiB, TiB (1024) or kB, KB, MB,
//	             GB, TB (1000); 0 needs no unit.
//	numbers      decimal; no 0x1f, no 010. A quoted number is a string.
//	strings      quoted where the format would read a number: name: "123".
//	lists        in the environment and in flags: a,b,c.
//	inheritance  a queue takes each key it does not set from defaults. subjects
//	             and push.subject belong to one queue and have no default.
//	backoff      {initial, factor, max, jitter}, or {list, jitter}, or just the
//	             list. The two forms exclude each other in one place; between
//	             places the nearer one (queue before defaults, flag before
//	             environment before file) says which it is.
//	server.listen with server.config: only if given, it replaces the listen of
//	             that file; else it is empty and the file's own counts.
//	paths        relative ones are relative to the working directory.
//	file         an empty file, or one that sets nothing, is refused: it is more
//	             often a mistake than a wish, and no file at all says the same.
//	             YAML aliases are followed; merge keys (<<) are not supported,
//	             defaults are there for that.
//	environment  an empty variable is an empty value. DSEND_CONFIG names the file
//	             if no flag does. Kubernetes puts DSEND_PORT, DSEND_SERVICE_HOST
//	             and the like into every pod beside a service named dsend: these
//	             are not ours, and left alone.
//	other words  what JetStream calls otherwise (ack_wait, max_deliver,
//	             max_ack_pending, …) is refused with our word for it: one word for
//	             one thing, and their numbers mean other things (-1 is unlimited
//	             there, 0 here).
//
// # Subjects
//
// No subject a queue captures may overlap, wildcards included, with one that any
// queue captures, with _INBOX.>, $SYS.>, $JS.>, $SRV.> or with those below the
// prefix; a work subject (push.subject) with none of these either, except those
// below PREFIX.work. So no message is ever captured twice, and none goes in a
// circle. Dead-letter queues may stand in a line, not in a circle.
package config
