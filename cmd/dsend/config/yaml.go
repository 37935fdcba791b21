package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// A syntaxError is a file that is not what its extension says.
type syntaxError struct {
	line int
	what string
}

func (e *syntaxError) Error() string { return e.what }

// parseYAML reads one YAML document. An empty one is nil.
func parseYAML(src []byte) (*node, error) {
	d := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, yamlError(src, err)
	}
	if err := d.Decode(&more); err == nil {
		return nil, &syntaxError{more.Line, "has a second YAML document; only one is read"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(src, err)
	}
	y := yamlReader{left: maxNodes}
	return y.node(doc.Content[0], 0)
}

var yamlForm = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// yamlError finds the line. The parser says none, the right one, the one where
// the table around it begins, or one behind the end.
func yamlError(src []byte, err error) error {
	line := badLine(src, func(part []byte) bool {
		var n yaml.Node
		return yaml.Unmarshal(part, &n) == nil
	})
	what := err.Error()
	if m := yamlForm.FindStringSubmatch(what); m != nil {
		what = m[2]
		if said, _ := strconv.Atoi(m[1]); said <= bytes.Count(src, []byte("\n")) {
			line = max(line, said)
		}
	}
	return &syntaxError{line, "is not YAML: " + what}
}

type yamlReader struct{ left int }

func (y *yamlReader) node(n *yaml.Node, depth int) (*node, error) {
	y.left--
	if depth > maxDepth || y.left < 0 {
		return nil, &syntaxError{n.Line, "is nested too deep"}
	}
	switch n.Kind {
	case yaml.AliasNode:
		target, err := y.node(n.Alias, depth+1)
		if err != nil {
			return nil, err
		}
		target.line = n.Line
		return target, nil
	case yaml.MappingNode:
		return y.table(n, depth)
	case yaml.SequenceNode:
		return y.list(n, depth)
	default:
		return &node{shape: yamlShape(n.ShortTag()), line: n.Line, text: n.Value}, nil
	}
}

func (y *yamlReader) table(n *yaml.Node, depth int) (*node, error) {
	out := &node{shape: isTable, line: n.Line}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			return nil, &syntaxError{k.Line, "a key must be a word"}
		}
		if k.ShortTag() == "!!merge" {
			return nil, &syntaxError{k.Line, "merge keys (<<) are not supported; queues inherit from defaults"}
		}
		value, err := y.node(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		out.pairs = append(out.pairs, pair{k.Value, k.Line, value})
	}
	return out, nil
}

func (y *yamlReader) list(n *yaml.Node, depth int) (*node, error) {
	out := &node{shape: isList, line: n.Line}
	for _, item := range n.Content {
		value, err := y.node(item, depth+1)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, value)
	}
	return out, nil
}

func yamlShape(tag string) shape {
	switch tag {
	case "!!str":
		return isText
	case "!!int":
		return isWhole
	case "!!float":
		return isFraction
	case "!!bool":
		return isTruth
	case "!!null":
		return isNothing
	default:
		return isOther
	}
}
