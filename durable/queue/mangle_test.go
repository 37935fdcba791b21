package queue

import (
	"fmt"
	"testing"

	"dsend/testkit"
)

// TestMangledLogs takes logs of ours and loses, doubles, exchanges and alters
// records in them, with the checksums made right again. No log of ours is like
// that, but neither a panic nor a hang may come of it.
func TestMangledLogs(t *testing.T) {
	c := seeded{testkit.Dice(t)}
	const logs, each = 6, 200
	refused := 0
	for range logs {
		log := someLog(t, c.Uint64())
		for range each {
			records := loosen(log)
			for range 1 + c.n(4) {
				records = mangle(c, records)
			}
			if s, err := takeUp(records); err != nil {
				refused++
			} else {
				liveOn(s)
			}
		}
	}
	if refused == 0 || refused == logs*each {
		t.Errorf("%d of %d logs are refused: nothing is tried", refused, logs*each)
	}
}

// loose is a record and the commit it is in.
type loose struct {
	commit uint64
	data   []byte
}

func loosen(log []entry) (records []loose) {
	for _, e := range log {
		for rest := e.data; len(rest) > 0; {
			_, _, size, err := split(rest)
			if err != nil {
				panic(err)
			}
			records = append(records, loose{e.number, append([]byte(nil), rest[:size]...)})
			rest = rest[size:]
		}
	}
	return records
}

func mangle(c choice, records []loose) []loose {
	i, k := c.n(len(records)), c.n(len(records))
	switch c.n(5) {
	case 0: // lost
		n := min(1+c.n(5), len(records)-i)
		if n == len(records) {
			return records
		}
		return append(records[:i:i], records[i+n:]...)
	case 1: // twice
		return append(records[:i:i], append([]loose{records[k]}, records[i:]...)...)
	case 2: // in another order
		records[i].data, records[k].data = records[k].data, records[i].data
	case 3: // one number is another
		if data := records[i].data; len(data) > headSize {
			at := headSize + c.n(len(data)-headSize)
			data[at] = pick(c, 0, 1, 2, 3, data[at]+1, data[at]^0x80, 0xff)
			records[i].data = mend(data)
		}
	case 4: // the front is lost, and nothing was carried forward
		return records[min(i, len(records)-1):]
	}
	return records
}

func takeUp(records []loose) (*State, error) {
	s := New(testConfig())
	var out Out
	for _, r := range records {
		if err := s.Recover(r.commit, r.data, &out); err != nil {
			return nil, fmt.Errorf("commit %d: %w", r.commit, err)
		}
	}
	return s, s.Recovered()
}
