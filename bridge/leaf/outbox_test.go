package leaf

import (
	"bytes"
	"testing"
)

// What is put comes out in order, however it lies over the pieces, and the memory of a rush is used again, but for a
// few pieces.
func TestOutboxPieces(t *testing.T) {
	o := newOutbox(64 * writeChunk)
	var list [][]byte
	first := map[*byte]bool{}
	for round := range 20 {
		var want []byte
		for i, size := range []int{1, writeChunk - 1, 1, 3*writeChunk + 5, 0, 17, 4 * writeChunk} {
			p := bytes.Repeat([]byte{byte('a' + i)}, size)
			want = append(want, p...)
			if err := o.put(p, 0); err != nil {
				t.Fatal(err)
			}
			o.line("PO", "NG")
			want = append(want, "PONG\r\n"...)
		}
		var got []byte
		list = o.take(list)
		for i, p := range list {
			if i < len(list)-1 && len(p) != writeChunk || cap(p) != writeChunk {
				t.Errorf("round %d: piece %d has %d of %d bytes", round, i, len(p), cap(p))
			}
			first[&p[:1][0]] = true
			got = append(got, p...)
			o.wrote(p)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("round %d: other bytes come out", round)
		}
		if o.size != 0 || o.flying != 0 || len(o.spare) != keepPieces {
			t.Errorf("round %d: %d bytes wait, %d fly, %d pieces are kept", round, o.size, o.flying, len(o.spare))
		}
	}
	if over := 10 - keepPieces; len(first) > keepPieces+20*over {
		t.Errorf("%d pieces were made", len(first))
	}
}
