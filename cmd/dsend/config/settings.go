package config

import (
	"errors"
	"slices"
	"strings"
	"time"

	"dsend/durable/queue"
)

// checkDefaults returns what is wrong with the defaults.
func (l *loader) checkDefaults(c *Config) []queue.SettingError {
	bad := slices.Concat(l.file.bad, l.env.bad, l.flags.bad)
	for i := range bad {
		bad[i] = strings.TrimPrefix(bad[i], "defaults.")
	}
	found := findings("x", c.Defaults)
	for _, f := range found {
		if !unreadable(f, bad) {
			key := "defaults." + f.Key
			l.problems.add(l.nearest(f), key, "%s", f.What)
		}
	}
	return found
}

// nearest is the place of the key of defaults that a finding is about, or of
// one that it speaks of.
func (l *loader) nearest(f queue.SettingError) place {
	for _, k := range about(f) {
		if l.given("defaults." + k) {
			return l.at("defaults." + k)
		}
	}
	return byDefault()
}

// checkQueue reports what is wrong with a queue, but for what is wrong with the
// defaults already.
func (l *loader) checkQueue(q queueLayer, s queue.Settings, defaults []queue.SettingError) {
	name := q.name
	if name == "" { // refused already
		name = "x"
	}
	for _, f := range findings(name, s) {
		inherited := !q.has(about(f)...)
		if unreadable(f, q.bad) || inherited && slices.Contains(defaults, f) {
			continue
		}
		at := q.at
		for _, k := range about(f) {
			if v, ok := q.values[k]; ok {
				at = v.at
				break
			}
		}
		l.problems.add(at, q.label+f.Key, "%s", f.What)
	}
}

// tries bounds how often settings are put right and looked at again: more than
// there are keys.
const tries = 50

// findings are all there is to say against settings. Validate says one thing at
// a time, so what it says is put right, in a copy, and it is asked again: first
// the key is, and if it is still not content all of its table.
// Subjects are looked at elsewhere, each with its own line.
func findings(name string, s queue.Settings) []queue.SettingError {
	var found []queue.SettingError
	s.Subjects = nil
	for range tries {
		var e *queue.SettingError
		if !errors.As(s.Validate(name), &e) {
			break
		}
		f := refine(*e)
		if slices.ContainsFunc(found, func(g queue.SettingError) bool { return g.Key == f.Key }) {
			putRight(&s, func(key string) bool { return table(key) == table(f.Key) })
			continue
		}
		found = append(found, f)
		putRight(&s, func(key string) bool { return key == f.Key })
	}
	return found
}

// refine names the part of a backoff that is wrong: the first word of what the
// policy says.
func refine(e queue.SettingError) queue.SettingError {
	if part, what, ok := strings.Cut(e.What, " "); ok && e.Key == "backoff" {
		return queue.SettingError{Key: "backoff." + part, What: what}
	}
	return e
}

// putRight gives keys values that cannot be wrong by themselves.
func putRight(s *queue.Settings, wrong func(key string) bool) {
	good := queue.Defaults()
	good.DeadLetter.Enabled = false              // so that no name can be too long
	good.VisibilityMin = 1                       // so that it is above no maximum
	good.Backoff.List = make([]time.Duration, 1) // a list stays one
	for _, k := range queueKeys() {
		if wrong(k.name) {
			_ = k.kind.store(k.perQueue(s), k.kind.texts(k.perQueue(&good)))
		}
	}
}

// table is the outermost table of a key, or the key itself.
func table(key string) string {
	name, _, _ := strings.Cut(key, ".")
	return name
}

// about are the keys a finding is about: its own, then those its sentence
// names.
func about(f queue.SettingError) []string {
	keys := []string{f.Key}
	odd := func(r rune) bool { return !isWord(r) }
	said := strings.FieldsFunc(f.What, odd)
	for _, k := range queueKeys() {
		if k.name != f.Key && slices.Contains(said, k.name[strings.LastIndex(k.name, ".")+1:]) {
			keys = append(keys, k.name)
		}
	}
	return keys
}

// unreadable tells whether a finding comes from a value that was refused
// before: it says nothing of what was meant.
func unreadable(f queue.SettingError, bad []string) bool {
	return slices.ContainsFunc(about(f), func(k string) bool { return slices.Contains(bad, k) })
}
