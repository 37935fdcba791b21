package dlq

import (
	"fmt"
	"strings"
	"unicode"
)

// MatchSubject reports whether subject fits pattern by the rules of NATS: "*"
// stands for one token, ">" at the end for one or more, and only when they are
// a whole token; all else is taken literally, case included. A subject with an
// empty token is none, and fits nothing.
func MatchSubject(pattern, subject string) bool {
	for {
		want, wantRest, wantMore := strings.Cut(pattern, ".")
		got, rest, more := strings.Cut(subject, ".")
		switch {
		case got == "":
			return false
		case want == ">" && !wantMore:
			return !hasEmptyToken(subject)
		case want != "*" && want != got:
			return false
		case !wantMore || !more:
			return wantMore == more
		}
		pattern, subject = wantRest, rest
	}
}

func hasEmptyToken(subject string) bool {
	return subject == "" || subject[0] == '.' || subject[len(subject)-1] == '.' || strings.Contains(subject, "..")
}

// validatePattern refuses what could match no subject.
func validatePattern(pattern string) error {
	switch {
	case hasEmptyToken(pattern):
		return fmt.Errorf("subject %q has an empty token", pattern)
	case strings.ContainsFunc(pattern, isBlank):
		return fmt.Errorf("subject %q has a space or control character", pattern)
	case strings.Contains("."+pattern, ".>."):
		return fmt.Errorf("subject %q has > before its end", pattern)
	}
	return nil
}

func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
