package config

import "strings"

// suggest returns the candidate that a misspelled word was probably meant to
// be, or "".
func suggest(word string, candidates []string) string {
	if len(word) > 100 {
		return ""
	}
	best, least := "", max(1, min(len(word)/3, 3))+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	if best != "" {
		return best
	}
	return longer(word, candidates)
}

// longer returns the candidate that goes on where a word stops, or stops where
// it goes on: warn for warning.
func longer(word string, candidates []string) string {
	for _, c := range candidates {
		short, long := min(len(word), len(c)), word
		if len(c) > len(word) {
			long = c
		}
		if short >= 3 && strings.HasPrefix(long, word[:short]) && strings.HasPrefix(long, c[:short]) {
			return c
		}
	}
	return ""
}

// distance counts the letters to change, add, drop or swap with the next to get
// from a to b.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// didYouMean puts a suggestion into a sentence's end, if there is one.
func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return " (did you mean " + word + "?)"
}
