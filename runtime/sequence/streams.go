package sequence

import "fmt"

// Streams numbers the flows of writes that lead to this PE, and finds the flow of a number. K
// identifies a flow: a PE, or a PE and a context.
type Streams[K comparable] struct {
	limit uint32       // all numbers are below it
	of    map[K]uint32 // the number of each flow
	to    []K          // the flow of each number
	used  []bool       // by number
	free  []uint32     // the numbers of closed flows
}

// NewStreams makes a Streams with the numbers below limit: 1 << (32 - Space.Bits) for immediate
// data of 4 bytes.
func NewStreams[K comparable](limit uint32) *Streams[K] {
	return &Streams[K]{limit: limit, of: map[K]uint32{}}
}

// Open returns the stream number of a flow, which stays the same until Close. It returns false if
// no number is left.
func (s *Streams[K]) Open(k K) (uint32, bool) {
	if n, ok := s.of[k]; ok {
		return n, true
	}
	var n uint32
	switch last := len(s.free) - 1; {
	case last >= 0:
		n, s.free = s.free[last], s.free[:last]
		s.to[n] = k
	case uint32(len(s.to)) < s.limit:
		n = uint32(len(s.to))
		s.to, s.used = append(s.to, k), append(s.used, false)
	default:
		return 0, false
	}
	s.of[k], s.used[n] = n, true
	return n, true
}

// Close releases the number of a flow that will write no more and has no write under way.
func (s *Streams[K]) Close(k K) {
	if n, ok := s.of[k]; ok {
		delete(s.of, k)
		s.used[n], s.free = false, append(s.free, n)
	}
}

// Of returns the flow that has a number.
func (s *Streams[K]) Of(number uint32) (K, error) {
	if uint64(number) >= uint64(len(s.to)) || !s.used[number] {
		var none K
		return none, fmt.Errorf("%w: stream %d has no flow", ErrNumbers, number)
	}
	return s.to[number], nil
}
