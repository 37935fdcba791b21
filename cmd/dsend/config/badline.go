package config

import "bytes"

// badLine finds the line where a text stops being good, for parsers that do not
// say it, or say where the table around it began: the first one up to which the
// text does not parse, while it does up to the line before. A construct that
// spans a few lines parses only when it is complete, so a little more is tried
// before a line is blamed.
func badLine(src []byte, parses func([]byte) bool) int {
	const more = 4
	lines := bytes.SplitAfter(bytes.TrimSuffix(src, []byte("\n")), []byte("\n"))
	ends := []int{0}
	for _, line := range lines {
		ends = append(ends, ends[len(ends)-1]+len(line))
	}
	good, bad := 0, len(lines) // up to good it parses, up to bad it does not
	for bad-good > 1 {
		mid, ok := (good+bad)/2, false
		for n := mid; n < min(mid+more, bad) && !ok; n++ {
			if ok = parses(src[:ends[n]]); ok {
				mid = n
			}
		}
		if ok {
			good = mid
		} else {
			bad = mid
		}
	}
	return bad
}
