package dlq

import (
	"encoding/json"
	"strings"
	"testing"
)

// The words are in the contract with users, the numbers in the log: neither may
// change, so both are written out here.
func TestReasonWords(t *testing.T) {
	words := []string{"reason(0)", "max_attempts", "terminated", "expired", "limit_lowered", "manual", "reason(6)"}
	for n, word := range words {
		r := Reason(n)
		if r.String() != word {
			t.Errorf("%d is %q, want %q", n, r, word)
		}
		back, err := ParseReason(word)
		if known := n > 0 && r <= lastReason; known != (err == nil) || known && back != r {
			t.Errorf("%q is read as %d, %v", word, back, err)
		}
	}
}

func TestOutcomeWords(t *testing.T) {
	words := []string{"outcome(0)", "nak", "timeout", "gone", "terminated", "given_back", "expired", "manual", "outcome(8)"}
	for n, word := range words {
		o := Outcome(n)
		if o.String() != word {
			t.Errorf("%d is %q, want %q", n, o, word)
		}
		back, err := ParseOutcome(word)
		if known := n > 0 && o <= lastOutcome; known != (err == nil) || known && back != o {
			t.Errorf("%q is read as %d, %v", word, back, err)
		}
	}
}

func TestWordsAreListedWhenRefused(t *testing.T) {
	for r := Reason(1); r <= lastReason; r++ {
		if _, err := ParseReason("Expired"); err == nil || !strings.Contains(err.Error(), r.String()) {
			t.Errorf("%v does not offer %v", err, r)
		}
	}
	for o := Outcome(1); o <= lastOutcome; o++ {
		if _, err := ParseOutcome(""); err == nil || !strings.Contains(err.Error(), o.String()) {
			t.Errorf("%v does not offer %v", err, o)
		}
	}
}

func TestWordsInJSON(t *testing.T) {
	type both struct {
		Reasons  []Reason
		Outcomes []Outcome
	}
	const text = `{"Reasons":["expired","manual"],"Outcomes":["gone"]}`
	var b both
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(b); err != nil || string(got) != text {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []string{`{"Reasons":["gone"]}`, `{"Reasons":[3]}`, `{"Outcomes":["lost"]}`} {
		if err := json.Unmarshal([]byte(bad), &b); err == nil {
			t.Errorf("%s was read as %+v", bad, b)
		}
	}
}
