package config

import "strings"

// Diff compares the configuration a server runs with a newly loaded one.
// Changes are sentences, one for each key and each queue that a reload puts
// into effect. Immutable are the names of keys that have changed and cannot
// while the server runs: if there is any, nothing must change.
func Diff(old, new *Config) (changes, immutable []string) {
	for _, k := range globalKeys() {
		a, b := text(k, k.global(old)), text(k, k.global(new))
		switch {
		case a == b:
		case k.live:
			changes = append(changes, change(k.name, a, b))
		default:
			immutable = append(immutable, k.name)
		}
	}
	return append(changes, diffQueues(old.Queues, new.Queues)...), immutable
}

// diffQueues has the new file's order, then what is no longer in it.
func diffQueues(old, new []Queue) []string {
	was, is := byName(old), byName(new)
	var changes []string
	for _, q := range new {
		before, ok := was[q.Name]
		if !ok {
			changes = append(changes, "queues."+q.Name+": new")
			continue
		}
		for _, k := range queueKeys() {
			a, b := text(k, k.perQueue(&before.Settings)), text(k, k.perQueue(&q.Settings))
			if a != b {
				changes = append(changes, change("queues."+q.Name+"."+k.name, a, b))
			}
		}
	}
	for _, q := range old {
		if _, ok := is[q.Name]; !ok {
			changes = append(changes, "queues."+q.Name+": taken out")
		}
	}
	return changes
}

func byName(queues []Queue) map[string]Queue {
	m := map[string]Queue{}
	for _, q := range queues {
		m[q.Name] = q
	}
	return m
}

func text(k key, field any) string { return strings.Join(k.kind.texts(field), ",") }

func change(name, from, to string) string {
	return name + ": " + orNothing(from) + " -> " + orNothing(to)
}

func orNothing(s string) string {
	if s == "" {
		return `""`
	}
	return s
}
