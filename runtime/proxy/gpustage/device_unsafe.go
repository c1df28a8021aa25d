package gpustage

// A Memory is a stream.Memory on the streams of a driver: it gives the proxy access to GPU memory.
// It owns four streams and some pinned memory for each engine. The engine decides about copies and
// their order. The caller chooses the driver.
//
// Nothing here starts a kernel, unless NewMemory gets Kernels for atomic operations, and nothing
// between NewMemory and Close waits for the GPU. One thread at a time calls the methods, and
// another may call them next.
//
// Memory order: a mark is a store of its stream to pinned memory, after a barrier of the stream. A
// thread that reads it with acquire order sees the bytes that were copied before. If a driver has
// no such stores, a mark is an event. A check of a store takes a few instructions, that of an event
// a microsecond.

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/gpu"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/shmerr"
)

// Device has the functions of a GPU that this package needs. *cuda.Device implements it.
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
	// Copies puts copies into a stream, which makes one after the other. It may change the slice.
	Copies(s gpu.Stream, copies []gpu.Copy, d gpu.Direction) error
	Stores(s gpu.Stream, words []gpu.Store) error
	Change(s gpu.Stream, o gpu.Atomic) error // for add, and, or: only if Facts has StreamChange
	NewEvent() (gpu.Event, error)
	CloseEvent(e gpu.Event) error
	Record(e gpu.Event, s gpu.Stream) error
	EventDone(e gpu.Event) (bool, error)
	Pointer(a gpu.Address) (gpu.Pointer, error)
}

// Kernels starts kernels of one thread for atomic operations, which are atomic with those of the
// program's kernels. Such a kernel waits until the GPU has space for it. If the program's kernels
// fill the GPU and one of them waits for such an operation, neither goes on. The engine has a
// stream only for these kernels, so that other work goes on.
type Kernels interface {
	// Put puts an operation into a stream.
	Put(s gpu.Stream, o gpu.Atomic) error
}

// Memory gives work to the streams of a GPU through its driver. It implements stream.Memory.
type Memory struct {
	dev     Device
	kernels Kernels
	race    *race // nil: stream.Word does the atomic operations
	store   bool  // the driver's streams can store words
	streams [stream.Streams]cudaStream
	block   unsafe.Pointer // words of all streams
	copies  []gpu.Copy     // operand of Copies
	trace   Tracer
}

var _ stream.Memory = (*Memory)(nil)

// cudaStream is one stream of the GPU with its memory.
type cudaStream struct {
	handle   gpu.Stream
	mark     *uint64                    // where the stream stores its marks
	words    *[wordsOfStream]streamWord // values of stores that are done as copies
	next     uint                       // index in words, modulo its length, for the next store
	deferred []gpu.Store                // stores that have not been passed to the driver yet; only with store
	lastMark uint64
	passed   uint64
	events   []gpu.Event // of marks that have not passed, in order; only without store
	idle     []gpu.Event
}

// streamWord is pinned memory of one operation: the value of a store that is done as a copy, and
// the destination of an old value that nothing reads.
type streamWord struct{ value, old uint64 }

// wordsOfStream is the number of streamWords of a stream: more than the operations that are in it
// at once.
const wordsOfStream = 2 * StreamQueue

// streamArea is the size of the pinned memory of a stream. Its mark has a cache line to itself.
const streamArea = 64 + wordsOfStream*unsafe.Sizeof(streamWord{})

