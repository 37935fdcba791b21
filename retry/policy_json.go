package retry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// backoff is a policy in JSON. A pointer tells "not there" from a zero.
type backoff struct {
	Initial *string  `json:"initial,omitempty"`
	Factor  *float64 `json:"factor,omitempty"`
	Max     *string  `json:"max,omitempty"`
	List    []string `json:"list,omitempty"`
	Jitter  *float64 `json:"jitter,omitempty"`
}

// MarshalJSON writes {"initial":"1s","factor":2,"max":"10m0s","jitter":0.2} or
// {"list":["1s","5s"],"jitter":0.2}. No digit is lost, but beside a List the
// fields it replaces are left out. It fails only on a number that is not finite.
func (p Policy) MarshalJSON() ([]byte, error) {
	if len(p.List) > 0 {
		return json.Marshal(backoff{List: words(p.List), Jitter: &p.Jitter})
	}
	initial, most := p.Initial.String(), p.Max.String()
	return json.Marshal(backoff{Initial: &initial, Factor: &p.Factor, Max: &most, Jitter: &p.Jitter})
}

func words(list []time.Duration) []string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = d.String()
	}
	return out
}

// UnmarshalJSON reads what MarshalJSON writes, and a plain array as the list.
// What is not there has its value from Default. It looks at the form only; call
// Validate for the values. After an error, and for null, p is unchanged.
func (p *Policy) UnmarshalJSON(src []byte) error {
	if bytes.Equal(src, []byte("null")) {
		return nil // by the convention of encoding/json
	}
	b, err := readBackoff(src)
	if err != nil {
		return err
	}
	read, err := b.policy()
	if err != nil {
		return err
	}
	*p = read
	return nil
}

func readBackoff(src []byte) (b backoff, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(src), []byte("[")) {
		return b, json.Unmarshal(src, &b.List)
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	return b, d.Decode(&b)
}

func (b backoff) policy() (Policy, error) {
	p := Default()
	if b.Jitter != nil {
		p.Jitter = *b.Jitter
	}
	if b.List != nil {
		return b.listed(p.Jitter)
	}
	return b.grown(p)
}

func (b backoff) listed(jitter float64) (Policy, error) {
	if b.Initial != nil || b.Factor != nil || b.Max != nil {
		return Policy{}, errors.New("list stands beside initial, factor or max: use one or the other")
	}
	if len(b.List) == 0 {
		return Policy{}, errors.New("list is empty")
	}
	p := Policy{Jitter: jitter, List: make([]time.Duration, len(b.List))}
	for i := range b.List {
		if err := parse(&p.List[i], fmt.Sprintf("list entry %d", i+1), &b.List[i]); err != nil {
			return Policy{}, err
		}
	}
	return p, nil
}

func (b backoff) grown(p Policy) (Policy, error) {
	if b.Factor != nil {
		p.Factor = *b.Factor
	}
	if err := parse(&p.Initial, "initial", b.Initial); err != nil {
		return Policy{}, err
	}
	return p, parse(&p.Max, "max", b.Max)
}

// parse sets d from the text of field, if there is one.
func parse(d *time.Duration, field string, text *string) error {
	if text == nil {
		return nil
	}
	read, err := time.ParseDuration(*text)
	if err != nil {
		return fmt.Errorf("%s %q is not a duration such as 1s or 10m", field, *text)
	}
	*d = read
	return nil
}
