package gpustage

// NICs reach parts of user heaps in GPU memory, on this PE and on the others.
//
// If a NIC reaches a user heap in GPU memory, larger puts and gets are one-sided operations on it,
// as on main memory. All other operations stay with the owner's streams, in their order: puts and
// gets that fit a message, signals and atomic operations.
//
// A heap is registered part by part, as it grows. The other PEs learn of each part by a message.
// Until the message arrives, and for bytes that are in two parts, operations use the path for
// memory that no NIC reaches, so no PE waits for another.
//
// Memory that the program lends to the heap (docs/decisions/0038) is removed again by a collective
// call. No PE uses the memory any more when the call begins. Each PE then removes the extents that
// others have announced for that loan, so there is no message for that. Messages about the loan may
// arrive later, or before this PE has begun it. Loans have the same numbers on all PEs, so a PE
// knows when such a message is too late.
//
// A GPU may see the bytes that a NIC has written later than the CPU sees that they have been
// written. Then the owner flushes before it carries out a message, because the message may follow
// such bytes, and before it completes a read into its own memory. One flush covers all bytes that
// have arrived up to a poll. A PE that writes there requests a reply even if completions say that
// bytes have arrived, because the GPU may not see the bytes yet.
//
// heaps owns the registration of this PE's heap, the messages about it, and the extents that other
// PEs have announced. It does not move bytes. All methods are called with the engine's lock held.

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// heaps are the parts of all user heaps that NICs reach.
type heaps struct {
	engine   Engine
	check    mem.Checker
	provider fabric.Provider
	fatal    func(error)
	me       libshmem.PE
	peers    []layout.Peer
	virtual  bool          // remote addresses are addresses of the owner's process
	own      extents       // of this PE
	regions  []heapRegion  // their registrations
	loans    []Loan        // loans that have begun and not ended
	lastLoan Loan          // the last one that has begun
	flush    func()        // makes the GPU see bytes of NICs; nil: not needed
	flushed  bool          // a flush was done in this poll
	heaps    []reachedHeap // of all PEs; nil before Connect
	main     []mem.Remote  // the main memory of each PE that NICs reach
}

// heapRegion is a part of this PE's heap, or a region in GPU memory, that is registered with the
// fabric.
type heapRegion struct {
	fabric.Region
	loan   Loan
	offset uint64 // of its first byte
}

// reachedHeap is the user heap of a PE, as far as that PE has announced it.
type reachedHeap struct {
	extents extents
	flushes bool // the PE has to flush writes of NICs there
}

// newHeaps returns the heaps of the network's PEs, without any parts yet.
func newHeaps(e Engine) *heaps {
	x := e.Shared()
	return &heaps{engine: e, check: x.Checker, provider: x.Provider, fatal: x.Fatal, me: libshmem.PE(x.State.Me), peers: x.Peers, virtual: x.Caps.VirtualAddress}
}

// remote returns the remote address by which other PEs reach an address in a registered region.
func (x *heaps) remote(r *fabric.Region, at unsafe.Pointer) uint64 {
	if x.virtual {
		return uint64(uintptr(at))
	}
	return uint64(uintptr(at) - uintptr(r.Base))
}

// flushBy sets the function to call before anything uses bytes that a NIC has written to the user
// heap. flushBy must be called before Connect, and only if the GPU needs flushes.
func (x *heaps) flushBy(f func()) {
	x.flush = f
	for i := range x.peers {
		x.peers[i].Behind = true // C does not flush, so Go handles all messages
	}
}

// MustFlush reports whether this PE has to flush the writes of NICs to its heap before it uses
// their bytes.
func (x *heaps) MustFlush() bool { return x.flush != nil }

// Flush makes the GPU see the bytes that NICs have written before the completions of this poll.
func (x *heaps) Flush() {
	if x.flush != nil && !x.flushed {
		x.flush()
		x.flushed = true
	}
}

// beginPoll is called when a poll of the engine begins: its completions may need a new flush.
func (x *heaps) beginPoll() { x.flushed = false }

// connect stores the main memory of each PE that NICs reach, when the engine is connected.
func (x *heaps) connect(main []mem.Remote) { x.heaps, x.main = make([]reachedHeap, len(main)), main }

// setExtents sets the parts of a PE's heap that NICs reach, as the PE's endpoint lists them, and
// whether the PE has to flush writes to them. Messages may announce more parts later.
func (x *heaps) setExtents(pe libshmem.PE, known []Extent, flushes bool) {
	x.heaps[pe] = reachedHeap{slices.Clone(known), flushes}
}

