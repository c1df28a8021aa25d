package sequence

import "fmt"

// In is the target's state of a flow: it counts which numbered writes of one PE have arrived.
type In struct {
	space Space
	edge  uint32   // all writes with a lower number have arrived
	seen  []uint64 // a ring of bits: which writes from the edge on have arrived
}

// NewIn makes the target's state of a flow that has had no write. It takes memory for Space.Window
// bits.
func NewIn(s Space) *In { return InAt(s, 0) }

// InAt makes the target's state of a flow of which the first `edge` writes have arrived.
func InAt(s Space, edge uint32) *In {
	size := uint32(64) // bits of the ring, a power of two
	for size < s.Window {
		size *= 2
	}
	return &In{space: s, edge: edge, seen: make([]uint64, size/64)}
}

// Arrive records that the write with this number has arrived: its bytes are in place. It returns an
// error if the number cannot be right.
func (i *In) Arrive(number uint32) error {
	ahead := (number - i.edge) & i.space.mask()
	if ahead >= i.space.Window || i.bit(i.edge+ahead) {
		return fmt.Errorf("%w: write %d arrived when all below %d had arrived", ErrNumbers, number, i.edge)
	}
	i.flip(i.edge + ahead)
	for i.bit(i.edge) {
		i.flip(i.edge)
		i.edge++
	}
	return nil
}

// bit reports whether write n, which is not below the edge, has arrived. seen is a ring of bits.
func (i *In) bit(n uint32) bool {
	n %= uint32(64 * len(i.seen))
	return i.seen[n/64]>>(n%64)&1 != 0
}

// flip changes whether write n counts as arrived.
func (i *In) flip(n uint32) {
	n %= uint32(64 * len(i.seen))
	i.seen[n/64] ^= 1 << (n % 64)
}

// Reached reports whether the target may apply a message that needs the first `need` writes of the
// flow: whether all of them have arrived. A need more than a window beyond the edge is an error.
func (i *In) Reached(need uint32) (bool, error) {
	if d := int32(need - i.edge); d <= 0 {
		return true, nil
	} else if uint32(d) > i.space.Window {
		return false, fmt.Errorf("%w: a message follows %d writes when all below %d had arrived", ErrNumbers, need, i.edge)
	}
	return false, nil
}

// Ack returns the acknowledgement for messages to the sender: all writes below it have arrived.
func (i *In) Ack() uint32 { return i.edge }
