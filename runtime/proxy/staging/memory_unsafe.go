package staging

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/gpu"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/shmerr"
)

// Device is a GPU as this package needs it: *cuda.Device is one.
type Device interface {
	Name() string
	Facts() gpu.Facts
	HostAlloc(n uint64) (unsafe.Pointer, gpu.Address, error)
	HostFree(p unsafe.Pointer) error
	Alloc(n uint64) (gpu.Address, error)
	Free(a gpu.Address) error
	NewStream() (gpu.Stream, error)
	CloseStream(s gpu.Stream) error
	SyncStream(s gpu.Stream) error
	FinishStream(s gpu.Stream) error // SyncStream before CloseStream
	CopyAsync(s gpu.Stream, to, from gpu.Address, n uint64) error
	CopyInAsync(s gpu.Stream, to, from gpu.Address, n uint64) error // from main memory
	Stores(s gpu.Stream, words []gpu.Store) error
	Change(s gpu.Stream, o gpu.Atomic) error // add, and, or, where Facts has StreamChange
	NewEvent() (gpu.Event, error)
	CloseEvent(e gpu.Event) error
	Record(e gpu.Event, s gpu.Stream) error
	EventDone(e gpu.Event) (bool, error)
	Pointer(a gpu.Address) (gpu.Pointer, error)
}

// Kernels do atomic operations by kernels of one thread, which are atomic with
// those of the program. They wait for a free place on the GPU: where the program's
// kernels fill it and one of them waits for such an operation, neither goes on.
// The engine has a stream for nothing else, so that the rest goes on.
type Kernels interface {
	// Put puts an operation into a stream.
	Put(s gpu.Stream, o gpu.Atomic) error
}

// Memory is a gpustage.Memory.
type Memory struct {
	dev     Device
	kernels Kernels
	race    *race // nil: StreamWord does them
	store   bool  // streams store words by themselves
	streams [gpustage.Streams]stream
	block   unsafe.Pointer // words of all streams
}

var _ gpustage.Memory = (*Memory)(nil)

// stream is one of them.
type stream struct {
	handle gpu.Stream
	mark   *uint64      // where the stream stores its marks
	words  *[words]word // for stores that are copies
	next   uint         // of words
	kept   []gpu.Store  // that the driver has not been given; only with store
	asked  uint64       // marks
	passed uint64
	events []gpu.Event // of marks that have not passed, in order; only without store
	idle   []gpu.Event
}

type word struct{ value, old uint64 }

// words is more than the operations that a stream has at once.
const words = 2 * gpustage.StreamQueue

// area is the pinned memory of a stream: its mark has a cache line to itself.
const area = 64 + words*unsafe.Sizeof(word{})

// New makes streams and uses each once, which may take a millisecond each and
// would otherwise be in the first operation. kernels may be nil. quick is for a dev that is
// apart from the program's context: that one; or nil.
func New(dev Device, kernels Kernels, quick *Quick) (_ *Memory, err error) {
	f := dev.Facts()
	if !f.Unified {
		return nil, &shmerr.Error{
			Op: "open", Object: "staging for " + dev.Name(),
			Cause:  shmerr.Causef(shmerr.ErrUnsupported, "the GPU and the CPU have different addresses for pinned memory"),
			Remedy: "set SHMEM_HEAP=host",
		}
	}
	m := &Memory{dev: dev, kernels: kernels, store: f.StreamOps}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if m.block, err = m.Pin(uint64(gpustage.Streams) * uint64(area)); err != nil {
		return nil, err
	}
	for i := range m.streams {
		at := unsafe.Add(m.block, uintptr(i)*area)
		s := &m.streams[i]
		s.kept = make([]gpu.Store, 0, gpu.MaxStores)
		s.mark, s.words = (*uint64)(at), (*[words]word)(unsafe.Add(at, 64))
		if s.handle, err = dev.NewStream(); err != nil {
			return nil, err
		}
	}
	if err = m.warm(); err == nil && quick != nil && m.store && kernels != nil {
		m.race, err = newRace(dev, kernels, &m.streams[gpustage.StreamWord], *quick)
	}
	return m, err
}

