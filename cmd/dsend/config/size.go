package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// size is a number of bytes.
func size() element[int64] {
	return element[int64]{
		name:   "size",
		must:   "a size such as 64MiB",
		takes:  []shape{isText, isWhole, isFraction},
		parse:  parseSize,
		format: formatSize,
	}
}

// sizeFrom is a size that is not smaller than this.
func sizeFrom(least int64) element[int64] {
	e := size()
	parse := e.parse
	e.parse = func(text string) (int64, error) {
		n, err := parse(text)
		if err == nil && n < least {
			return 0, fmt.Errorf("%s is too small: it must be %s or more", quote(text), formatSize(least))
		}
		return n, err
	}
	return e
}

type unit struct {
	name  string
	bytes int64
}

// units are those of sizes, the largest first.
func units() []unit {
	return []unit{
		{"TiB", 1 << 40}, {"TB", 1e12}, {"GiB", 1 << 30}, {"GB", 1e9},
		{"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1},
	}
}

var sizeForm = regexp.MustCompile(`^([+-]?[0-9]+)(\.[0-9]+)?\s?([A-Za-z]*)$`)

func parseSize(text string) (int64, error) {
	m := sizeForm.FindStringSubmatch(text)
	switch {
	case m == nil:
		return 0, fmt.Errorf("%s is not a size such as 64MiB", quote(text))
	case strings.HasPrefix(m[1], "-"):
		return 0, errors.New("must not be negative")
	case m[2] != "":
		return 0, fmt.Errorf("%s must be a whole number of a smaller unit", quote(text))
	case m[3] == "" && strings.Trim(m[1], "+0") == "":
		return 0, nil
	case m[3] == "":
		return 0, fmt.Errorf("%s has no unit: write %sB, or one of kB, MB, GB, KiB, MiB, GiB", quote(text), m[1])
	}
	u, err := findUnit(text, m[1], m[3])
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > math.MaxInt64/u {
		return 0, fmt.Errorf("%s is too large", quote(text))
	}
	return n * u, nil
}

func findUnit(text, digits, name string) (int64, error) {
	for _, u := range units() {
		if u.name == name {
			return u.bytes, nil
		}
	}
	for _, u := range units() { // mb, or M, which is 1000² to some and 1024² to others
		if strings.EqualFold(u.name, name) {
			return 0, fmt.Errorf("%s: there is no unit %s: write %s%s", quote(text), quote(name), digits, u.name)
		}
		if strings.EqualFold(u.name[:1]+"B", name+"B") && len(u.name) == 3 {
			return 0, fmt.Errorf("%s: there is no unit %s: write %s%s or %s%s", quote(text), quote(name), digits, u.name, digits, u.name[:1]+"B")
		}
	}
	return 0, fmt.Errorf("%s: there is no unit %s: take one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB", quote(text), quote(name))
}

// formatSize writes a size exactly, in the largest unit that can.
func formatSize(n int64) string {
	if n == 0 {
		return "0"
	}
	for _, u := range units() {
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B" // not reached: every number is a multiple of 1
}
