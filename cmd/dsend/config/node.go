package config

// shape is what a value looks like in a file, before anybody asks what it
// means.
type shape int

const (
	isText shape = iota
	isWhole
	isFraction
	isTruth
	isNothing
	isOther // a date, a tagged value
	isList
	isTable
)

func (s shape) String() string {
	return [...]string{
		"a string", "a whole number", "a number with a fraction", "true or false",
		"nothing", "a date or a tagged value", "a list", "a table",
	}[s]
}

// A node is a value of a file with its place. YAML, TOML and JSON all become
// trees of these; a table keeps keys that are given twice.
type node struct {
	shape shape
	line  int
	text  string  // of a scalar, as written
	items []*node // of a list
	pairs []pair  // of a table, in file order
}

type pair struct {
	key   string
	line  int
	value *node
}

// maxDepth and maxNodes bound a tree; YAML aliases could make it endless.
const (
	maxDepth = 50
	maxNodes = 4_000_000
)
