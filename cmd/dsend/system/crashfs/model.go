//go:build linux

package crashfs

import "math/rand/v2"

// Data says which writes that were not synced a cut leaves.
type Data string

// Names says which names that were not synced a cut leaves.
type Names string

// The models; doc.go says what each leaves.
const (
	Nothing Data = "nothing"
	Torn    Data = "torn"
	Pieces  Data = "pieces"
	Garbage Data = "garbage"

	Strict  Names = "strict"
	Ordered Names = "ordered"
	Subset  Names = "subset"
)

// Model is what a cut does.
type Model struct {
	Data  Data
	Names Names
}

// String is data/names.
func (m Model) String() string { return string(m.Data) + "/" + string(m.Names) }

// Models are all twelve.
func Models() (all []Model) {
	for _, data := range []Data{Nothing, Torn, Pieces, Garbage} {
		for _, names := range []Names{Strict, Ordered, Subset} {
			all = append(all, Model{data, names})
		}
	}
	return all
}

// pieceSize is how much of a file reaches the disk whole or not at all.
const pieceSize = 4096

// leave gives what of the changes to a file the disk has after a cut, where it had disk before.
func (m Data) leave(rng *rand.Rand, disk []byte, changes []change) []byte {
	if len(changes) == 0 {
		return disk
	}
	switch m {
	case Torn:
		return torn(rng, disk, changes)
	case Pieces, Garbage:
		return pieces(rng, disk, changes, m == Garbage)
	}
	return disk
}

// torn applies the first changes, and a part of the next one.
func torn(rng *rand.Rand, disk []byte, changes []change) []byte {
	whole := rng.IntN(len(changes) + 1)
	for _, c := range changes[:whole] {
		disk = c.apply(disk)
	}
	if whole < len(changes) && len(changes[whole].data) > 0 {
		c := changes[whole]
		disk = change{offset: c.offset, data: c.data[:rng.IntN(len(c.data))]}.apply(disk)
	}
	return disk
}

// pieces applies any pieces of any changes. The length of the file may be on the disk without what it was made for.
func pieces(rng *rand.Rand, disk []byte, changes []change, garbage bool) []byte {
	old := int64(len(disk))
	long := old
	for _, c := range changes {
		if c.data == nil {
			if rng.IntN(2) == 0 {
				disk, long = c.apply(disk), c.offset
			}
			continue
		}
		for p := range c.pieces {
			if rng.IntN(2) == 0 {
				disk = p.apply(disk)
			} else if garbage && p.offset >= old && rng.IntN(2) == 0 {
				disk = change{p.offset, noise(rng, len(p.data))}.apply(disk)
			}
		}
		long = max(long, c.offset+int64(len(c.data)))
	}
	if long > int64(len(disk)) && rng.IntN(2) == 0 {
		disk = change{offset: long}.apply(disk)
	}
	return disk
}

func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// leave tells for each of n names that were not synced, in order, whether the disk has it.
func (m Names) leave(rng *rand.Rand, n int) func(i int) bool {
	switch m {
	case Ordered:
		first := rng.IntN(n + 1)
		return func(i int) bool { return i < first }
	case Subset:
		return func(int) bool { return rng.IntN(2) == 0 }
	}
	return func(int) bool { return false }
}
