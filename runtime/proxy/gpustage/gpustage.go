package gpustage

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/fifo"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// StreamQueue is the most operations, besides marks, that an engine has in one
// stream: a driver makes a caller wait that asks for more than its queue holds,
// which is some thousand.
const StreamQueue = 512

// Memory moves bytes of GPU memory by copy engines and stream memory
// operations, which also run while kernels occupy the whole GPU. Its methods are
// called with the engine's lock held, from one thread after another, and none of
// them waits for the GPU. Each engine has a Memory of its own.
//
// Addresses of main memory that it gets are in what Pin gave.
type Memory interface {
	// Holds reports whether n bytes at p are memory of a GPU that the CPU cannot
	// touch. It is asked of every local buffer, and a freed address may be
	// another kind of memory the next time.
	Holds(p unsafe.Pointer, n uint64) bool
	// Pin allocates zeroed main memory that copy engines reach at the address
	// that the CPU has; Unpin releases it.
	Pin(n uint64) (unsafe.Pointer, error)
	Unpin(p unsafe.Pointer) error
	// Copy puts a copy of n bytes into a stream.
	Copy(s Stream, to, from unsafe.Pointer, n uint64) error
	// Write puts a store of an aligned element of 4 or 8 bytes into a stream. A
	// kernel that sees it sees what was before it in the stream.
	Write(s Stream, at unsafe.Pointer, width uint8, value uint64) error
	// Words is how many stores in a row are there sooner than a copy of as many
	// bytes; 0: one store is not.
	Words() uint64
	// Atomics has the AtomicBit of each operation that Atomic can do.
	Atomics() uint64
	// Atomic puts an operation into a stream that is atomic with those of
	// kernels. Where it fetches, the value before is stored at old, which is
	// pinned. It may be a kernel itself, for which a GPU that is full has no
	// place: nothing else is put into its stream.
	Atomic(s Stream, at unsafe.Pointer, op fabric.Op, width uint8, operand, compare uint64, old unsafe.Pointer) error
	// Mark puts a mark into a stream and returns its number: 1, and one more
	// each time. Operations may be kept back until the mark behind them.
	Mark(s Stream) (uint64, error)
	// Marked returns the last mark that a stream has passed. What was before it
	// is done, and seen by the CPU and by kernels.
	Marked(s Stream) (uint64, error)
	// Close releases the streams, which have nothing to do any more unless the
	// job has failed.
	Close() error
}

// AtomicBit stands for an atomic operation on 4 or 8 bytes in a set of them.
func AtomicBit(op fabric.Op, width uint8) uint64 { return 1 << (uint(op)*2 + uint(width)/8) }

// ownerAlone says in such a set that the owner changes words in several steps.
const ownerAlone = 1 << 63

// AllAtomics is the set of every operation.
const AllAtomics = 1<<(2*(uint(fabric.OpFetchXor)+1)) - 1

// PlainAtomics are the operations that one copy or one store does.
var PlainAtomics = AtomicBit(fabric.OpSet, 4) | AtomicBit(fabric.OpSet, 8) | AtomicBit(fabric.OpFetch, 4) | AtomicBit(fabric.OpFetch, 8)

// Alone is what the engines of a PE share so that atomic operations on its GPU
// memory, done by reading, computing and writing, are atomic together. It may
// only be given where nothing but these engines changes words atomically: no
// kernel and no PE that loads and stores there. Engines that have the heap for
// copies (Map) leave such operations to the owner.
type Alone struct{ taken atomic.Bool }

// Config is how an engine moves GPU memory. The zero value is usable.
type Config struct {
	Chunk  uint64 // bytes of one chunk; 0: 1 MiB
	Chunks int    // of those that come, and as many of those that leave; 0: Chunks
	Alone  *Alone // nil: what Memory.Atomic cannot do is refused
}

const (
	// Of 16 MiB over tcp, both ends on one thread, 8 chunks of 1 MiB take 3.8 ms,
	// 16 of 512 KiB 4.9 and 16 of 256 KiB 6.0, where main memory takes 3.4: each
	// chunk costs three messages, and few chunks stay in the cache.
	defaultChunk = 1 << 20
	MaxChunks    = 64
	smallSlots   = 256 // for what travels in messages, each way
)

// Chunks is how many chunks an engine has each way. Over tcp between two H200,
// each end on processors of its own, puts of 1 MiB in a row took 160 to 183 us with
// 4, 8, 12, 16, 24 and 32 of them, in no order, and twice with 8 the two ends of that.
const Chunks = 8

