package dlq

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// picks is a Filter in JSON; its ages are durations such as "1h30m". The reasons
// are strings because encoding/json would read a slice of bytes, whatever it calls
// them, from base64 too.
type picks struct {
	Reasons     []string `json:"reasons,omitempty"`
	Error       string   `json:"error,omitempty"`
	Subject     string   `json:"subject,omitempty"`
	OlderThan   string   `json:"older_than,omitempty"`
	NewerThan   string   `json:"newer_than,omitempty"`
	FirstSeq    uint64   `json:"first_seq,omitempty"`
	LastSeq     uint64   `json:"last_seq,omitempty"`
	OriginQueue string   `json:"origin_queue,omitempty"`
}

// MarshalJSON writes the fields that are set, by their names in snake_case; ages
// as durations: {"reasons":["expired"],"older_than":"1h0m0s"}.
func (f Filter) MarshalJSON() ([]byte, error) {
	return json.Marshal(picks{
		formatReasons(f.Reasons), f.Error, f.Subject, formatAge(f.OlderThan), formatAge(f.NewerThan),
		f.FirstSeq, f.LastSeq, f.OriginQueue,
	})
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses unknown fields, unknown
// reasons and bad durations; whether the values make sense is Validate's to say.
// After an error, and for null, f is unchanged.
func (f *Filter) UnmarshalJSON(src []byte) error {
	if bytes.Equal(src, []byte("null")) {
		return nil // by the convention of encoding/json
	}
	var p picks
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return err
	}
	read, err := p.filter()
	if err == nil {
		*f = read
	}
	return err
}

func (p picks) filter() (Filter, error) {
	reasons, err := parseReasons(p.Reasons)
	if err != nil {
		return Filter{}, err
	}
	older, err := parseAge("older_than", p.OlderThan)
	if err != nil {
		return Filter{}, err
	}
	newer, err := parseAge("newer_than", p.NewerThan)
	if err != nil {
		return Filter{}, err
	}
	return Filter{reasons, p.Error, p.Subject, older, newer, p.FirstSeq, p.LastSeq, p.OriginQueue}, nil
}

func formatReasons(reasons []Reason) (words []string) {
	for _, r := range reasons {
		words = append(words, r.String())
	}
	return words
}

func parseReasons(words []string) (reasons []Reason, err error) {
	for _, word := range words {
		r, err := ParseReason(word)
		if err != nil {
			return nil, err
		}
		reasons = append(reasons, r)
	}
	return reasons, nil
}

func formatAge(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func parseAge(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not a duration such as 90s or 24h", field, text)
	}
	return d, nil
}
