package retry

import "math/bits"

// hash mixes a message id and an attempt into 64 even bits. Ids and attempts
// are small and consecutive, so each goes through the finaliser by itself:
// neighbours then have nothing in common, and (1,2) nothing with (2,1).
func hash(id, attempt uint64) uint64 {
	return mix(mix(id) + attempt)
}

// mix is one step of splitmix64 (Vigna, https://prng.di.unimi.it/splitmix64.c):
// a bijection in which every bit of x changes each bit of the result with
// probability one half.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// spread maps 64 even bits evenly onto 0 to span, both inclusive. The high half
// of the product does this for any span without a division.
func spread(even, span uint64) uint64 {
	hi, _ := bits.Mul64(even, span+1)
	return hi
}