// Stage is what an engine knows of GPU memory: its own, and that of the PEs that
// it talks to. There is none in a job without.
//
// Bytes that a message cannot hold and that one side cannot have written or read
// by the fabric are pulled. Their holder has them in main memory that is
// registered: the heap, a buffer of the program, or a chunk that a copy engine
// filled. It offers them by a message; the other side reads them, into place
// where that is main memory, else into a chunk that a copy engine empties. So
// neither side keeps room for the other, no order of writes and messages is
// asked of the provider, and a chunk that is read into gets free without the other
// side.
type Stage struct {
	engine  Engine
	state   *layout.State
	peers   []layout.Peer
	segment mem.Segment
	heap    fabric.Region // of it, as far as the fabric reaches it
	caps    fabric.Caps

	streams
	atomic uint64 // Memory.Atomics
	alone  *Alone
	mine   bool   // alone is taken
	until  uint64 // mark of StreamIn that has to pass before it is given back
	fresh  bool   // alone may be taken in this turn, and words begun
	wants  bool   // another engine has it

	lines []stagedPeer
	busy  []fabric.PE // PEs whose messages wait for bytes, or may have to

	ownHeap
	flushed bool // it was, in this turn
	writes  bool // one-sided writes are usable

	block           unsafe.Pointer // all pinned memory
	pinned          fabric.Region
	landing         pool // chunks that are read into
	leaving         pool // chunks that are copied out to
	coming          pool // slots for messages
	going           pool
	offers          []requestToSend // of leaving chunks
	words           []word
	ops             [layout.Tokens]operation
	reads           [layout.Tokens]read
	offering        layout.RequestToSend   // payload of the message that is sent
	part            layout.Header          // of a message, that is applied to main memory
	departs         fifo.Queue[*departure] // with bytes of which no copy has begun
	ready           fifo.Queue[piece]      // copied out, and not sent
	pulls           []*pull                // with bytes that no read has begun for
	pass            uint32
	spareDepartures []*departure
	sparePulls      []*pull
	kept            [][]byte    // spare
	under           int         // pulls that are not complete
	lost            []fabric.PE // PEs of which nothing was given up yet
	waits           bool        // for room, which may come without a completion
	looks           int         // for a mark, since one has passed
}

// stagedPeer is one PE as staging sees it.
type stagedPeer struct {
	// What came from it. Messages are let through in order; one waits for the
	// bytes of all offers before it.
	held     fifo.Queue[waitingMessage]
	heldAll  uint64 // ever
	heldDone uint64
	pulls    fifo.Queue[*pull] // offers to put, in order
	pullsAll uint64
	pullDone uint64 // those and all before them are in StreamIn, or in place
	fence    uint32 // epoch of the last offer
	behind   struct{ pulls, held uint64 }
	issued   uint64 // mark of StreamIn behind all that was done for it
	changing bool   // the first message that is held is an atomic operation in steps, under way
	underway int    // the first so many that are held are atomic operations in StreamWord

	// What goes to it.
	departs     int            // puts that have bytes to send
	departEpoch uint64         // of the last
	mapped      unsafe.Pointer // its user heap in this process, for copies
	copies      uint64         // operations on that, ever
	copied      uint64         // of them, complete
	copyEpoch   uint64         // of the last
	copyBefore  uint64         // those before the first of that epoch
	owed        int            // signals to be sent when their bytes have been copied
	owedEpoch   uint64
	atomics     uint64
	device      bool // its user heap is GPU memory
	flushes     bool // it has to flush what NICs write there
	extents     extents

	chunks, slots, landing uint16 // that it holds
	blocked                uint32 // pass in which it had no room
	listed                 bool   // in busy
}

// waitingMessage is a message that waits.
type waitingMessage struct {
	message []byte
	n       int    // of payload
	pulls   uint64 // that have to be done before
}

// New makes a Stage for an engine. It moves GPU memory of this PE by m, which it closes in the end,
// also when New fails; without m only that of other PEs.
func New(e Engine, m Memory, c Config) (*Stage, error) {
	s := &Stage{engine: e, state: e.State(), peers: e.Peers(), caps: e.Caps(), streams: streams{fatal: e.Fatal}, ownHeap: ownHeap{network: e}}
	s.segment, s.heap = e.Segment()
	for i := range s.tracks {
		s.tracks[i].stream = Stream(i)
	}
	if m == nil {
		return s, nil
	}
	if c.Chunk == 0 {
		c.Chunk = defaultChunk
	}
	if c.Chunks == 0 {
		c.Chunks = Chunks
	}
	if c.Chunk < layout.MessageSize || c.Chunk%layout.MessageSize != 0 || c.Chunks < 1 || c.Chunks > MaxChunks {
		return nil, errors.Join(fmt.Errorf("stage GPU memory: %d chunks of %d bytes are not possible (take 1 to %d, each a multiple of %d)",
			c.Chunks, c.Chunk, MaxChunks, layout.MessageSize), m.Close())
	}
	s.memory, s.atomic, s.alone = m, m.Atomics(), c.Alone
	chunks, slots := c.Chunk*uint64(c.Chunks), uint64(smallSlots*layout.MessageSize)
	n := 2*chunks + 2*slots
	block, err := m.Pin(n)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("stage GPU memory: pin %d bytes: %w", n, err), m.Close())
	}
	s.block = block
	if s.pinned, err = e.Register(block, n); err != nil {
		return nil, errors.Join(fmt.Errorf("stage GPU memory: register %d bytes: %w", n, err), m.Unpin(block), m.Close())
	}
	s.landing.init(block, c.Chunk, c.Chunks)
	s.leaving.init(unsafe.Add(block, chunks), c.Chunk, c.Chunks)
	s.coming.init(unsafe.Add(block, 2*chunks), layout.MessageSize, smallSlots)
	s.going.init(unsafe.Add(block, 2*chunks+slots), layout.MessageSize, smallSlots)
	s.offers = make([]requestToSend, c.Chunks)
	s.state.Staging = 1
	return s, nil
}

