package config

import (
	"slices"
	"strings"
)

// A scope is what may stand in one part of a file: the file itself, or one of
// its queues.
type scope struct {
	order  []key          // as in the table
	keys   map[string]key // by dotted name
	tables map[string]bool
	refuse map[string]string // names that are known and have no place here
}

func newScope(keys []key) scope {
	s := scope{order: keys, keys: map[string]key{}, tables: map[string]bool{}, refuse: map[string]string{}}
	for _, k := range keys {
		s.keys[k.name] = k
		for i, c := range k.name {
			if c == '.' {
				s.tables[k.name[:i]] = true
			}
		}
	}
	return s
}

// fileScope is a whole file, but for its queues.
func fileScope() scope {
	s := newScope(globalKeys())
	for _, k := range queueKeys() {
		if k.own {
			s.refuse["defaults."+k.name] = "belongs to one queue: set it below queues"
		}
	}
	s.refuse["defaults.name"] = "belongs to one queue: set it below queues"
	return s
}

// queueScope is one item of queues.
func queueScope() scope {
	return newScope(append([]key{{name: "name", kind: one(words("string", anything))}}, queueKeys()...))
}

// names are what may stand directly in a table, "" being the outermost.
func (s scope) names(table string) []string {
	var names []string
	for _, k := range s.order {
		rest, ok := strings.CutPrefix(k.name, table)
		if !ok {
			continue
		}
		word, _, _ := strings.Cut(rest, ".")
		if !slices.Contains(names, word) {
			names = append(names, word)
		}
	}
	return names
}

// unknown is the sentence about a key that is not in the table: what others
// call it, a spelling near by, or the same word at another place.
func (s scope) unknown(table, word string) string {
	for _, k := range s.order {
		if slices.Contains(k.others, word) {
			return "unknown key (here it is called " + k.name + ")"
		}
	}
	if near := suggest(word, append(s.names(table), extra(table)...)); near != "" {
		return "unknown key" + didYouMean(table+near)
	}
	for _, k := range s.order {
		if k.name == word || strings.HasSuffix(k.name, "."+word) {
			return "unknown key" + didYouMean(k.name)
		}
	}
	return "unknown key"
}

// extra is the one name of a file that no scope holds.
func extra(table string) []string {
	if table == "" {
		return []string{"queues"}
	}
	return nil
}