// warm has each stream do one of each. A copy within the GPU may be by a kernel
// of the driver's, which is loaded when it is used first, as are those of atomic
// operations.
func (m *Memory) warm() error {
	n := uint64(unsafe.Sizeof(word{}))
	a, err := m.dev.Alloc(2 * n)
	if err != nil {
		return err
	}
	for i := range m.streams {
		s := &m.streams[i]
		there, back := unsafe.Pointer(&s.words[0]), unsafe.Pointer(&s.words[1])
		if err == nil {
			err = m.dev.CopyInAsync(s.handle, a, address(there), n)
		}
		if err == nil {
			err = m.dev.CopyAsync(s.handle, a+gpu.Address(n), a, n)
		}
		if err == nil {
			err = m.dev.CopyAsync(s.handle, address(back), a, n)
		}
		for _, width := range []int{4, 8} {
			if err == nil && m.kernels != nil && gpustage.Stream(i) == gpustage.StreamWord {
				err = m.kernels.Put(s.handle, gpu.Atomic{At: a, Op: int(fabric.OpAdd), Width: width, Fetched: address(unsafe.Pointer(&s.words[2].old))})
			}
		}
		if err == nil {
			_, err = m.Mark(gpustage.Stream(i))
		}
		err = errors.Join(err, m.dev.SyncStream(s.handle)) // also what came before a failure uses the memory
		// The engine's first mark is 1, and must not have passed before it was made.
		s.asked, s.events, s.idle = 0, nil, append(s.idle, s.events...)
		atomic.StoreUint64(s.mark, 0)
	}
	return errors.Join(err, m.dev.Free(a))
}

// address is what the GPU calls memory, which is what the CPU calls it.
func address(p unsafe.Pointer) gpu.Address { return gpu.Address(uintptr(p)) }

// Holds is part of gpustage.Memory. What the driver does not know is no GPU's.
func (m *Memory) Holds(p unsafe.Pointer, n uint64) bool {
	at, err := m.dev.Pointer(address(p))
	return err == nil && at.Place == gpu.OnDevice && n <= at.Size-uint64(address(p)-at.Base)
}

// Pin is part of gpustage.Memory.
func (m *Memory) Pin(n uint64) (unsafe.Pointer, error) {
	p, a, err := m.dev.HostAlloc(n)
	switch {
	case err != nil:
		return nil, err
	case a != address(p):
		return nil, errors.Join(fmt.Errorf("pin %d bytes for %s: the GPU has them at %#x and the CPU at %p", n, m.dev.Name(), uint64(a), p), m.dev.HostFree(p))
	}
	clear(unsafe.Slice((*byte)(p), n))
	return p, nil
}

// Unpin is part of gpustage.Memory.
func (m *Memory) Unpin(p unsafe.Pointer) error { return m.dev.HostFree(p) }

// Copy is part of gpustage.Memory.
func (m *Memory) Copy(i gpustage.Stream, to, from unsafe.Pointer, n uint64) error {
	s := &m.streams[i]
	if err := m.give(s); err != nil {
		return err
	}
	if i == gpustage.StreamIn {
		return m.dev.CopyInAsync(s.handle, address(to), address(from), n)
	}
	return m.dev.CopyAsync(s.handle, address(to), address(from), n)
}

// keep keeps a store back until something has to follow it that is none, or the
// mark: what the driver is given at once costs one call, and its end is there 2 us
// sooner than that of two (H200).
func (m *Memory) keep(s *stream, at unsafe.Pointer, width uint8, value uint64) error {
	s.kept = append(s.kept, gpu.Store{At: address(at), Value: value, Width: uint32(width)})
	if len(s.kept) < gpu.MaxStores {
		return nil
	}
	return m.give(s)
}

// give gives the driver what was kept back.
func (m *Memory) give(s *stream) error {
	if len(s.kept) == 0 {
		return nil
	}
	err := m.dev.Stores(s.handle, s.kept)
	s.kept = s.kept[:0]
	return err
}

// word gives the next of the words, which the stream has done with: it has never
// as many operations as there are.
func (s *stream) word() *word {
	w := &s.words[s.next%words]
	s.next++
	return w
}

// Write is part of gpustage.Memory. Where the stream cannot store by itself it
// copies, which orders as much: a stream does one thing after the other.
func (m *Memory) Write(i gpustage.Stream, at unsafe.Pointer, width uint8, value uint64) error {
	s := &m.streams[i]
	if m.store {
		return m.keep(s, at, width, value)
	}
	w := s.word()
	atomic.StoreUint64(&w.value, value) // of the CPUs for which shmem is built the low bytes come first
	return m.dev.CopyAsync(s.handle, address(at), address(unsafe.Pointer(&w.value)), uint64(width))
}