// RegisterHeap registers a part of this PE's user heap, from an offset on, with the fabric. After
// Connect it announces the part to the other PEs, unless the part is smaller than extentUnit, the
// unit of sizes in the message. A part that belongs to a loan is registered between the loan's
// BeginLoan and EndLoan.
func (x *heaps) RegisterHeap(offset uint64, loan Loan, m fabric.GPUMemory) error {
	f, err := x.register(Extent{Offset: offset, Size: m.Len, Loan: loan}, m.Base, m)
	if err != nil || x.heaps == nil || f.Size < extentUnit {
		return err
	}
	for i := range x.peers {
		if pe := libshmem.PE(i); x.main[i].Base != mem.Nowhere && x.engine.Lost(pe) == nil && pe != x.me {
			sendOrQueue(x.engine, noOperation, pe, x.announce(&f))
		}
	}
	return x.heaps[x.me].extents.add(f)
}

// register registers memory m of this PE with the fabric, and returns the extent f, which begins at
// the address base in m, with the address and key by which other PEs reach it.
func (x *heaps) register(f Extent, base unsafe.Pointer, m fabric.GPUMemory) (Extent, error) {
	r, err := x.provider.RegisterGPU(m)
	if err != nil {
		return Extent{}, err
	}
	f.Remote, f.Key = x.remote(&r, base), r.Key
	if err := x.own.add(f); err != nil {
		_ = x.provider.Unregister(r) // the caller gets the first error
		return Extent{}, err
	}
	x.regions = append(x.regions, heapRegion{r, f.Loan, f.Offset})
	return f, nil
}

// RegisterRegion registers memory m, which contains a region of this PE (mem.Regions) of n bytes at
// base, with the fabric, and returns the extent by which other PEs reach the region. Its owner
// sends the extent to them, and they call SetRegion.
func (x *heaps) RegisterRegion(number uint32, base unsafe.Pointer, n uint64, m fabric.GPUMemory) (Extent, error) {
	return x.register(Extent{Offset: uint64(mem.InRegion(number, 0)), Size: n}, base, m)
}

// UnregisterRegion undoes RegisterRegion.
func (x *heaps) UnregisterRegion(number uint32) error {
	offset := uint64(mem.InRegion(number, 0))
	x.own.remove(offset)
	return x.unregister(func(r heapRegion) bool { return r.offset == offset })
}

// SetRegion sets how the fabric reaches a region of a PE in GPU memory, and whether the PE has to
// flush writes to it. With remote nil the fabric does not reach the region, which may have been
// another one before.
func (x *heaps) SetRegion(pe libshmem.PE, number uint32, remote *Extent, flushes bool) {
	of, offset := &x.heaps[pe], uint64(mem.InRegion(number, 0))
	of.extents.remove(offset)
	if remote != nil {
		_ = of.extents.add(Extent{Offset: offset, Size: remote.Size, Remote: remote.Remote, Key: remote.Key}) // regions do not overlap
		of.flushes = flushes
	}
}

// UnregisterHeap undoes all calls of RegisterHeap, before Connect.
func (x *heaps) UnregisterHeap() error {
	err := x.unregister(func(heapRegion) bool { return true })
	x.own = nil
	return err
}

// unregister ends the registrations of this PE's heap for which `which` returns true, all of them
// even if one fails, and returns the errors.
func (x *heaps) unregister(which func(heapRegion) bool) (err error) {
	x.regions = slices.DeleteFunc(x.regions, func(r heapRegion) bool {
		gone := which(r)
		if gone {
			err = errors.Join(err, x.provider.Unregister(r.Region))
		}
		return gone
	})
	return err
}

// BeginLoan records a loan, memory of the program that becomes part of the heap: from now on this
// PE and others may register parts that belong to it. Each PE has the same loans in the same order.
func (x *heaps) BeginLoan(loan Loan) {
	x.lastLoan = loan
	x.loans = append(x.loans, loan)
}

// EndLoan ends this PE's registrations of a loan's memory, and removes the loan's extents, of this
// PE and of the others. All PEs must have stopped using the loan before, and each calls EndLoan.
func (x *heaps) EndLoan(loan Loan) error {
	x.loans = slices.DeleteFunc(x.loans, func(l Loan) bool { return l == loan })
	x.own.removeLoan(loan)
	for i := range x.heaps {
		x.heaps[i].extents.removeLoan(loan)
	}
	return x.unregister(func(r heapRegion) bool { return r.loan == loan })
}

