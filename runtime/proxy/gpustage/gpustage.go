package gpustage

import (
	"errors"
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/fifo"
	"libshmem/runtime/proxy/gpustage/arrival"
	"libshmem/runtime/proxy/gpustage/extent"
	"libshmem/runtime/proxy/gpustage/pool"
	"libshmem/runtime/proxy/gpustage/progress"
	"libshmem/runtime/proxy/gpustage/pull"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// StreamQueue bounds the operations, besides marks, that an engine has in one stream. A driver
// blocks a caller that gives a stream more than its queue holds, which is some thousand.
const StreamQueue = 512

// queueSlack is room for work that cannot wait: the second halves of operations, and work that
// pools bound.
const queueSlack = MaxChunks + arrival.MaxWords + smallSlots

// Alone is shared by the engines of a PE. It makes their atomic operations on its GPU memory, done
// by reading, computing and writing, atomic together. It may only be given if only these engines
// change words atomically: no kernel, and no PE that loads and stores there. Engines that copy to
// the heap (Map) leave such operations to the owner.
type Alone = arrival.Alone

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

	memory  Memory // nil: this PE has no GPU
	streams *stream.Set
	lines   []stagedPeer
	far     []progress.PE // of the messages of each PE

	heaps    *extent.Heaps
	arrivals *arrival.Arrivals
	pulls    *pull.Pulls
	gets     gets
	writes   bool // one-sided writes are usable

	block           unsafe.Pointer // all pinned memory
	pinned          fabric.Region
	landing         pool.Pool // chunks that are read into
	leaving         pool.Pool // chunks that are copied out to
	coming          pool.Pool // slots for messages
	going           pool.Pool
	offers          []requestToSend // for leaving chunks
	ops             [layout.Tokens]operation
	offering        layout.RequestToSend   // payload of the message that is being sent
	departs         fifo.Queue[*departure] // with bytes that no copy has begun for
	ready           fifo.Queue[piece]      // copied out and not sent
	pass            uint32
	departures      []*departure // all, by number
	spareDepartures []*departure
	lost            []fabric.PE // PEs to give up in the next turn
	waits           bool        // an operation waits for room, which may come without a completion
}

// stagedPeer is what a Stage knows of one PE.
type stagedPeer struct {
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

	blocked uint32 // pass in which the PE had no room
}

// New makes a Stage for an engine. It moves this PE's GPU memory by m, and closes m in the end,
// even if New fails. Without m it moves only GPU memory of other PEs.
func New(e Engine, m Memory, c Config) (*Stage, error) {
	s := &Stage{engine: e, state: e.State(), peers: e.Peers(), memory: m}
	s.segment, s.heap = e.Segment()
	if m == nil {
		c.Alone = nil
	} else if err := s.pin(c); err != nil {
		return nil, errors.Join(fmt.Errorf("stage GPU memory: %w", err), m.Close())
	}
	caps := e.Caps()
	s.streams = stream.New(e, m, StreamQueue-queueSlack)
	s.heaps = extent.New(e)
	s.arrivals = arrival.New(e, s.streams, s.heaps, s.segment.Heap != nil, &s.coming, c.Alone)
	s.pulls = pull.New(e, s.streams, &s.landing, s.pinned.Desc, caps.MaxMessage, &s.gets)
	s.gets.engine, s.gets.streams, s.gets.slots, s.gets.heaps, s.gets.pulls = e, s.streams, &s.coming, s.heaps, s.pulls
	s.gets.segment, s.gets.desc, s.gets.localMR = s.segment, s.heap.Desc, caps.LocalMR
	return s, nil
}

// pin takes pinned memory, and registers it.
func (s *Stage) pin(c Config) error {
	if c.Chunk == 0 {
		c.Chunk = defaultChunk
	}
	if c.Chunks == 0 {
		c.Chunks = Chunks
	}
	if c.Chunk < layout.MessageSize || c.Chunk%layout.MessageSize != 0 || c.Chunks < 1 || c.Chunks > MaxChunks {
		return fmt.Errorf("%d chunks of %d bytes are not possible (take 1 to %d, each a multiple of %d)", c.Chunks, c.Chunk, MaxChunks, layout.MessageSize)
	}
	chunks, slots := c.Chunk*uint64(c.Chunks), uint64(smallSlots*layout.MessageSize)
	n := 2*chunks + 2*slots
	block, err := s.memory.Pin(n)
	if err != nil {
		return fmt.Errorf("pin %d bytes: %w", n, err)
	}
	if s.pinned, err = s.engine.Register(block, n); err != nil {
		return errors.Join(fmt.Errorf("register %d bytes: %w", n, err), s.memory.Unpin(block))
	}
	s.block = block
	s.landing = pool.New(block, c.Chunk, c.Chunks)
	s.leaving = pool.New(unsafe.Add(block, chunks), c.Chunk, c.Chunks)
	s.coming = pool.New(unsafe.Add(block, 2*chunks), layout.MessageSize, smallSlots)
	s.going = pool.New(unsafe.Add(block, 2*chunks+slots), layout.MessageSize, smallSlots)
	s.offers = make([]requestToSend, c.Chunks)
	s.state.Staging = 1
	return nil
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
	return Endpoint{Device: true, Atomics: s.arrivals.Atomics(), Extents: s.heaps.Own(), Flushes: s.heaps.Flushing()}
}

// Connect takes the endpoints of all PEs, in order. It comes after the engine's Connect.
func (s *Stage) Connect(all []Endpoint) {
	s.lines = make([]stagedPeer, len(all))
	s.far = make([]progress.PE, len(all))
	s.heaps.Connect(len(all))
	s.arrivals.Connect(s.far)
	s.pulls.Connect(s.far)
	for _, p := range []*pool.Pool{&s.landing, &s.leaving, &s.going} {
		p.Connect(len(all))
	}
	s.writes = s.engine.PutMax() > layout.MaxPayload
	for i := range all {
		l := &s.lines[i]
		l.device, l.atomics = all[i].Device, all[i].Atomics
		s.peers[i].Fewer = l.device && l.atomics&AllAtomics != AllAtomics
		s.heaps.Tell(i, all[i].Extents, all[i].Flushes)
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
	return s.state.Staging != 0 && (s.segment.OnGPU(p, n) || s.streams.Holds(p, n))
}

// Close releases what New took, and undoes RegisterHeap.
func (s *Stage) Close() error {
	if s.memory == nil {
		return nil
	}
	err := errors.Join(s.UnregisterHeap(), s.engine.Unregister(s.pinned), s.streams.Close(), s.memory.Unpin(s.block))
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
