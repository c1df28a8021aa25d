package network

import (
	"libshmem"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/proxy/layout"
)

// Eager has the limits of the network for the host's eager transfers (docs/guides/eager.md): puts
// of tokens, each with its own signals among its bytes.
type Eager struct {
	Message  int    // the most bytes of a put that is sent as a message: the target's processor stores its bytes, in no order
	Notified uint64 // the most bytes of a write that carries a notification; 0: no write does
}

// Eager returns the limits for eager transfers. With a GPU notifications are messages: before
// it counts one, the target may have to flush what a NIC has written to GPU memory.
func (nw *Network) Eager() Eager {
	e := Eager{Message: layout.MaxPayload}
	if nw.GPU.Device == nil && nw.Engine.WriteWindow() > 0 { // else writes have no numbers
		c := nw.Engine.Caps()
		e.Notified = c.Notified()
	}
	return e
}

// ownTile returns the size of the largest tile that endpoint i keeps on the paths from and to this
// PE's heap: 4096, 128 or 0 bytes. A tile is a block of an eager token with a signal inside. A path
// keeps it if a reader that sees the signal sees the whole block. The endpoint keeps no tile if the
// CPU or a copy engine moves the bytes in between.
func (nw *Network) ownTile(i int) int {
	// guaranteed has the bytes that the user says the network shows in order (SHMEM_ORDERED_BYTES);
	// -1: what the network reports counts.
	c, guaranteed := nw.Engines[i].Caps(), nw.Settings.Ordered.Bytes()
	switch {
	case nw.GPU.Device == nil:
		return c.Tile(guaranteed)
	case nw.inGPU() && nw.GPU.NICs.InOrder(i):
		return c.GPUTile(guaranteed)
	}
	return 0
}

// agreeTiles stores the size of the largest tile that writes to each PE keep, once the endpoints of
// all PEs are known: the smaller of what the two endpoints keep. It is 0 if one heap is in main
// memory and the other in the memory of a GPU, because the source of an eager token is a buffer of
// the host on a PE of the first kind, and of kernels on one of the second.
func (nw *Network) agreeTiles(all [][]meet.EndpointInfo) {
	nw.tiles = make([]int, len(all))
	mine := all[nw.Me]
	for pe, theirs := range all {
		tile := mine[0].Tile
		for i := range theirs {
			tile = min(tile, mine[i].Tile, theirs[i].Tile)
		}
		if theirs[0].Device == mine[0].Device {
			nw.tiles[pe] = tile
		}
	}
}

// Tile returns the size of the largest tile of writes to the heap of a PE, for eager transfers: the
// bytes of an aligned tile become visible there all at once. 0: no tile does. In GPU memory that
// holds only where NICs reach the memory (Reaches).
func (nw *Network) Tile(pe libshmem.PE) int {
	if nw == nil || nw.Heaps.Copies(pe) {
		return 0
	}
	return nw.tiles[pe]
}

// Reaches reports whether the NICs of every endpoint reach n bytes of a PE's heap in GPU memory. It
// knows only the registrations that the PE has announced so far.
func (nw *Network) Reaches(pe libshmem.PE, offset libshmem.Offset, n uint64) bool {
	for i, e := range nw.Engines {
		reached := false
		if s := nw.stages[i]; s != nil {
			e.WithLock(func() { reached = s.Covers(pe, offset, n) })
		}
		if !reached {
			return false
		}
	}
	return true
}

// Ordered reports whether a signal of the host arrives after the bytes of all puts before it on its
// context. The signal of a put is a message even if its bytes are a write. Bytes of GPU memory may
// be staged, here or at the target, and then arrive when they have been copied.
func (nw *Network) Ordered() bool {
	return nw.stages[0] == nil && nw.Engine.Caps().SendAfterWrite
}

// SignalsInOrder reports whether the signals of the host's puts that are one-sided writes are
// applied in the order of the puts on their context: the network keeps the order, or each signal
// waits at the target for all writes before it.
func (nw *Network) SignalsInOrder() bool {
	return nw.Ordered() || nw.stages[0] == nil && nw.Engine.AllNumbered()
}
