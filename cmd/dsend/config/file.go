package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// parsers are the formats by extension.
func parsers() map[string]func([]byte) (*node, error) {
	return map[string]func([]byte) (*node, error){
		".yaml": parseYAML,
		".yml":  parseYAML,
		".toml": parseTOML,
		".json": parseJSON,
	}
}

// readTree reads a file into its root table.
func readTree(path string) (*node, error) {
	parse := parsers()[filepath.Ext(path)]
	if parse == nil {
		return nil, &syntaxError{0, "has no known format: the name must end in .yaml, .yml, .toml or .json"}
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, &syntaxError{0, reason(err)}
	}
	return parseTree(parse, src)
}

func parseTree(parse func([]byte) (*node, error), src []byte) (*node, error) {
	src = bytes.TrimPrefix(src, []byte("\ufeff")) // some editors begin a file with it
	if line := badUTF8(src); line > 0 {
		return nil, &syntaxError{line, "is not UTF-8"}
	}
	empty := &syntaxError{1, "is empty: set at least one key, or start without a file"}
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, empty
	}
	root, err := parse(src)
	switch {
	case err != nil:
		return nil, err
	case root == nil || root.shape == isNothing || root.shape == isTable && len(root.pairs) == 0:
		return nil, empty
	case root.shape != isTable:
		return nil, &syntaxError{root.line, "must be a table of keys, not " + root.shape.String()}
	}
	return root, nil
}

// badUTF8 is the first line that is not UTF-8, or 0.
func badUTF8(src []byte) int {
	if utf8.Valid(src) {
		return 0
	}
	for i, line := range bytes.Split(src, []byte("\n")) {
		if !utf8.Valid(line) {
			return i + 1
		}
	}
	return 1
}

// reason is what the operating system says, without the path that stands
// before it anyway.
func reason(err error) string {
	if p := new(fs.PathError); errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