// NewMemory makes streams and uses each once, which may take a millisecond each and would otherwise
// delay the first operation. kernels may be nil. If dev is a context of the engine's own, quick is
// the program's context; otherwise quick is nil.
func NewMemory(dev Device, kernels Kernels, quick *Quick) (_ *Memory, err error) {
	f := dev.Facts()
	if !f.Unified {
		return nil, &shmerr.Error{
			Op: "open", Object: "staging for " + dev.Name(),
			Cause:  shmerr.Causef(shmerr.ErrUnsupported, "the GPU and the CPU have different addresses for pinned memory"),
			Remedy: "set SHMEM_HEAP=host",
		}
	}
	m := &Memory{dev: dev, kernels: kernels, store: f.StreamOps, trace: untraced{}, copies: make([]gpu.Copy, 0, stream.MaxCopies)}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if m.block, err = m.Pin(uint64(stream.Streams) * uint64(streamArea)); err != nil {
		return nil, err
	}
	for i := range m.streams {
		at := unsafe.Add(m.block, uintptr(i)*streamArea)
		s := &m.streams[i]
		s.deferred = make([]gpu.Store, 0, gpu.MaxStores)
		s.mark, s.words = (*uint64)(at), (*[wordsOfStream]streamWord)(unsafe.Add(at, 64))
		if s.handle, err = dev.NewStream(); err != nil {
			return nil, err
		}
	}
	if err = m.warmUp(); err == nil && quick != nil && m.store && kernels != nil {
		m.race, err = newRace(dev, kernels, &m.streams[stream.Word], *quick)
	}
	return m, err
}

// warmUp runs one operation of each kind in each stream. The driver may do a copy within the GPU
// with a kernel that it loads at the first use. Kernels for atomic operations are loaded then, too.
func (m *Memory) warmUp() error {
	n := uint64(unsafe.Sizeof(streamWord{}))
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
		if err == nil { // a copy of rows, too
			m.copies = append(m.copies[:0], gpu.Copy{To: address(back), From: a, N: 4, Rows: 1}, gpu.Copy{To: address(back) + 4, From: a + 8, N: 4, Rows: 1})
			err = m.dev.Copies(s.handle, m.copies, gpu.CopyOut)
		}
		if err == nil { // and a batch: copies at no constant distance, as each goes back in the source
			m.copies = m.copies[:0]
			for k := range gpu.Address(n) {
				m.copies = append(m.copies, gpu.Copy{To: address(back) + 2*k, From: a + gpu.Address(2*n-2) - 2*k, N: 2, Rows: 1})
			}
			err = m.dev.Copies(s.handle, m.copies, gpu.CopyOut)
		}
		for _, width := range []int{4, 8} {
			if err == nil && m.kernels != nil && stream.Stream(i) == stream.Word {
				err = m.kernels.Put(s.handle, gpu.Atomic{At: a, Op: int(fabric.OpAdd), Width: width, Fetched: address(unsafe.Pointer(&s.words[2].old))})
			}
		}
		if err == nil {
			_, err = m.Mark(stream.Stream(i))
		}
		err = errors.Join(err, m.dev.SyncStream(s.handle)) // operations from before a failure use the memory, too
		// Marks count from 1 again: the engine's first mark must not have passed before it is made.
		s.lastMark, s.events, s.idle = 0, nil, append(s.idle, s.events...)
		atomic.StoreUint64(s.mark, 0)
	}
	return errors.Join(err, m.dev.Free(a))
}

// address returns the GPU's address of memory, which is the CPU's address.
func address(p unsafe.Pointer) gpu.Address { return gpu.Address(uintptr(p)) }

// Holds reports whether n bytes at p are GPU memory (stream.Memory). An address that the driver
// does not know is not GPU memory.
func (m *Memory) Holds(p unsafe.Pointer, n uint64) bool {
	at, err := m.dev.Pointer(address(p))
	return err == nil && at.Place == gpu.OnDevice && n <= at.Size-uint64(address(p)-at.Base)
}

// Pin allocates zeroed main memory that the GPU reaches at the same address as the CPU
// (stream.Memory). It fails if the driver maps the memory at another address, because streams use
// the CPU's pointers.
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

// Unpin frees memory of Pin (stream.Memory).
func (m *Memory) Unpin(p unsafe.Pointer) error { return m.dev.HostFree(p) }

