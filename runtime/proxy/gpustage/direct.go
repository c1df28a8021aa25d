package gpustage

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// If a NIC reaches a user heap in GPU memory, larger puts and gets are one-sided operations on it,
// as on main memory. All other operations stay with the owner's streams, in their order: those that
// fit a message, signals and atomic operations.
//
// A heap is registered part by part, as it grows. The other PEs learn of each part by a message.
// Until the message comes, and for bytes that lie in two parts, operations take the path of memory
// that no NIC reaches, so no PE waits for another.
//
// Memory that the program lends to the heap (docs/decisions/0038) goes away again, by a collective
// call. No PE uses the memory any more when the call begins. Each PE then forgets what the others
// have told it of that loan, so there is no message for that. Messages about the loan may come
// later, or before this PE has begun it. Loans have the same numbers on all PEs, so a PE knows when
// such a message is too late.
//
// A GPU may see the bytes that a NIC has written later than the CPU sees that they have been
// written. Then the owner flushes before it does what a message asks for, because the message may
// follow such bytes, and before it says that a read into its own memory is complete. One flush
// serves all that has come in one turn. A PE that writes there asks for an answer even if
// completions say that bytes have arrived, because the GPU may not see the bytes yet.

// Extent is a part of a user heap in GPU memory that the fabric reaches.
type Extent struct {
	Offset, Size uint64
	Remote       uint64 // remote address of its start
	Key          uint64
	Loan         Loan // the loan that ends the extent
}

// Loan is the number of a loan to the heap; 0 is none. Numbers run from 1 to the last, and then
// from 1 again. A number is later than another if it is ahead by less than half of all numbers: far
// fewer messages than that are on their way between PEs.
type Loan uint16

// Next returns the number after l.
func (l Loan) Next() Loan { return max(l+1, 1) }

func (l Loan) after(m Loan) bool { return int16(l-m) > 0 }

// extents are the extents of one heap, ordered by offset.
type extents []Extent

