package config

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// encoders write a tree of maps in each format.
func encoders() map[string]func(any) ([]byte, error) {
	return map[string]func(any) ([]byte, error){
		"d.yaml": yaml.Marshal,
		"d.yml":  yaml.Marshal,
		"d.toml": func(v any) ([]byte, error) {
			var b bytes.Buffer
			e := toml.NewEncoder(&b)
			e.SetArraysMultiline(true)
			err := e.Encode(v)
			return b.Bytes(), err
		},
		"d.json": func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "\t") },
	}
}

// put sets a dotted key in a tree.
func put(tree map[string]any, name string, value any) {
	table, rest, deep := strings.Cut(name, ".")
	if !deep {
		tree[name] = value
		return
	}
	next, ok := tree[table].(map[string]any)
	if !ok {
		next = map[string]any{}
		tree[table] = next
	}
	put(next, rest, value)
}

// native is what a kind's texts are in a file.
func native(t interface{ Fatal(...any) }, k kind, texts []string) any {
	if k.list {
		return texts
	}
	switch {
	case k.accepts(isTruth):
		return texts[0] == "true"
	case k.accepts(isText):
		return texts[0]
	case k.accepts(isFraction):
		f, err := strconv.ParseFloat(texts[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	default:
		n, err := strconv.ParseInt(texts[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}