// ended reports whether this PE has ended a loan (memory of the program that was part of the heap
// for a while). A message about that loan comes too late, and the caller ignores it. 0 is no loan.
func (x *heaps) ended(loan Loan) bool {
	return loan != 0 && !loan.after(x.lastLoan) && !slices.Contains(x.loans, loan)
}

// extentUnit is the unit of an extent's size in a message. The bytes of an extent after the last
// whole unit use the path for memory that no NIC reaches.
const extentUnit = 4096

// announce returns the message that announces an extent, a part of this PE's heap that NICs reach.
// The message has no field of its own for each value: the number of the loan is in Op and Width,
// the size in units of extentUnit in Token, and Fetch is 1 if writes have to be flushed.
func (x *heaps) announce(f *Extent) layout.Header {
	h := layout.Header{
		Kind: layout.KindExtent, Op: fabric.Op(f.Loan >> 8), Width: uint8(f.Loan), Offset: libshmem.Offset(f.Offset),
		Operand: f.Remote, Extra: f.Key, Token: uint32(min(f.Size/extentUnit, 1<<32-1)),
	}
	if x.flush != nil {
		h.Fetch = 1
	}
	return h
}

// handleExtent handles a message that announces an extent of another PE's heap: from now on
// one-sided operations may use it. It ignores an extent of a loan that has ended.
func (x *heaps) handleExtent(h *layout.Header) {
	if h.Offset < 0 || h.Token == 0 {
		x.check.FailMalformed(h)
		return
	}
	o := &x.heaps[h.From]
	o.flushes = h.Fetch != 0
	loan := Loan(h.Op)<<8 | Loan(h.Width)
	if x.ended(loan) {
		return
	}
	if err := o.extents.add(Extent{uint64(h.Offset), uint64(h.Token) * extentUnit, h.Operand, h.Extra, loan}); err != nil {
		x.fatal(fmt.Errorf("receive: PE %d: %w", h.From, err))
	}
}

// region returns the region that contains n bytes at p of this PE's heap, or nil.
func (x *heaps) region(p unsafe.Pointer, n uint64) *fabric.Region {
	for i := range x.regions {
		r := &x.regions[i].Region
		if at := uint64(uintptr(p) - uintptr(r.Base)); at < r.Len && n <= r.Len-at {
			return r
		}
	}
	return nil
}

// Regions returns the number of registered parts of this PE's heap.
func (x *heaps) Regions() int { return len(x.regions) }

// ownExtents returns the registered parts of this PE's heap.
func (x *heaps) ownExtents() []Extent { return slices.Clone(x.own) }

// Extents returns the parts of a PE's heap that this PE knows.
func (x *heaps) Extents(pe libshmem.PE) []Extent { return x.heaps[pe].extents }

// find returns the part of a PE's heap that contains n bytes at an offset, or nil.
func (x *heaps) find(pe libshmem.PE, offset libshmem.Offset, n uint64) *Extent {
	return x.heaps[pe].extents.find(offset, n)
}

// Covers reports whether all of n bytes at an offset of a PE's heap are in known parts of it.
func (x *heaps) Covers(pe libshmem.PE, offset libshmem.Offset, n uint64) bool {
	return x.heaps[pe].extents.covers(offset, n)
}

// Part returns how many of n bytes can move as one operation: neither side's NIC can cross from one
// registered part of a heap to the next. The bytes begin at an offset of a PE's heap and at a local
// address.
func (x *heaps) Part(pe libshmem.PE, offset libshmem.Offset, local unsafe.Pointer, n uint64) uint64 {
	if rest := x.heaps[pe].extents.bytesLeft(offset); rest > 0 {
		n = min(n, rest)
	}
	if r := x.region(local, 1); r != nil {
		n = min(n, r.Len-uint64(uintptr(local)-uintptr(r.Base)))
	}
	return n
}

// Flushes reports whether a PE has to flush writes of NICs at an offset of its heap.
func (x *heaps) Flushes(pe libshmem.PE, offset libshmem.Offset) bool {
	return offset >= 0 && x.heaps[pe].flushes && x.find(pe, offset, 1) != nil
}

// Aim sets the remote address and key of an operation at an offset of a PE's heap to those of the
// registered part of GPU memory that contains all of its bytes. If there is none, because the bytes
// are in main memory or NICs do not reach them, it leaves both as the caller has set them.
func (x *heaps) Aim(op *fabric.RMA, offset libshmem.Offset) {
	if offset < 0 {
		return
	}
	if f := x.find(op.PE, offset, op.Len); f != nil {
		op.Remote, op.Key = f.Remote+uint64(offset)-f.Offset, f.Key
	}
}
