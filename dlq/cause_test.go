package dlq

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNormalise(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"connection refused":      "connection refused",
		"order 17 not found":      "order # not found",
		"order 170000 not found":  "order # not found",
		"took 1.5s, limit 2s":     "took #s, limit #s",
		"after 1m30s":             "after #",
		"v1.2.3 of user_42":       "v# of user_#",
		"10.0.0.1:5432: refused":  "#:#: refused",
		"at 2024-01-02T15:04:05Z": "at #-#-#T#:#:#Z",
		"id 6ba7b810-9dad-11d1-80b4-00c04fd430c8!":     "id #!",
		"id 6BA7B810-9DAD-11D1-80B4-00C04FD430C8":      "id #",
		"aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa is gone": "# is gone",    // a UUID without a digit
		"id 6ba7b810-9dad-11d1-80b4-00c04fd430c8xyz":   "id #-#-#-#-#", // too long for one
		"commit 3f2a9c1 failed":                        "commit # failed",
		"at 0xff and 0xdeadbeef":                       "at # and #",
		"inbox k8Js0Lq2":                               "inbox #",
		`no field "price" in 'order x'`:                `no field "#" in "#"`,
		"no table `a b`":                               `no table "#"`,
		`say "a \" b" twice`:                           `say "#" twice`,
		`unclosed "quote`:                              `unclosed "quote`,
		"can't open, won't try":                        "can't open, won't try",
		"can't open 'it's' now":                        `can't open "#" now`,
		`ends with "`:                                  `ends with "`,
		`ends with "\`:                                 `ends with "\`,
		"größe 5 zu groß":                              "größe # zu groß",
		"bad feed added by facade":                     "bad feed added by facade", // hex letters, but words
		"file.5 of node5.5":                            "file.# of node#",
		"100%":                                         "#%",
		"1.":                                           "#.",
		"order 17 of user_9: no row 'a-17' (10.0.0.1:5432)": `order # of user_#: no row "#" (#:#)`,
	} {
		if got := normalise(in); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", in, got, want)
		}
	}
}

// Texts that differ only in a number, an id or a quotation are one cause.
func TestNormaliseForgetsWhatDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		varying := rapid.SampledFrom([]*rapid.Generator[string]{
			rapid.StringMatching(`[0-9]{1,20}(\.[0-9]{1,5})?`),
			rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
			rapid.StringMatching(`[0-9][0-9a-f]{7,40}`),
			rapid.StringMatching(`0x[0-9a-f]{1,16}`),
			rapid.StringMatching(`"[a-z0-9 .']{0,20}"`),
		}).Draw(t, "kind")
		form := rapid.SampledFrom([]string{"$", "no $ here", "key=$;", "($)", "/$/", "user_$: gone"}).Draw(t, "form")
		one := strings.Replace(form, "$", varying.Draw(t, "one"), 1)
		other := strings.Replace(form, "$", varying.Draw(t, "other"), 1)
		if a, b := normalise(one), normalise(other); a != b {
			t.Fatalf("%q is %q, but %q is %q", one, a, other, b)
		}
	})
}

// Words stay: what has no digit and no quotation mark is kept as it is.
func TestNormaliseKeepsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a-zA-ZäöüÄ_:;,. /()-]{0,60}`).
			Filter(func(s string) bool { return len(s) < uuidLen || strings.Count(s, "-") < 4 }).Draw(t, "s")
		if got := normalise(s); got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func TestNormaliseTakesAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("ab19.-'\"`\\ x0é\n"))).Draw(t, "s")
		if n := normalise(s); strings.ContainsAny(n, "0123456789") {
			t.Fatalf("%q became %q", s, n)
		}
	})
}

func TestSubjectPattern(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "",
		"orders.new":       "orders.new",
		"orders.17.new":    "orders.*.new",
		"17":               "*",
		"eu-west-1.orders": "eu-west-1.orders",
		"v1.b2.h264.k8s":   "v1.b2.h264.k8s",
		"orders.6ba7b810-9dad-11d1-80b4-00c04fd430c8": "orders.*",
		"orders.507f1f77bcf86cd799439011.paid":        "orders.*.paid",
		"_INBOX.k8Js0Lq2mN4p":                         "_INBOX.*",
		"a..b":                                        "a..b",
	} {
		got := subjectPattern(in)
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if strings.Contains(got, "*") && !MatchSubject(got, in) {
			t.Errorf("%q does not fit its own pattern %q", in, got)
		}
	}
}

func BenchmarkNormalise(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		normalise("order 17 of user_9: dial tcp 10.0.0.1:5432: connect: connection refused")
	}
}
