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

// StreamQueue bounds the operations, besides marks, that an engine has in one stream. A driver
// blocks a caller that gives a stream more than its queue holds, which is some thousand.
const StreamQueue = 512

// Memory moves bytes of GPU memory by copy engines and stream memory operations, which also run
// while kernels occupy the whole GPU. Its methods are called with the engine's lock held, from one
// thread after another, and none of them waits for the GPU. Each engine has a Memory of its own.
//
// Its addresses of main memory are in blocks from Pin.
type Memory interface {
	// Holds reports whether n bytes at p are memory of a GPU that the CPU cannot touch. It is
	// called for every local buffer: a freed address may be another kind of memory the next time.
	Holds(p unsafe.Pointer, n uint64) bool
	// Pin allocates zeroed main memory that copy engines and the CPU reach at the same address;
	// Unpin releases it.
	Pin(n uint64) (unsafe.Pointer, error)
	Unpin(p unsafe.Pointer) error
	// Copy puts a copy of n bytes into a stream.
	Copy(s Stream, to, from unsafe.Pointer, n uint64) error
	// Write puts a store of an aligned element of 4 or 8 bytes into a stream. A kernel that sees
	// the store sees the effects of all earlier work in the stream.
	Write(s Stream, at unsafe.Pointer, width uint8, value uint64) error
	// Words returns how many stores in a row are quicker than a copy of as many bytes; 0: not even
	// one store is.
	Words() uint64
	// Atomics returns the AtomicBit of each operation that Atomic can do.
	Atomics() uint64
	// Atomic puts an operation into a stream that is atomic with those of kernels. If it fetches,
	// it stores the old value at old, which is pinned. It may be a kernel itself, for which a full
	// GPU has no place, so its stream has nothing else.
	Atomic(s Stream, at unsafe.Pointer, op fabric.Op, width uint8, operand, compare uint64, old unsafe.Pointer) error
	// Mark puts a mark into a stream and returns its number: 1, and one more each time. A Memory
	// may keep operations back until the mark behind them.
	Mark(s Stream) (uint64, error)
	// Marked returns the last mark that a stream has passed. The operations before it are done, and
	// the CPU and kernels see their effects.
	Marked(s Stream) (uint64, error)
	// Close releases the streams. They have no work left, unless the job has failed.
	Close() error
}

// AtomicBit returns the bit of an atomic operation on 4 or 8 bytes, for sets of operations.
func AtomicBit(op fabric.Op, width uint8) uint64 { return 1 << (uint(op)*2 + uint(width)/8) }

// ownerAlone is a bit in such a set: the owner changes words in several steps.
const ownerAlone = 1 << 63

// AllAtomics is the set of every operation.
const AllAtomics = 1<<(2*(uint(fabric.OpFetchXor)+1)) - 1

// PlainAtomics are the operations that one copy or one store does.
var PlainAtomics = AtomicBit(fabric.OpSet, 4) | AtomicBit(fabric.OpSet, 8) | AtomicBit(fabric.OpFetch, 4) | AtomicBit(fabric.OpFetch, 8)

// Alone is shared by the engines of a PE. It makes their atomic operations on its GPU memory, done
// by reading, computing and writing, atomic together. It may only be given if only these engines
// change words atomically: no kernel, and no PE that loads and stores there. Engines that copy to
// the heap (Map) leave such operations to the owner.
type Alone struct{ taken atomic.Bool }

// Config configures a Stage. The zero value is usable.
type Config struct {
	Chunk  uint64 // bytes of one chunk; 0: 1 MiB
	Chunks int    // for incoming bytes, and as many for outgoing ones; 0: the constant Chunks
	Alone  *Alone // nil: operations that Memory.Atomic cannot do are refused
}

const (
	// Of 16 MiB over tcp, both ends on one thread, 8 chunks of 1 MiB take 3.8 ms,
	// 16 of 512 KiB 4.9 and 16 of 256 KiB 6.0, where main memory takes 3.4: each
	// chunk costs three messages, and few chunks stay in the cache.
	defaultChunk = 1 << 20
	MaxChunks    = 64
	smallSlots   = 256 // for bytes in messages, each way
)

// Chunks is the number of chunks that an engine has each way. Over tcp between two H200, with each
// end on its own processors, puts of 1 MiB in a row took 160 to 183 us with 4, 8, 12, 16, 24 and 32
// chunks, in no order; two runs with 8 chunks gave both ends of that range.
const Chunks = 8

