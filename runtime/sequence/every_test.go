package sequence

import (
	"flag"
	"testing"

	"libshmem/tests/part"
)

var (
	length = flag.Int("order.length", 3, "TestExploreEvery takes every program of up to so many operations")
	piece  = part.Flag("order.part", "each of which takes another n-th of them")
)

// few are windows and numbers that a short program fills and wraps.
var few = []Space{{Bits: 2, Window: 1}, {Bits: 2, Window: 2}, {Bits: 3, Window: 2}, {Bits: 3, Window: 3}, {Bits: 3, Window: 4}}

// TestExploreEvery goes through every order of events of every short program. The programs of
// TestExplore are longer ones, chosen by hand.
func TestExploreEvery(t *testing.T) {
	if 2*(*length) > most {
		t.Fatalf("-order.length=%d: a program has at most %d writes and messages", *length, most)
	}
	count, states := 0, 0
	const letters = "wsmfq"
	for size, every := 1, len(letters); size <= *length; size, every = size+1, every*len(letters) {
		for i := range every {
			ops := make([]byte, size)
			for at, rest := 0, i; at < size; at, rest = at+1, rest/len(letters) {
				ops[at] = letters[rest%len(letters)]
			}
			for j, space := range few {
				// Numbers begin anywhere: at nought, and where the counter of 32 bits ends.
				for start := range uint32(2) {
					if count++; !piece.Has(uint64(count)) {
						continue
					}
					p := &program{space, -(2 * start), string(ops)}
					m, err := explore(p, sound)
					if err != nil {
						t.Fatalf("%v, space %d: %v", *p, j, err)
					}
					states += m
				}
			}
		}
	}
	t.Logf("%d programs in all, of which part %s has %d states: no violation", count, piece, states)
}
