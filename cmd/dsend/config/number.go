package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// number tells whether a text is a decimal number as all formats write it.
// What they do not agree on (0x1f, 010, .5, 1__0) is none.
func number(text string) bool { return numberForm.MatchString(text) }

var numberForm = regexp.MustCompile(`^[+-]?(0|[1-9](_?[0-9])*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// integer is a whole number that fits an int.
func integer() element[int] {
	return element[int]{
		name:   "number",
		must:   "a whole number",
		takes:  []shape{isWhole},
		parse:  func(text string) (int, error) { n, err := parseWhole(text); return int(n), err },
		format: strconv.Itoa,
	}
}

// count is a whole number that fits an int64.
func count() element[int64] {
	return element[int64]{
		name:   "number",
		must:   "a whole number",
		takes:  []shape{isWhole},
		parse:  parseWhole,
		format: func(n int64) string { return strconv.FormatInt(n, 10) },
	}
}

func parseWhole(text string) (int64, error) {
	if !number(text) || numberShape(text) != isWhole {
		return 0, fmt.Errorf("%s is not a whole decimal number", quote(text))
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is too large", quote(text))
	}
	return n, nil
}

// decimal is a number with or without a fraction.
func decimal() element[float64] {
	return element[float64]{
		name:  "number",
		must:  "a number",
		takes: []shape{isWhole, isFraction},
		parse: func(text string) (float64, error) {
			if !number(text) {
				return 0, fmt.Errorf("%s is not a decimal number such as 0.2", quote(text))
			}
			f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
			if err != nil {
				return 0, fmt.Errorf("%s is too large", quote(text))
			}
			return f, nil
		},
		format: func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) },
	}
}

// truth is a switch.
func truth() element[bool] {
	return element[bool]{
		name:  "bool",
		must:  "true or false",
		takes: []shape{isTruth},
		parse: func(text string) (bool, error) {
			switch strings.ToLower(text) {
			case "true":
				return true, nil
			case "false":
				return false, nil
			}
			return false, fmt.Errorf("%s is not true or false", quote(text))
		},
		format: strconv.FormatBool,
	}
}
