package dlq

import (
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"
)

// MaxError is how many bytes of an error text are kept.
const MaxError = 1024

// TrimError returns s as it may be kept and sent as a header value: control
// characters (CR, LF, NUL, …) become spaces, bytes that are not UTF-8 become
// U+FFFD, what is longer than MaxError is cut between two runes, and space at
// both ends goes, as header readers drop it anyway. Trimming twice changes
// nothing more. The result shares no memory with s.
func TrimError(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) {
			r = ' '
		}
		if b.Len()+utf8.RuneLen(r) > MaxError {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// intern returns a string equal to b that is shared with others like it.
func intern(b []byte) string { return unique.Make(string(b)).Value() }
