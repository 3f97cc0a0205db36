package actortest

import (
	"math/rand/v2"

	"pgregory.net/rapid"
)

// Tape draws the faults of one history. It shrinks towards fewer of them: a failing history keeps the beginning that it
// needs.
func Tape(t *rapid.T) []byte {
	return Expand(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 255).Draw(t, "calm"), rapid.IntRange(0, 3000).Draw(t, "faults until"))
}

// Expand makes a tape of n bytes from a seed; of 256 bytes, about calm mean "no fault".
func Expand(seed uint64, calm, n int) []byte {
	r := rand.New(rand.NewPCG(seed, seed))
	bytes := make([]byte, n)
	for i := range bytes {
		if r.IntN(256) >= calm {
			bytes[i] = byte(r.Uint32())
		}
	}
	return bytes
}