// Copy puts copies into a stream, after the stores that were deferred, so that the stream carries
// them out in their order (stream.Memory).
func (m *Memory) Copy(i stream.Stream, copies []stream.Copy) error {
	s := &m.streams[i]
	if err := m.flushStores(s); err != nil {
		return err
	}
	begin, bytes := m.trace.Now(), uint64(0)
	m.copies = m.copies[:0]
	for _, c := range copies {
		m.copies = append(m.copies, gpu.Copy{To: address(c.To), From: address(c.From), N: c.N, Rows: 1})
		bytes += c.N
	}
	err := m.dev.Copies(s.handle, m.copies, directions[i])
	m.trace.Copies(begin, copyNames[i], len(copies), bytes)
	return err
}

// Tracer records calls of the driver, each with the time at which it began. *trace.Track is one.
type Tracer interface {
	Now() time.Time
	Copies(begin time.Time, direction string, copies int, bytes uint64)
	Stores(begin time.Time, stores int)
}

// untraced is the Tracer of a job without a trace. It reads no clock.
type untraced struct{}

// Now returns the zero Time.
func (untraced) Now() (t time.Time) { return t }

// Copies records nothing.
func (untraced) Copies(time.Time, string, int, uint64) {}

// Stores records nothing.
func (untraced) Stores(time.Time, int) {}

// TraceTo makes the driver calls for copies and stores part of a trace. TraceTo must be called
// before the first of these calls.
func (m *Memory) TraceTo(t Tracer) { m.trace = t }

// copyNames are the names of the copies of each stream in a trace.
var copyNames = [stream.Streams]string{stream.In: "copy in", stream.Out: "copy out", stream.Peer: "copy between GPUs", stream.Word: "copy of a word"}

// directions are the directions of the copies in each stream.
var directions = [stream.Streams]gpu.Direction{stream.In: gpu.CopyIn, stream.Out: gpu.CopyOut, stream.Peer: gpu.CopyAcross, stream.Word: gpu.CopyAcross}

// deferStore holds a store back until the stream gets other work or its mark: the driver then gets
// the stores together. That costs one call, and they are done 2 us sooner than in two calls (H200).
func (m *Memory) deferStore(s *cudaStream, at unsafe.Pointer, width uint8, value uint64) error {
	s.deferred = append(s.deferred, gpu.Store{At: address(at), Value: value, Width: uint32(width)})
	if len(s.deferred) < gpu.MaxStores {
		return nil
	}
	return m.flushStores(s)
}

// flushStores passes the deferred stores of a stream to the driver, all in one call.
func (m *Memory) flushStores(s *cudaStream) error {
	if len(s.deferred) == 0 {
		return nil
	}
	begin := m.trace.Now()
	err := m.dev.Stores(s.handle, s.deferred)
	m.trace.Stores(begin, len(s.deferred))
	s.deferred = s.deferred[:0]
	return err
}

// word returns a streamWord that no operation in the stream uses: a stream never has as many
// operations as there are words.
func (s *cudaStream) word() *streamWord {
	w := &s.words[s.next%wordsOfStream]
	s.next++
	return w
}

// Write puts a store of an element of 4 or 8 bytes into a stream (stream.Memory). If the driver has
// no such stores, the stream copies the value, which keeps the same order: a stream does one
// operation after the other.
func (m *Memory) Write(i stream.Stream, at unsafe.Pointer, width uint8, value uint64) error {
	s := &m.streams[i]
	if m.store {
		return m.deferStore(s, at, width, value)
	}
	w := s.word()
	atomic.StoreUint64(&w.value, value) // little-endian on all CPUs for which shmem is built
	return m.dev.CopyAsync(s.handle, address(at), address(unsafe.Pointer(&w.value)), uint64(width))
}