// Stage has the GPU memory of an engine: that of this PE, and what is known of that of other PEs. A
// job without GPU memory has none.
//
// Bytes that a message cannot hold, and that one side cannot have written or read by the fabric,
// are pulled. The PE that has the bytes holds them in registered main memory: the heap, a buffer of
// the program, or a chunk that a copy engine filled. It sends a request to send. The other side
// reads the bytes, into place if that is main memory, else into a chunk that a copy engine empties.
// So neither side reserves room for the other, the provider need not order writes and messages, and
// a chunk that was read into becomes free without the other side.
type Stage struct {
	engine  Engine
	state   *layout.State
	peers   []layout.Peer
	segment mem.Segment
	heap    fabric.Region // the part that the fabric reaches
	caps    fabric.Caps

	streams
	atomic uint64 // Memory.Atomics
	alone  *Alone
	mine   bool   // alone is taken
	until  uint64 // mark of StreamIn that has to pass before alone is given back
	fresh  bool   // in this turn alone may be taken, and words begun
	wants  bool   // another engine has it

	lines []stagedPeer
	busy  []fabric.PE // PEs whose messages wait, or may have to

	ownHeap
	flushed bool // a flush was done in this turn
	writes  bool // one-sided writes are usable

	block           unsafe.Pointer // all pinned memory
	pinned          fabric.Region
	landing         pool // chunks that are read into
	leaving         pool // chunks that are copied out to
	coming          pool // slots for messages
	going           pool
	offers          []requestToSend // for leaving chunks
	words           []word
	ops             [layout.Tokens]operation
	reads           [layout.Tokens]read
	offering        layout.RequestToSend   // payload of the message that is being sent
	part            layout.Header          // the part of a message that is applied to main memory
	departs         fifo.Queue[*departure] // with bytes that no copy has begun for
	ready           fifo.Queue[piece]      // copied out and not sent
	pulls           []*pull                // with bytes that no read has begun for
	pass            uint32
	spareDepartures []*departure
	sparePulls      []*pull
	kept            [][]byte    // spare
	under           int         // pulls that are not complete
	lost            []fabric.PE // PEs to give up in the next turn
	waits           bool        // an operation waits for room, which may come without a completion
	looks           int         // looks for a mark since one has passed
}

// stagedPeer is what a Stage knows of one PE.
type stagedPeer struct {
	// Incoming. Messages are applied in order; each waits for the bytes of all earlier requests to
	// send.
	held     fifo.Queue[waitingMessage]
	heldAll  uint64 // number so far
	heldDone uint64
	pulls    fifo.Queue[*pull] // requests to put, in order
	pullsAll uint64
	pullDone uint64 // pulls whose bytes, with all before, are in StreamIn or in place
	fence    uint32 // epoch of the last request
	behind   struct{ pulls, held uint64 }
	issued   uint64 // mark of StreamIn behind all work for this PE
	changing bool   // the first waiting message is an atomic operation in steps, under way
	underway int    // the first waiting messages, so many of them, are atomic operations in StreamWord

	// Outgoing.
	departs     int            // puts that have bytes to send
	departEpoch uint64         // of the last put
	mapped      unsafe.Pointer // its user heap in this process, for copies
	copies      uint64         // operations on the mapped heap so far
	copied      uint64         // complete ones of them
	copyEpoch   uint64         // of the last copy
	copyBefore  uint64         // copies before the first of that epoch
	owed        int            // signals to send when their bytes have been copied
	owedEpoch   uint64
	atomics     uint64
	device      bool // its user heap is GPU memory
	flushes     bool // the PE has to flush what NICs write there
	extents     extents

	chunks, slots, landing uint16 // pieces that the PE holds
	blocked                uint32 // pass in which the PE had no room
	listed                 bool   // it is in busy
}

// waitingMessage is a message that waits.
type waitingMessage struct {
	message []byte
	n       int    // bytes of payload
	pulls   uint64 // pulls that have to be done first
}

// New makes a Stage for an engine. It moves this PE's GPU memory by m, and closes m in the end,
// even if New fails. Without m it moves only GPU memory of other PEs.
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

// canAtomic returns the atomic operations that this PE does for others on its GPU memory.
func (s *Stage) canAtomic() uint64 {
	if s.alone != nil {
		return AllAtomics | ownerAlone
	}
	return s.atomic | PlainAtomics
}

// Endpoint describes a PE's GPU memory to the others.
type Endpoint struct {
	Device  bool     // the user heap is GPU memory
	Atomics uint64   // AtomicBits of the operations that the PE does there
	Extents []Extent // parts that the fabric reaches; more may come
	Flushes bool     // the PE has to flush what the fabric writes there
}

// Endpoint returns the data with which the other PEs reach this PE's GPU memory.
func (s *Stage) Endpoint() Endpoint {
	if s.segment.Heap == nil {
		return Endpoint{}
	}
	return Endpoint{Device: true, Atomics: s.canAtomic(), Extents: slices.Clone(s.extents), Flushes: s.flush != nil}
}

// Connect takes the endpoints of all PEs, in order. It comes after the engine's Connect.
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

// Map says where the user heap of pe is mapped in this process for copies between GPUs, which then
// replace the fabric. It comes after Connect.
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

// Close releases what New took, and undoes RegisterHeap.
func (s *Stage) Close() error {
	if s.memory == nil {
		return nil
	}
	err := errors.Join(s.UnregisterHeap(), s.engine.Unregister(s.pinned), s.memory.Close(), s.memory.Unpin(s.block))
	s.memory = nil
	return err
}

// refuse returns the error of an atomic operation that the owner of the memory cannot do.
func (s *Stage) refuse(pe fabric.PE, offset int64, op fabric.Op, width uint8) error {
	l := &s.lines[pe]
	if !l.device || offset < 0 || l.atomics&AtomicBit(op, width) != 0 {
		return nil
	}
	return fmt.Errorf("atomic operation %d on %d bytes of GPU memory of PE %d: its driver cannot do it in a stream, and kernels change the memory too "+
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
