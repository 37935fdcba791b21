package config

import (
	"errors"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads a TOML document. The ordinary decoder judges it; the tree is
// made from the parser below it, which knows the lines. What is given twice is
// kept twice, so that it is reported as in the other formats.
func parseTOML(src []byte) (*node, error) {
	var judged map[string]any
	verdict := toml.Unmarshal(src, &judged)

	t := tomlReader{root: &node{shape: isTable, line: 1}, lines: lineEnds(src), closed: map[*node]bool{}}
	t.table = t.root
	t.p.Reset(src)
	for t.p.NextExpression() {
		t.expression(t.p.Expression())
	}
	if verdict != nil && (t.p.Error() != nil || !t.twice) {
		return nil, tomlError(src, verdict)
	}
	return t.root, nil
}

// tomlError finds the line; the decoder does not say it of what is out of place.
func tomlError(src []byte, err error) error {
	line, what := 0, strings.TrimPrefix(err.Error(), "toml: ")
	if d := new(toml.DecodeError); errors.As(err, &d) {
		line, _ = d.Position()
	} else {
		line = badLine(src, func(part []byte) bool {
			var judged map[string]any
			return toml.Unmarshal(part, &judged) == nil
		})
	}
	return &syntaxError{max(line, 1), "is not TOML: " + what}
}

type tomlReader struct {
	p      unstable.Parser
	lines  []int // where each line ends, as offsets
	root   *node
	table  *node          // what the last header opened
	closed map[*node]bool // tables that no header may open: opened before, or inline
	twice  bool           // something is given twice
}

func (t *tomlReader) expression(e *unstable.Node) {
	switch e.Kind {
	case unstable.KeyValue:
		t.keyValue(t.table, e)
	case unstable.Table:
		t.header(e)
	case unstable.ArrayTable:
		t.item(e)
	}
}

// word is one part of a dotted key.
type word struct {
	text string
	line int
}

func (t *tomlReader) words(it unstable.Iterator) []word {
	var out []word
	for it.Next() {
		n := it.Node()
		out = append(out, word{string(n.Data), t.line(n, 1)})
	}
	return out
}

// line is that of a node, or the given one where the parser does not say.
func (t *tomlReader) line(n *unstable.Node, otherwise int) int {
	if n.Raw.Length == 0 {
		return otherwise
	}
	return 1 + sort.SearchInts(t.lines, int(n.Raw.Offset))
}

// lineEnds are the offsets of the line feeds. The parser could tell a line by
// itself, but it counts from the top each time.
func lineEnds(src []byte) []int {
	var ends []int
	for i, b := range src {
		if b == '\n' {
			ends = append(ends, i)
		}
	}
	return ends
}

func (t *tomlReader) keyValue(in *node, e *unstable.Node) {
	in, last := t.reach(in, e)
	t.put(in, last, t.value(e.Value(), last.line))
}

// header opens the table of a [header].
func (t *tomlReader) header(e *unstable.Node) {
	in, last := t.reach(t.root, e)
	found := find(in, last.text)
	if found == nil || found.shape != isTable || t.closed[found] {
		found = t.put(in, last, &node{shape: isTable, line: last.line})
	}
	t.closed[found] = true
	t.table = found
}

// item opens the next table of a [[list]].
func (t *tomlReader) item(e *unstable.Node) {
	in, last := t.reach(t.root, e)
	found := find(in, last.text)
	if found == nil || found.shape != isList || t.closed[found] {
		found = t.put(in, last, &node{shape: isList, line: last.line})
	}
	t.table = &node{shape: isTable, line: last.line}
	found.items = append(found.items, t.table)
}

// reach goes from a table to the one where the last word of a key belongs.
func (t *tomlReader) reach(in *node, e *unstable.Node) (*node, word) {
	words := t.words(e.Key())
	last := len(words) - 1
	for _, w := range words[:last] {
		in = t.descend(in, w)
	}
	return in, words[last]
}

// descend goes into the table of a name, or the newest one of a list of them;
// it makes the table if it is not there.
func (t *tomlReader) descend(in *node, w word) *node {
	found := find(in, w.text)
	if found != nil && found.shape == isList && len(found.items) > 0 {
		found = found.items[len(found.items)-1]
	}
	if found == nil || found.shape != isTable {
		return t.put(in, w, &node{shape: isTable, line: w.line})
	}
	return found
}

func (t *tomlReader) put(in *node, w word, value *node) *node {
	t.twice = t.twice || find(in, w.text) != nil
	in.pairs = append(in.pairs, pair{w.text, w.line, value})
	return value
}

// find is the newest value of a key, or nil.
func find(in *node, key string) *node {
	for i := len(in.pairs) - 1; i >= 0; i-- {
		if in.pairs[i].key == key {
			return in.pairs[i].value
		}
	}
	return nil
}

func (t *tomlReader) value(n *unstable.Node, line int) *node {
	line = t.line(n, line)
	out := &node{line: line, text: string(n.Data)}
	switch n.Kind {
	case unstable.String:
		out.shape = isText
	case unstable.Integer:
		out.shape = isWhole
	case unstable.Float:
		out.shape = isFraction
	case unstable.Bool:
		out.shape = isTruth
	case unstable.Array:
		out = t.list(n, line)
	case unstable.InlineTable:
		out = &node{shape: isTable, line: line}
		for it := n.Children(); it.Next(); {
			t.keyValue(out, it.Node())
		}
		t.closed[out] = true
	default:
		out.shape = isOther
	}
	return out
}

func (t *tomlReader) list(n *unstable.Node, line int) *node {
	out := &node{shape: isList, line: line}
	for it := n.Children(); it.Next(); {
		if item := it.Node(); item.Kind != unstable.Comment {
			out.items = append(out.items, t.value(item, line))
		}
	}
	t.closed[out] = true
	return out
}
