package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// parseJSON reads one JSON value.
func parseJSON(src []byte) (*node, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(src, &whole); err != nil { // checks all of it, without looking at depth or keys
		return nil, jsonError(src, err)
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	j := jsonReader{src: src, d: d, line: 1}
	return j.node(0)
}

func jsonError(src []byte, err error) error {
	line, syntax := 1, new(json.SyntaxError)
	if errors.As(err, &syntax) {
		line += bytes.Count(src[:min(max(0, int(syntax.Offset)-1), len(src))], []byte("\n"))
	}
	return &syntaxError{line, "is not JSON: " + err.Error()}
}

// jsonReader goes through the tokens and counts the lines.
type jsonReader struct {
	src  []byte
	d    *json.Decoder
	line int
	read int // bytes of src whose lines are counted
}

// token returns the next token; no token spans lines.
func (j *jsonReader) token() (json.Token, error) {
	t, err := j.d.Token()
	end := int(j.d.InputOffset())
	j.line += bytes.Count(j.src[j.read:end], []byte("\n"))
	j.read = end
	return t, err
}

func (j *jsonReader) node(depth int) (*node, error) {
	t, err := j.token()
	if err != nil {
		return nil, jsonError(j.src, err)
	}
	if depth > maxDepth {
		return nil, &syntaxError{j.line, "is nested too deep"}
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return j.table(depth)
		}
		return j.list(depth)
	case string:
		return &node{shape: isText, line: j.line, text: t}, nil
	case json.Number:
		return &node{shape: numberShape(t.String()), line: j.line, text: t.String()}, nil
	case bool:
		return &node{shape: isTruth, line: j.line, text: map[bool]string{true: "true", false: "false"}[t]}, nil
	default:
		return &node{shape: isNothing, line: j.line}, nil
	}
}

func (j *jsonReader) table(depth int) (*node, error) {
	out := &node{shape: isTable, line: j.line}
	for j.d.More() {
		key, err := j.token()
		if err != nil {
			return nil, jsonError(j.src, err)
		}
		line := j.line
		value, err := j.node(depth + 1)
		if err != nil {
			return nil, err
		}
		word, _ := key.(string) // a key is always one
		out.pairs = append(out.pairs, pair{word, line, value})
	}
	_, err := j.token() // the closing brace
	return out, err
}

func (j *jsonReader) list(depth int) (*node, error) {
	out := &node{shape: isList, line: j.line}
	for j.d.More() {
		value, err := j.node(depth + 1)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, value)
	}
	_, err := j.token() // the closing bracket
	return out, err
}

func numberShape(text string) shape {
	if strings.ContainsAny(text, ".eE") {
		return isFraction
	}
	return isWhole
}
