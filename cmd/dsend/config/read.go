package config

import (
	"fmt"
	"strings"

	"dsend/durable/queue"
)

// A reader holds a file's tree against the table and makes layers of it.
type reader struct {
	file     string
	problems *Problems
	top      layer
	queues   []queueLayer
}

// A queueLayer is one item of queues.
type queueLayer struct {
	layer
	name  string // empty if there is no usable one
	label string // before its keys in a refusal: "queues.orders."
	at    place
}

func (r *reader) place(line int) place { return place{fromFile, r.file, line} }

// root reads a whole file.
func (r *reader) root(n *node) {
	r.top = newLayer()
	s := fileScope()
	lists := map[string]func(*node){"queues": r.list}
	r.table(n, tableReader{s, "", &r.top, lists}, "")
	r.top.contradictions("defaults.", "", r.problems)
}

// tableReader is where the keys of a table belong.
type tableReader struct {
	scope scope
	label string // before the names in refusals
	into  *layer
	lists map[string]func(*node) // lists of tables
}

// table reads a table; its dotted name, with a dot at the end, is in front of
// every name in it.
func (r *reader) table(n *node, t tableReader, name string) {
	first := map[string]int{}
	for _, p := range n.pairs {
		full := name + p.key
		if line, twice := first[p.key]; twice {
			r.problems.add(r.place(p.line), t.label+plain(full), "is given twice, first on line %d", line)
			continue
		}
		first[p.key] = p.line
		r.pair(p, t, name, full)
	}
}

func (r *reader) pair(p pair, t tableReader, table, full string) {
	k, isKey := t.scope.keys[full]
	list, isList := t.lists[full]
	why, refused := t.scope.refuse[full]
	switch {
	case isKey && strings.Contains(p.key, "."):
		i := strings.LastIndex(full, ".")
		r.problems.add(r.place(p.line), t.label+full, "must be written as %s in a table %s", full[i+1:], full[:i])
	case isKey:
		r.value(k, p.value, p.line, t)
	case t.scope.tables[full]:
		r.subtable(p, t, full)
	case isList:
		list(p.value)
	case refused:
		r.problems.add(r.place(p.line), t.label+full, "%s", why)
	default:
		r.problems.add(r.place(p.line), t.label+plain(full), "%s", t.scope.unknown(table, p.key))
	}
}

// subtable reads a table in a table. A backoff may be just its list.
func (r *reader) subtable(p pair, t tableReader, full string) {
	k, short := t.scope.keys[full+".list"]
	switch {
	case p.value.shape == isTable:
		r.table(p.value, t, full+".")
	case p.value.shape == isList && short:
		r.value(k, p.value, p.line, t)
	default:
		r.wrong(p.line, t.label+full, "a table", p.value)
	}
}

// value reads what a key is set to.
func (r *reader) value(k key, n *node, line int, t tableReader) {
	v := value{at: r.place(line)}
	items := []*node{n}
	if k.kind.list {
		if n.shape != isList {
			r.wrong(line, t.label+k.name, "a list", n)
			t.into.bad = append(t.into.bad, k.name)
			return
		}
		items = n.items
	}
	good := len(items) >= k.kind.least
	if !good {
		r.problems.add(v.at, t.label+k.name, "must not be empty")
	}
	for _, item := range items {
		good = r.item(k, item, line, t.label) && good
		v.texts = append(v.texts, item.text)
		v.items = append(v.items, r.place(item.line))
	}
	if !good {
		t.into.bad = append(t.into.bad, k.name)
		return
	}
	t.into.values[k.name] = v
}

// item looks at one text: the value itself, or one of a list.
func (r *reader) item(k key, n *node, line int, label string) bool {
	if k.kind.list {
		line = n.line
	}
	if !k.kind.accepts(n.shape) {
		r.wrong(line, label+k.name, k.kind.must, n)
		return false
	}
	if err := k.kind.check(n.text); err != nil {
		r.problems.add(r.place(line), label+k.name, "%v", err)
		return false
	}
	return true
}

// wrong refuses a value for its looks.
func (r *reader) wrong(line int, key, must string, n *node) {
	switch {
	case n.shape == isNothing:
		r.problems.add(r.place(line), key, "has no value: give it one or take it out")
	case must == "a string" && (n.shape == isWhole || n.shape == isFraction || n.shape == isTruth):
		r.problems.add(r.place(line), key, "must be a string: put it in quotes: %s", quote(n.text))
	case n.shape == isText:
		r.problems.add(r.place(line), key, "must be %s, not the string %s", must, quote(n.text))
	case n.shape == isWhole || n.shape == isFraction || n.shape == isTruth:
		r.problems.add(r.place(line), key, "must be %s, not %s", must, plain(n.text))
	default:
		r.problems.add(r.place(line), key, "must be %s, not %s", must, n.shape)
	}
}

// list reads queues.
func (r *reader) list(n *node) {
	if n.shape != isList {
		r.wrong(n.line, "queues", "a list of tables, each with a name", n)
		return
	}
	s, taken := queueScope(), map[string]int{}
	for i, item := range n.items {
		r.queue(i, item, s, taken)
	}
}

func (r *reader) queue(i int, n *node, s scope, taken map[string]int) {
	q := queueLayer{layer: newLayer(), label: fmt.Sprintf("queues.#%d", i+1), at: r.place(n.line)}
	if n.shape != isTable {
		r.wrong(n.line, q.label, "a table with a name", n)
		return
	}
	name := lookUp(n, "name")
	if name != nil && name.shape == isText && queue.ValidName(name.text) {
		q.name, q.label = name.text, "queues."+name.text
	}
	q.label += "."
	r.table(n, tableReader{s, q.label, &q.layer, nil}, "")
	r.name(&q, name, taken)
	q.contradictions("", q.label, r.problems)
	q.boundsWithoutAuto(q.label, r.problems)
	r.queues = append(r.queues, q)
}

// name judges the name of a queue; one that is not its own is taken away.
func (r *reader) name(q *queueLayer, n *node, taken map[string]int) {
	v, given := q.values["name"]
	switch {
	case n == nil:
		r.problems.add(q.at, q.label+"name", "is missing")
	case q.name != "" && taken[q.name] > 0:
		r.problems.add(v.at, q.label+"name", "is taken by the queue on line %d", taken[q.name])
		q.name = ""
	case q.name != "":
		taken[q.name] = v.at.line
	case given:
		r.problems.add(v.at, q.label+"name", "%s is not a queue name: 1 to 64 of A-Z a-z 0-9 _ -", quote(n.text))
	}
	delete(q.values, "name")
}

// lookUp is the first value of a key, or nil.
func lookUp(n *node, key string) *node {
	for _, p := range n.pairs {
		if p.key == key {
			return p.value
		}
	}
	return nil
}