// storesOfCopy is how many stores are there sooner than a copy with its signal: of
// 8, 16 and 32 bytes a kernel saw the signal after 5.1, 5.9 and 7.3 us, behind a
// copy after 6.8 (H200).
const storesOfCopy = 2

// Words is part of gpustage.Memory.
func (m *Memory) Words() uint64 {
	if m.store {
		return storesOfCopy
	}
	return 0
}

// Atomics is part of gpustage.Memory.
func (m *Memory) Atomics() uint64 {
	var set uint64
	for op := fabric.OpSet; m.kernels != nil && op <= fabric.OpFetchXor; op++ {
		if op != fabric.OpSet && op != fabric.OpFetch { // a store and a copy do these
			set |= gpustage.AtomicBit(op, 4) | gpustage.AtomicBit(op, 8)
		}
	}
	return set
}

// Atomic is part of gpustage.Memory.
func (m *Memory) Atomic(i gpustage.Stream, at unsafe.Pointer, op fabric.Op, width uint8, operand, compare uint64, old unsafe.Pointer) error {
	s := &m.streams[i]
	changes := old == nil && m.changes(op)
	if old == nil {
		old = unsafe.Pointer(&s.word().old)
	}
	o := gpu.Atomic{At: address(at), Op: int(op), Width: int(width), Operand: operand, Compare: compare, Fetched: address(old)}
	if m.race != nil {
		return m.race.put(o, changes)
	}
	if err := m.give(s); err != nil {
		return err
	}
	if changes {
		return m.dev.Change(s.handle, o)
	}
	return m.kernels.Put(s.handle, o)
}

// changes tells whether a stream does an operation by itself. Only the driver that the
// tests play has had it: CUDA 13.1 is the first with it, and no machine that this was built
// on has that.
func (m *Memory) changes(op fabric.Op) bool {
	return m.dev.Facts().StreamChange && (op == fabric.OpAdd || op == fabric.OpAnd || op == fabric.OpOr)
}

// Mark is part of gpustage.Memory.
func (m *Memory) Mark(i gpustage.Stream) (uint64, error) {
	if m.race != nil && i == gpustage.StreamWord {
		return m.race.mark()
	}
	s := &m.streams[i]
	if m.store {
		err := m.keep(s, unsafe.Pointer(s.mark), 8, s.asked+1)
		if err == nil {
			err = m.give(s)
		}
		if err != nil {
			return 0, err
		}
		s.asked++
		return s.asked, nil
	}
	if len(s.idle) == 0 {
		e, err := m.dev.NewEvent()
		if err != nil {
			return 0, err
		}
		s.idle = append(s.idle, e)
	}
	e := s.idle[len(s.idle)-1]
	if err := m.dev.Record(e, s.handle); err != nil {
		return 0, err
	}
	s.idle = s.idle[:len(s.idle)-1]
	s.events = append(s.events, e)
	s.asked++
	return s.asked, nil
}

// Marked is part of gpustage.Memory.
func (m *Memory) Marked(i gpustage.Stream) (uint64, error) {
	if m.race != nil && i == gpustage.StreamWord {
		return m.race.marked()
	}
	s := &m.streams[i]
	if m.store {
		return atomic.LoadUint64(s.mark), nil
	}
	for len(s.events) > 0 {
		done, err := m.dev.EventDone(s.events[0])
		if err != nil || !done {
			return s.passed, err
		}
		s.idle = append(s.idle, s.events[0])
		s.events = s.events[:copy(s.events, s.events[1:])]
		s.passed++
	}
	return s.passed, nil
}

// Close is part of gpustage.Memory. It may be called for what New has made of a
// Memory.
func (m *Memory) Close() error {
	var errs []error
	if m.race != nil {
		errs = append(errs, m.race.close())
		m.race = nil
	}
	for i := range m.streams {
		s := &m.streams[i]
		if s.handle != 0 {
			// A job that failed may have left work that reads and writes what is
			// released next.
			errs = append(errs, m.dev.FinishStream(s.handle), m.dev.CloseStream(s.handle))
			s.handle = 0
		}
		for _, e := range append(s.events, s.idle...) {
			errs = append(errs, m.dev.CloseEvent(e))
		}
		s.events, s.idle = nil, nil
	}
	if m.block != nil {
		errs = append(errs, m.dev.HostFree(m.block))
		m.block = nil
	}
	return errors.Join(errs...)
}