// behind returns how many extents begin at an offset or before it.
func (x extents) behind(offset uint64) int {
	low, high := 0, len(x)
	for low < high {
		if mid := (low + high) / 2; x[mid].Offset > offset {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// find returns the extent that contains n bytes at an offset.
func (x extents) find(offset int64, n uint64) *Extent {
	i := x.behind(uint64(offset))
	if i == 0 {
		return nil
	}
	f := &x[i-1]
	if o := uint64(offset) - f.Offset; o < f.Size && n <= f.Size-o {
		return f
	}
	return nil
}

// add inserts an extent in its place.
func (x *extents) add(f Extent) error {
	i := x.behind(f.Offset)
	if i > 0 && f.Offset-(*x)[i-1].Offset < (*x)[i-1].Size || i < len(*x) && (*x)[i].Offset-f.Offset < f.Size {
		return fmt.Errorf("a part of the heap from %#x on overlaps another part", f.Offset)
	}
	*x = slices.Insert(*x, i, f)
	return nil
}

// forget drops the extents of a loan.
func (x *extents) forget(loan Loan) {
	*x = slices.DeleteFunc(*x, func(f Extent) bool { return f.Loan == loan })
}

// ownHeap is the part of this PE's user heap that NICs reach.
type ownHeap struct {
	network  Network
	extents  extents
	regions  []region
	loans    []Loan       // begun and not ended
	lastLoan Loan         // the last one that has begun
	flush    func() error // nil: no flush is needed
}

// FlushBy sets the function to call before anything acts on bytes that a NIC has written to the
// user heap. It comes before Connect, if the GPU needs flushes.
func (s *Stage) FlushBy(f func() error) {
	s.flush = f
	for i := range s.peers {
		s.peers[i].Behind = true // C does not flush, so Go takes all messages
	}
}

// RegisterHeap lets the fabric of other PEs reach a part of the user heap, from an offset on. It
// comes after New. After Connect it tells the other PEs, and the lock is held. A part of a loan
// comes between its BeginLoan and its EndLoan.
func (s *Stage) RegisterHeap(offset uint64, loan Loan, m fabric.GPUMemory) error {
	r, err := s.engine.RegisterGPU(m)
	if err != nil {
		return err
	}
	f := Extent{Offset: offset, Size: m.Len, Remote: s.remoteOf(&r, m.Base), Key: r.Key, Loan: loan}
	if err := s.extents.add(f); err != nil {
		_ = s.engine.Unregister(r) // the caller gets the first error
		return err
	}
	s.regions = append(s.regions, region{r, loan})
	if s.lines == nil || f.Size < extentUnit {
		return nil
	}
	for pe := range s.peers {
		if s.engine.Reachable(fabric.PE(pe)) && uint32(pe) != s.state.Me {
			s.engine.Own(fabric.PE(pe), s.announce(&f))
		}
	}
	return s.lines[s.state.Me].extents.add(f)
}

// UnregisterHeap undoes all calls of RegisterHeap, before Connect.
func (o *ownHeap) UnregisterHeap() error {
	err := o.unregister(func(region) bool { return true })
	o.extents = nil
	return err
}

func (o *ownHeap) unregister(which func(region) bool) (err error) {
	o.regions = slices.DeleteFunc(o.regions, func(r region) bool {
		gone := which(r)
		if gone {
			err = errors.Join(err, o.network.Unregister(r.Region))
		}
		return gone
	})
	return err
}

// BeginLoan says that parts of the heap may be registered that belong to a loan, here and by other
// PEs. Each PE has the same loans in the same order. The lock is held.
func (o *ownHeap) BeginLoan(loan Loan) {
	o.lastLoan = loan
	o.loans = append(o.loans, loan)
}

// EndLoan undoes RegisterHeap for a loan, and forgets the extents of the other PEs. They must not
// use the loan any more, and they end it, too. The lock is held.
func (s *Stage) EndLoan(loan Loan) error {
	s.loans = slices.DeleteFunc(s.loans, func(l Loan) bool { return l == loan })
	s.extents.forget(loan)
	for i := range s.lines {
		s.lines[i].extents.forget(loan)
	}
	return s.unregister(func(r region) bool { return r.loan == loan })
}

// over reports whether this PE has ended a loan.
func (o *ownHeap) over(loan Loan) bool {
	return loan != 0 && !loan.after(o.lastLoan) && !slices.Contains(o.loans, loan)
}

// extentUnit is the unit of an extent's size in a message. The rest of an extent that is no
// multiple takes the other path.
const extentUnit = 4096

// announce returns the message about an extent.
func (o *ownHeap) announce(f *Extent) layout.Header {
	h := layout.Header{
		Kind: layout.KindExtent, Op: fabric.Op(f.Loan >> 8), Width: uint8(f.Loan), Offset: int64(f.Offset),
		Operand: f.Remote, Extra: f.Key, Token: uint32(min(f.Size/extentUnit, 1<<32-1)),
	}
	if o.flush != nil {
		h.Fetch = 1
	}
	return h
}

// takeExtent notes an extent of another PE's heap.
func (s *Stage) takeExtent(h *layout.Header) {
	if h.Offset < 0 || h.Token == 0 {
		s.engine.Malformed(h)
		return
	}
	l := &s.lines[h.From]
	l.flushes = h.Fetch != 0
	loan := Loan(h.Op)<<8 | Loan(h.Width)
	if s.over(loan) {
		return
	}
	if err := l.extents.add(Extent{uint64(h.Offset), uint64(h.Token) * extentUnit, h.Operand, h.Extra, loan}); err != nil {
		s.engine.Fatal(fmt.Errorf("receive: PE %d: %w", h.From, err))
	}
}

// region is a part of this PE's heap that is registered with the fabric.
type region struct {
	fabric.Region
	loan Loan
}

// region returns the part of this PE's heap that contains n bytes at p.
func (o *ownHeap) region(p unsafe.Pointer, n uint64) *fabric.Region {
	for i := range o.regions {
		r := &o.regions[i].Region
		if at := uint64(uintptr(p) - uintptr(r.Base)); at < r.Len && n <= r.Len-at {
			return r
		}
	}
	return nil
}

// Region returns the region of n bytes at p of this PE's heap. flush says that the GPU sees bytes
// that a NIC writes there only after a flush.
func (o *ownHeap) Region(p unsafe.Pointer, n uint64) (r *fabric.Region, flush bool) {
	return o.region(p, n), o.flush != nil
}

// Flushes reports whether a PE has to flush writes of NICs at an offset of its heap.
func (s *Stage) Flushes(pe fabric.PE, offset int64) bool { return offset >= 0 && s.lines[pe].flushes }

// reaches reports whether the fabric can move bytes between an offset of a PE's heap and a local
// buffer; gpu and far say which of them are GPU memory.
func (s *Stage) reaches(l *stagedPeer, offset int64, far bool, local unsafe.Pointer, n uint64, gpu bool) bool {
	return (!far || l.extents.find(offset, n) != nil) && (!gpu || s.region(local, n) != nil)
}

// Aim names the remote side of an operation where it is GPU memory.
func (s *Stage) Aim(op *fabric.RMA, offset int64) {
	if offset < 0 {
		return
	}
	if f := s.lines[op.PE].extents.find(offset, op.Len); f != nil {
		op.Remote, op.Key = f.Remote+uint64(offset)-f.Offset, f.Key
	}
}

// Flush makes the GPU see what NICs have written before the completions of this turn.
func (s *Stage) Flush() {
	if s.flush != nil && !s.flushed {
		s.streams.Check(s.flush())
		s.flushed = true
	}
}
