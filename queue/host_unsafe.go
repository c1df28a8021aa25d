package queue

import (
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Host is a set of rings for the threads of this process and their shared state, in one mapping
// outside Go's heap.
type Host struct {
	State *State
	Peers []Peer
	Rings []*Ring
	descs []Desc
	base  unsafe.Pointer
	size  uintptr
}

// line is the distance between words of different writers: two cache lines, because processors
// fetch them in pairs.
const line = 128

// NewHost makes the rings for the threads of this process: count rings of n slots each, and a state
// that describes them, for a job of npes PEs. The entries of Peers are zero; the caller fills them.
func NewHost(count, n, npes int) (*Host, error) {
	if err := checkSize(n); err != nil {
		return nil, err
	}
	// part reserves bytes of the mapping that is made below, and returns their offset in it.
	var size uintptr
	part := func(bytes uintptr) uintptr {
		at := size
		size += (bytes + line - 1) &^ (line - 1)
		return at
	}
	state := part(unsafe.Sizeof(State{}))
	peers := part(uintptr(npes) * unsafe.Sizeof(Peer{}))
	descs := part(uintptr(count) * unsafe.Sizeof(Desc{}))
	type place struct{ line, near, replies, slots, cells uintptr }
	places := make([]place, count)
	for i := range places {
		places[i] = place{part(unsafe.Sizeof(Progress{})), part(uintptr(NearBytes)), part(uintptr(ReplyBytes)), part(uintptr(SlotBytes(n))), part(uintptr(CellsBytes))}
	}
	base, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map %d rings of %d slots: %w (lower SHMEM_RING_COUNT or SHMEM_RING_SIZE)", count, n, err)
	}
	at := func(offset uintptr) unsafe.Pointer { return unsafe.Add(base, offset) }
	h := &Host{
		State: (*State)(at(state)), Peers: unsafe.Slice((*Peer)(at(peers)), npes), descs: unsafe.Slice((*Desc)(at(descs)), count),
		base: base, size: size,
	}
	*h.State = State{
		Version: Version, Size: uint32(unsafe.Sizeof(State{})), NPEs: int32(npes),
		Peers: at(peers), Rings: at(descs), RingCount: uint32(count),
	}
	for i, p := range places {
		m := Memory{Slots: at(p.slots), Line: (*Progress)(at(p.line)), Replies: at(p.replies), Cells: at(p.cells)}
		h.Rings = append(h.Rings, newRing(m, n))
		h.descs[i] = Desc{
			Slots: m.Slots, Line: unsafe.Pointer(m.Line), Replies: m.Replies, Near: at(p.near), Cells: m.Cells,
			Log2Slots: uint32(bits.TrailingZeros(uint(n))), Log2Replies: uint32(bits.TrailingZeros(Replies)),
		}
	}
	return h, nil
}

// Wake sets the C function that producers of ring i call when its consumer sleeps, and the
// function's argument, which is not memory of Go.
func (h *Host) Wake(i int, function, argument unsafe.Pointer) {
	h.descs[i].Wake, h.descs[i].WakeArg = function, argument
}

// Close stops the rings and unmaps them. Preconditions: no producer uses them any more.
func (h *Host) Close() error {
	for _, r := range h.Rings {
		r.Stop()
	}
	return unix.MunmapPtr(h.base, h.size)
}
