package sequence

import "fmt"

// Streams gives numbers to flows that lead to this PE, and finds the flow of a number. K identifies
// a flow: a PE, or a PE and a context.
type Streams[K comparable] struct {
	most uint32
	of   map[K]uint32
	to   []K // by number
	used []bool
	free []uint32
}

// NewStreams has most numbers to give: 1 << (32 - Space.Bits) with immediate data of 4 bytes.
func NewStreams[K comparable](most uint32) *Streams[K] {
	return &Streams[K]{most: most, of: map[K]uint32{}}
}

// Open gives a flow its number, the same each time. It reports false when none is left.
func (s *Streams[K]) Open(k K) (uint32, bool) {
	if n, ok := s.of[k]; ok {
		return n, true
	}
	var n uint32
	switch last := len(s.free) - 1; {
	case last >= 0:
		n, s.free = s.free[last], s.free[:last]
		s.to[n] = k
	case uint32(len(s.to)) < s.most:
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

// Of returns the flow of a number.
func (s *Streams[K]) Of(number uint32) (K, error) {
	if uint64(number) >= uint64(len(s.to)) || !s.used[number] {
		var none K
		return none, fmt.Errorf("%w: stream %d has no flow", ErrNumbers, number)
	}
	return s.to[number], nil
}
