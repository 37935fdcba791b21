package dlq

import "strings"

// cause is what letters of one Group have in common.
type cause struct {
	reason  Reason
	error   string // normalised
	subject string // with "*" for tokens that are ids
}

func causeOf(l *Letter) cause {
	return cause{l.Reason, normalise(l.Error), subjectPattern(l.OriginSubject)}
}

// normalise returns the error text s with what differs from one message to the
// next replaced by "#", so that equal causes have equal texts:
//
//	order 17 of user_9: no row 'a-17' (10.0.0.1:5432)    in
//	order # of user_#: no row "#" (#:#)                  out
//
// Replaced are quotations, UUIDs, numbers with their decimals, and words that
// look like ids. It is a guess, made to be cheap and stable: two causes may fall
// together, or one apart, and nothing but a listing depends on it.
func normalise(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		text, end := token(s, i)
		b.WriteString(text)
		i = end
	}
	return b.String()
}

// token returns what stands for the token of s that begins at i, and its end.
func token(s string, i int) (text string, end int) {
	if end := quoteEnd(s, i); end > i {
		return `"#"`, end
	}
	if isUUID(s[i:]) {
		return "#", i + uuidLen
	}
	for end = i; end < len(s) && isWord(s[end]); end++ {
	}
	if end == i {
		return s[i : i+1], i + 1
	}
	return word(s[i:end]), decimalsEnd(s, end)
}

// subjectPattern returns subject with "*" for each token that is an id, so that
// the subjects of a thousand orders are one, and it fits Filter.Subject.
func subjectPattern(subject string) string {
	tokens := strings.Split(subject, ".")
	for i, t := range tokens {
		if isIDToken(t) {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, ".")
}

// isIDToken is stricter than isID: short tokens such as "b2" or "h264" are names.
func isIDToken(t string) bool {
	return isUUID(t) || t != "" && all(t, isDigit) || len(t) >= 8 && isID(t)
}

// word returns w, "#" for an id, or w with "#" for each number in it.
func word(w string) string {
	if isID(w) {
		return "#"
	}
	var b strings.Builder
	for i := range len(w) {
		switch {
		case !isDigit(w[i]):
			b.WriteByte(w[i])
		case i == 0 || !isDigit(w[i-1]):
			b.WriteByte('#')
		}
	}
	return b.String()
}

// isID reports whether w looks like an id and not like a word with a number: it
// has a digit, and is hex throughout, or goes to and fro between letters and
// digits at least three times ("k8Js0Lq2", but not "user42" or "2nd").
func isID(w string) bool {
	if !all(w, isWord) || all(w, isLetter) {
		return false
	}
	return all(strings.TrimPrefix(w, "0x"), isHex) || changes(w) >= 3
}

func changes(w string) (n int) {
	for i := 1; i < len(w); i++ {
		if isDigit(w[i]) != isDigit(w[i-1]) {
			n++
		}
	}
	return n
}

// quoteEnd returns the end of the quotation that opens at i, or i if none does.
// An apostrophe inside a word ("can't") neither opens nor closes one.
func quoteEnd(s string, i int) int {
	q := s[i]
	apostrophe := q == '\''
	if q != '"' && q != '`' && !apostrophe || apostrophe && i > 0 && isWord(s[i-1]) {
		return i
	}
	for end := i + 1; end < len(s); end++ {
		inWord := apostrophe && end+1 < len(s) && isWord(s[end+1])
		switch {
		case s[end] == '\\':
			end++ // what it escapes closes nothing
		case s[end] == q && !inWord:
			return end + 1
		}
	}
	return i
}

// decimalsEnd returns the end of what follows a number that ends at i: ".5" of
// 1.5, ".0.0.1" of an address.
func decimalsEnd(s string, i int) int {
	for isDigit(s[i-1]) && i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
		for i++; i < len(s) && isDigit(s[i]); i++ {
		}
	}
	return i
}

const uuidLen = 36

// isUUID reports whether s begins with a UUID, as a whole word.
func isUUID(s string) bool {
	if len(s) < uuidLen || len(s) > uuidLen && isWord(s[uuidLen]) {
		return false
	}
	for i := range uuidLen {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

func all(s string, is func(byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isLetter takes every byte above ASCII as part of a letter.
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80 }

func isWord(c byte) bool { return isLetter(c) || isDigit(c) }
