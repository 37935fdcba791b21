package dlq

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTrimError(t *testing.T) {
	full := strings.Repeat("x", MaxError)
	for in, want := range map[string]string{
		"":                           "",
		"boom":                       "boom",
		" boom\r\n":                  "boom",
		"a\r\nDsend-Replays: 9":      "a  Dsend-Replays: 9",
		"a\x00b\tc\x7fd\u0085e":      "a b c d e",
		"bad \xff byte":              "bad \ufffd byte",
		"größe":                      "größe",
		full:                         full,
		full + "y":                   full,
		full[1:] + "é":               full[1:],            // two bytes where one is left
		full[2:] + "é":               full[2:] + "é",      // fits exactly
		full[3:] + "😀":               full[3:],            // cut before a rune, not within
		full[3:] + "\xff":            full[3:] + "\ufffd", // grows to fill it
		full[2:] + "\xff":            full[2:],
		full[1:] + " \n":             full[1:],
		strings.Repeat("\x80", 5000): strings.Repeat("\ufffd", MaxError/3),
		strings.Repeat("\n", 5000):   "",
		strings.Repeat("x", 64<<20):  full,
		"\u2003wide space\u00a0":     "wide space",
	} {
		if got := TrimError(in); got != want {
			t.Errorf("%.40q (%d bytes): got %.40q (%d bytes)", in, len(in), got, len(got))
		}
	}
}

func TestTrimErrorIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		in := strings.Repeat(piece.Draw(t, "piece"), rapid.SampledFrom([]int{1, 50, 500}).Draw(t, "times"))
		got := TrimError(in)
		if len(got) > MaxError || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Fatalf("%q is not safe", got)
		}
		if again := TrimError(got); again != got {
			t.Fatalf("trimmed again: %q, was %q", again, got)
		}
	})
}

// What is short, clean and printable is kept as it is.
func TestTrimErrorKeepsWhatIsClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom(nil, unicode.L, unicode.N, unicode.P), 0, -1, MaxError).Draw(t, "s")
		if got := TrimError(s); got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
