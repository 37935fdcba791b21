package config

import (
	"slices"
	"strings"
)

// checkCircles refuses dead-letter queues that lead back to where the message
// came from. A queue that is its own is refused by its settings already.
func (l *loader) checkCircles(c *Config) {
	next, layers := map[string]string{}, map[string]queueLayer{}
	for i, q := range c.Queues {
		s := q.Settings
		if q.Name != "" && s.DeadLetter.Enabled && s.DLQName(q.Name) != q.Name {
			next[q.Name], layers[q.Name] = s.DLQName(q.Name), l.queues[i]
		}
	}
	seen := map[string]bool{}
	for _, q := range c.Queues {
		if circle := walk(next, q.Name, seen); circle != nil {
			l.circle(layers[circle[0]], circle)
		}
	}
}

func (l *loader) circle(q queueLayer, names []string) {
	at := q.at
	if v, ok := q.values["dead_letter.queue"]; ok {
		at = v.at
	}
	l.problems.add(at, q.label+"dead_letter.queue", "goes in a circle: %s", strings.Join(names, ", "))
}

// walk follows the dead-letter queues from one. If they lead into a circle
// nobody has seen, it returns it, its first queue again at the end.
func walk(next map[string]string, from string, seen map[string]bool) []string {
	var path []string
	for at, ok := from, true; ok; at, ok = next[at] {
		if i := slices.Index(path, at); i >= 0 {
			return append(path[i:], at)
		}
		if seen[at] {
			return nil
		}
		seen[at] = true
		path = append(path, at)
	}
	return nil
}
