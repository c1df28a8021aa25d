package sequence

import "fmt"

// In is the target's end of a flow.
type In struct {
	space Space
	edge  uint32   // writes below it are in
	seen  []uint64 // a ring of bits: those from the edge on that are in
}

// NewIn makes the end of a flow that has had no write. It takes memory for
// Space.Window bits.
func NewIn(s Space) *In { return InAt(s, 0) }

// InAt makes the end of a flow that has had edge writes.
func InAt(s Space, edge uint32) *In {
	size := uint32(64)
	for size < s.Window {
		size *= 2
	}
	return &In{space: s, edge: edge, seen: make([]uint64, size/64)}
}

// Arrive takes the number of a write whose bytes are in place.
func (i *In) Arrive(number uint32) error {
	ahead := (number - i.edge) & i.space.mask()
	if ahead >= i.space.Window || i.bit(i.edge+ahead) {
		return fmt.Errorf("%w: write %d came when all below %d were in", ErrNumbers, number, i.edge)
	}
	i.flip(i.edge + ahead)
	for i.bit(i.edge) {
		i.flip(i.edge)
		i.edge++
	}
	return nil
}

func (i *In) bit(n uint32) bool {
	n %= uint32(64 * len(i.seen))
	return i.seen[n/64]>>(n%64)&1 != 0
}

func (i *In) flip(n uint32) {
	n %= uint32(64 * len(i.seen))
	i.seen[n/64] ^= 1 << (n % 64)
}

// Reached reports whether a message that carries need may be applied.
func (i *In) Reached(need uint32) (bool, error) {
	if d := int32(need - i.edge); d <= 0 {
		return true, nil
	} else if uint32(d) > i.space.Window {
		return false, fmt.Errorf("%w: a message follows %d writes when all below %d were in", ErrNumbers, need, i.edge)
	}
	return false, nil
}

// Ack returns the number for messages to the sender: writes below it are in.
func (i *In) Ack() uint32 { return i.edge }
