package main

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 12345 * time.Microsecond: "12ms", 59*time.Second + 400*time.Millisecond: "59s",
		61 * time.Second: "1m1s", 3 * time.Hour: "3h0m", 25*time.Hour + 59*time.Minute: "1d1h",
	} {
		if got := age(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1536: "1.5KiB", 5 << 30: "5.0GiB"} {
		if got := size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestPreview(t *testing.T) {
	for _, c := range []struct {
		data string
		size int
		want string
	}{
		{"", 0, ""},
		{"hello\n", 6, `hello\n`},
		{"hello", 9, "hello…"},
		{"h\xc3", 9, "h…"}, // cut in the middle of a rune
		{"\xc3", 1, "(1 bytes, not text)"},
		{"\xff\xfe\xfd\xfc", 60, "(60 bytes, not text)"},
	} {
		if got := preview([]byte(c.data), c.size); got != c.want {
			t.Errorf("%q of %d is %q, want %q", c.data, c.size, got, c.want)
		}
	}
}

func TestBodyForATerminal(t *testing.T) {
	for data, want := range map[string]string{
		"":         "(no body)\n",
		"a\tb\n":   "a\tb\n",
		"ä":        "ä\n",
		"\x1b[31m": "00000000  1b 5b 33 31 6d                                    |.[31m|\n",
	} {
		if got := body([]byte(data)); got != want {
			t.Errorf("%q is shown as %q, want %q", data, got, want)
		}
	}
}
