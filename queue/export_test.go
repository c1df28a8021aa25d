package queue

// NewAt makes the consumer of a ring of any power of two of slots, whose next
// position is start.
func NewAt(m Memory, n int, start uint64) *Ring {
	r := newRing(m, n)
	r.pos = start
	return r
}

// SlotsOf returns the number of slots that an operation takes.
func SlotsOf(c Code) int { return int(slotsOf[c]) }

// Codes is the number of codes that a slot can hold.
const Codes = len(slotsOf)
