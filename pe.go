package libshmem

import "iter"

// PE is the number of a processing element in its job, and the index of its address in a network's
// address vector. A PE's number in a team or on a node is not a PE but an int.
type PE int32

// NoPE means that no PE is known.
const NoPE PE = -1

// In reports whether a job of n PEs has a PE of this number.
func (pe PE) In(n int) bool { return pe >= 0 && int(pe) < n }

// ByPE ranges over a slice that has one element for each PE of a job: the PE, and its element.
func ByPE[E any](s []E) iter.Seq2[PE, E] {
	return func(yield func(PE, E) bool) {
		for pe, e := range s {
			if !yield(PE(pe), e) {
				return
			}
		}
	}
}
