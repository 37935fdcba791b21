package config

import "slices"

// A layer is what one source says: texts by key, each with its place. What
// could not be read is not in it, only remembered.
type layer struct {
	values map[string]value
	bad    []string
}

type value struct {
	at    place
	texts []string
	items []place // of a list in a file: where each text stands
}

func newLayer() layer { return layer{values: map[string]value{}} }

func (l layer) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { _, ok := l.values[k]; return ok })
}

// raw is the layer as viper takes it.
func (l layer) raw(list func(key string) bool) map[string]any {
	out := map[string]any{}
	for name, v := range l.values {
		out[name] = forViper(v.texts, list(name))
	}
	return out
}

func forViper(texts []string, list bool) any {
	if list {
		return texts
	}
	return texts[0]
}

// contradictions are values of one layer that exclude each other. prefix is
// that of a queue's keys in it.
func (l layer) contradictions(prefix, label string, ps *Problems) {
	list := prefix + "backoff.list"
	if v, ok := l.values[list]; ok && l.has(growth(prefix)...) {
		ps.add(v.at, label+list, "stands beside initial, factor or max: use one or the other")
	}
	enabled, name := l.values[prefix+"dead_letter.enabled"], prefix+"dead_letter.queue"
	if v, ok := l.values[name]; ok && v.texts[0] != "" && len(enabled.texts) > 0 && enabled.texts[0] == "false" {
		ps.add(v.at, label+name, "names a queue although dead_letter.enabled is false")
	}
}

// growth are the keys that a list of waits replaces.
func growth(prefix string) []string {
	return []string{prefix + "backoff.initial", prefix + "backoff.factor", prefix + "backoff.max"}
}

// settle takes out of the lower layers the form of backoff that a higher one
// has decided against. A list needs no help: where there is one, it counts.
func settle(layers ...layer) {
	const defaults = "defaults."
	for i, l := range layers {
		if !l.has(growth(defaults)...) {
			continue
		}
		for _, lower := range layers[:i] {
			delete(lower.values, defaults+"backoff.list")
		}
	}
}