// maxQuickStores is the largest number of 8-byte stores that a stream does sooner than one copy of
// the same bytes. With 8, 16 and 32 bytes in stores, a kernel saw the signal that follows them
// after 5.1, 5.9 and 7.3 us, and the signal that follows a copy after 6.8 us (H200).
const maxQuickStores = 2

// MaxStores returns the largest number of 8-byte stores that a stream does sooner than one copy of
// the same bytes; 0: the driver has no stores in streams (stream.Memory).
func (m *Memory) MaxStores() uint64 {
	if m.store {
		return maxQuickStores
	}
	return 0
}

// Atomics returns the AtomicBits of the operations that Atomic can do (stream.Memory).
func (m *Memory) Atomics() uint64 {
	var set uint64
	for op := fabric.OpSet; m.kernels != nil && op <= fabric.OpFetchXor; op++ {
		if op != fabric.OpSet && op != fabric.OpFetch { // a store and a copy do these two operations
			set |= stream.AtomicBit(op, 4) | stream.AtomicBit(op, 8)
		}
	}
	return set
}

// Atomic puts an atomic operation into a stream, as a kernel or, if the driver can, without one
// (stream.Memory). old is where the old value is stored; nil: the caller does not need it, and it
// is stored in a word of the stream. With a race, the program's context gets a kernel, too.
func (m *Memory) Atomic(i stream.Stream, at unsafe.Pointer, op fabric.Op, width uint8, operand, compare uint64, old unsafe.Pointer) error {
	s := &m.streams[i]
	changes := old == nil && m.changesWithoutKernel(op)
	if old == nil {
		old = unsafe.Pointer(&s.word().old)
	}
	o := gpu.Atomic{At: address(at), Op: int(op), Width: int(width), Operand: operand, Compare: compare, Fetched: address(old)}
	if m.race != nil {
		return m.race.add(o, changes)
	}
	if err := m.flushStores(s); err != nil {
		return err
	}
	if changes {
		return m.dev.Change(s.handle, o)
	}
	return m.kernels.Put(s.handle, o)
}

// changesWithoutKernel reports whether a stream can do an atomic operation without a kernel. Only
// the fake driver of the tests has had this so far: CUDA 13.1 is the first driver with it, and no
// machine on which this was built has that driver.
func (m *Memory) changesWithoutKernel(op fabric.Op) bool {
	return m.dev.Facts().StreamChange && (op == fabric.OpAdd || op == fabric.OpAnd || op == fabric.OpOr)
}

// Mark puts a mark into a stream, and returns its number: a store of the number to pinned memory
// or, if the driver has no stores, an event (stream.Memory). Marked returns the last mark that the
// stream has passed.
func (m *Memory) Mark(i stream.Stream) (uint64, error) {
	if m.race != nil && i == stream.Word {
		return m.race.mark()
	}
	s := &m.streams[i]
	if m.store {
		err := m.deferStore(s, unsafe.Pointer(s.mark), 8, s.lastMark+1)
		if err == nil {
			err = m.flushStores(s)
		}
		if err != nil {
			return 0, err
		}
		s.lastMark++
		return s.lastMark, nil
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
	s.lastMark++
	return s.lastMark, nil
}

// Marked returns the number of the last mark that a stream has passed (stream.Memory): the word
// that the stream stores or, if the driver has no stores, the number of its events that have
// passed. The stream of atomic operations (stream.Word) may be two CUDA streams, in two contexts
// (race): then it is the last mark before which all operations are done, in either stream.
func (m *Memory) Marked(i stream.Stream) (uint64, error) {
	if m.race != nil && i == stream.Word {
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

// Close waits for the streams and releases them (stream.Memory). It may also be called for a Memory
// that NewMemory has made only in part.
func (m *Memory) Close() error {
	var errs []error
	if m.race != nil {
		errs = append(errs, m.race.close())
		m.race = nil
	}
	for i := range m.streams {
		s := &m.streams[i]
		if s.handle != 0 {
			// A job that failed may have left work in streams that uses the memory released below.
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
