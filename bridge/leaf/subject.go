package leaf

import "strings"

// Matches tells whether a literal subject matches a pattern with the wildcards * (one token) and > (one or more, at the end).
func Matches(pattern, subject string) bool {
	for {
		p, prest, pmore := strings.Cut(pattern, ".")
		s, srest, smore := strings.Cut(subject, ".")
		if p == ">" && !pmore {
			return true
		}
		if p != "*" && p != s || pmore != smore {
			return false
		}
		if !pmore {
			return true
		}
		pattern, subject = prest, srest
	}
}

// validPattern tells whether a server would take a subscription on it.
func validPattern(subject string) bool {
	if subject == "" || len(subject) > maxLineOut || breaks([]byte(subject)) {
		return false
	}
	for rest, more := subject, true; more; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		if token == "" || token == ">" && more {
			return false
		}
	}
	return true
}
