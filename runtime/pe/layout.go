package pe

// The internal area of a slice ends where the user heap begins:
//
//	| scratch | inbox | control page | user heap ...
//
// so that every part is at the same negative offset on every PE.
const (
	controlPage = 4096

	// ControlOffset is the distance from the control page to the user heap.
	ControlOffset = controlPage

	inboxWord = 8

	cacheLine = 64

	// Scratch slots: a small reduction puts one contribution of each PE into
	// the slots of every other. The whole is kept near 64 KiB, so that slots
	// are large where there are few PEs.
	scratchTarget  = 64 << 10
	largestSlot    = 2048
	smallestSlot   = cacheLine
	scratchBuffers = 2
)

// Layout is the internal area of a job of n PEs, in bytes below the user heap.
type Layout struct {
	InboxOffset   uint64
	ScratchOffset uint64
	ScratchSize   uint64
	Internal      uint64 // the whole area
}

// NewLayout divides the internal area for n PEs.
func NewLayout(n int) Layout {
	pes := uint64(n)
	slot := min(max(scratchTarget/pes/cacheLine*cacheLine, smallestSlot), largestSlot)
	l := Layout{ScratchSize: scratchBuffers * slot * pes}
	l.InboxOffset = ControlOffset + roundUp(pes*inboxWord, cacheLine)
	l.ScratchOffset = l.InboxOffset + l.ScratchSize
	l.Internal = roundUp(l.ScratchOffset, controlPage)
	return l
}

func roundUp(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }
