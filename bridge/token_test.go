package bridge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func (t tokens) subject(d delivery) string {
	return fmt.Sprintf("$JS.ACK.dsend.%s.orders.work.1.%d.%d.1700000000000000000.0.%s", t.hash, d.seq, d.number, t.append(nil, d, scope("orders", "work")))
}

func TestTokenRoundTrip(t *testing.T) {
	tk := newTokens([16]byte{1})
	rapid.Check(t, func(t *rapid.T) {
		d := delivery{
			rapid.Bool().Draw(t, "pushed"), rapid.Uint32Range(0, 1<<31-1).Draw(t, "queue"),
			rapid.Uint64Range(0, 1<<48-1).Draw(t, "seq"), rapid.Uint64Range(0, 1<<48-1).Draw(t, "number"),
		}
		got, err := tk.read([]byte(tk.subject(d)))
		if err != nil || got != d {
			t.Fatalf("%v became %v (%v)", d, got, err)
		}
	})
}

// Every other subject is refused: of another store, of another message, cut,
// grown, or with any character of the token changed.
func TestForgedTokens(t *testing.T) {
	mine, other := newTokens([16]byte{1}), newTokens([16]byte{2})
	d := delivery{false, 7, 42, 99}
	subject := mine.subject(d)
	forged := []string{
		"", ".", strings.Repeat(".", 11), other.subject(d), subject + ".x", subject + "x", subject[:len(subject)-1],
		strings.Replace(subject, ".42.", ".43.", 1), strings.Replace(subject, ".99.", ".98.", 1),
		strings.Replace(subject, ".42.", ".-42.", 1), strings.Replace(subject, ".42.", ".99999999999999999999.", 1),
	}
	at := strings.LastIndexByte(subject, '.') + 1
	for i := at; i < len(subject); i++ {
		c := byte('A')
		if subject[i] == 'A' {
			c = 'Q'
		}
		forged = append(forged, subject[:i]+string(c)+subject[i+1:])
	}
	for _, f := range forged {
		if got, err := mine.read([]byte(f)); err == nil && f != subject {
			// The last character holds two bits that do not count.
			if f[:len(f)-1] != subject[:len(subject)-1] {
				t.Errorf("%s was taken for %v", f, got)
			}
		}
	}
	if _, err := mine.read([]byte(subject)); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{strings.Replace(subject, ".orders.", ".bills.", 1), strings.Replace(subject, ".work.", ".pull.", 1)} {
		if got, err := mine.read([]byte(other)); err == nil && got.queueID == d.queueID {
			t.Errorf("%s settles a message of another queue or consumer", other)
		}
	}
}

func FuzzReadToken(f *testing.F) {
	tk := newTokens([16]byte{1})
	f.Add([]byte(tk.subject(delivery{true, 1, 2, 3})))
	f.Add([]byte("$JS.ACK.dsend.a.b.c.1.2.3.4.5.AAAAAAAAAAAAAAAAAAAAAA"))
	f.Fuzz(func(t *testing.T, subject []byte) {
		parts := append(bytes.Split(subject, []byte(".")), nil, nil, nil, nil, nil, nil)
		if d, err := tk.read(subject); err == nil && !strings.Contains(string(subject), string(tk.append(nil, d, scope(parts[atQueue], parts[atConsumer])))[:21]) {
			t.Fatalf("%q was taken for %v", subject, d)
		}
	})
}
