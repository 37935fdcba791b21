package queue

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestReadRecords: every record of random lives can be read as text and as JSON.
func TestReadRecords(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(12) {
		for _, e := range someLog(t, seed) {
			bytes := 0
			err := ReadRecords(e.data, func(r Record) error {
				kinds[r.Kind]++
				if r.Offset < bytes {
					t.Errorf("%v is at byte %d", r, r.Offset)
				}
				bytes = r.Offset + 1
				if text := r.String(); !strings.HasPrefix(text, r.Kind) || strings.ContainsRune(text, '\n') {
					t.Errorf("%q is not a line", text)
				}
				return readable(r)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, kind := range []string{"clock", "store", "queue", "publish", "deliver", "fail", "remove", "die", "carried"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s was read: %v", kind, kinds)
		}
	}
	if err := ReadRecords([]byte{kindDeliver, 9, 0, 0, 0}, func(Record) error { return nil }); err == nil {
		t.Error("a record that is cut short is read")
	}
}

// readable tells whether a record is a JSON object.
func readable(r Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, &map[string]any{})
}

func FuzzReadRecords(f *testing.F) {
	for seed := range uint64(4) {
		for _, e := range someLog(f, seed) {
			f.Add(e.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, mend(data)} {
			// An error is as good: what must not be is a panic, or what is not JSON.
			_ = ReadRecords(data, func(r Record) error {
				if err := readable(r); err != nil {
					t.Errorf("%v: %v", r, err)
				}
				return nil
			})
		}
	})
}