// canAtomic is what this PE does for others on its GPU memory.
func (s *Stage) canAtomic() uint64 {
	if s.alone != nil {
		return AllAtomics | ownerAlone
	}
	return s.atomic | PlainAtomics
}

// Endpoint is what a PE tells the others about its GPU memory.
type Endpoint struct {
	Device  bool     // the user heap is GPU memory
	Atomics uint64   // AtomicBits of what the PE does there
	Extents []Extent // what the fabric reaches of it; more may come
	Flushes bool     // the PE has to flush what the fabric writes there
}

// Endpoint returns what the other PEs need to reach the GPU memory of this one.
func (s *Stage) Endpoint() Endpoint {
	if s.segment.Heap == nil {
		return Endpoint{}
	}
	return Endpoint{Device: true, Atomics: s.canAtomic(), Extents: slices.Clone(s.extents), Flushes: s.flush != nil}
}

// Connect takes the endpoints of all PEs, in order. It comes after that of the engine.
func (s *Stage) Connect(all []Endpoint) {
	s.lines = make([]stagedPeer, len(all))
	s.writes = s.engine.PutMax() > layout.MaxPayload
	for i := range all {
		l := &s.lines[i]
		l.device, l.atomics = all[i].Device, all[i].Atomics
		s.peers[i].Fewer = l.device && l.atomics&AllAtomics != AllAtomics
		l.extents, l.flushes = slices.Clone(all[i].Extents), all[i].Flushes
	}
}

// Map tells where the user heap of pe is mapped in this process for copies
// between GPUs, which then take the place of the fabric. It comes after Connect.
func (s *Stage) Map(pe fabric.PE, heap unsafe.Pointer) {
	s.lines[pe].mapped = heap
	s.peers[pe].Staged = true
}

// Holds reports whether n bytes at a local address are GPU memory.
func (s *Stage) Holds(p unsafe.Pointer, n uint64) bool {
	return s.state.Staging != 0 && (s.segment.OnGPU(p, n) || s.memoryHolds(p, n))
}

func (s *Stage) memoryHolds(p unsafe.Pointer, n uint64) bool {
	s.runs(backlog.CallHolds, 0)
	return s.memory.Holds(p, n)
}

// Close releases what New took, and takes back what RegisterHeap did.
func (s *Stage) Close() error {
	if s.memory == nil {
		return nil
	}
	err := errors.Join(s.UnregisterHeap(), s.engine.Unregister(s.pinned), s.memory.Close(), s.memory.Unpin(s.block))
	s.memory = nil
	return err
}

// refuse is the error of an atomic operation that the owner of the memory
// cannot do.
func (s *Stage) refuse(pe fabric.PE, offset int64, op fabric.Op, width uint8) error {
	l := &s.lines[pe]
	if !l.device || offset < 0 || l.atomics&AtomicBit(op, width) != 0 {
		return nil
	}
	return fmt.Errorf("atomic operation %d on %d bytes of GPU memory of PE %d: its driver has none in a stream, and kernels change the memory too "+
		"(set SHMEM_HEAP=host, or SHMEM_DISABLE_P2P=1 so that all atomic operations meet in the owner's proxy)", op, width, pe)
}

// refuseSignal is refuse for the signal of a put, if there is one.
func (s *Stage) refuseSignal(pe fabric.PE, after *layout.Header) error {
	if after == nil {
		return nil
	}
	return s.refuse(pe, after.Offset, after.Op, after.Width)
}

// Does reports whether a PE does an atomic operation on its user heap.
func (s *Stage) Does(pe fabric.PE, op fabric.Op, width uint8) bool {
	return s.refuse(pe, 0, op, width) == nil
}
