package gpustage

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// StreamQueue is the largest number of operations, besides marks, that an engine has in one stream.
// A driver blocks a caller that puts more into a stream than its queue can hold, which is some
// thousand.
const StreamQueue = 576

// Config configures a Stage. The zero value is usable.
type Config struct {
	Chunk  uint64       // bytes of one chunk; 0: 1 MiB
	Chunks int          // number of chunks for incoming bytes, and of those for outgoing bytes; 0: the constant Chunks
	Lock   *AtomicsLock // nil: atomic operations that Memory.Atomic cannot do are refused
	// Grace is how long messages of a PE are held back after the bytes of one of its puts could not
	// be read; 0: the constant grace.
	Grace time.Duration
}

// Stage moves bytes of GPU memory for an engine: of this PE's GPU, and of what it knows of the GPU
// memory of other PEs. A job without GPU memory has no Stage.
//
// Bytes that a message cannot hold, and that the fabric cannot read or write at one of the two
// sides, are pulled. The PE that has the bytes sends a request to send for registered main memory:
// its heap, a buffer of the program, or a chunk that a copy engine has filled. The other PE reads
// the bytes: directly to their destination if that is main memory, otherwise into a chunk that a
// copy engine empties. Puts of up to 64 KiB (maxShared) that wait together share a chunk and a
// request. So neither PE reserves memory for the other, the provider need not order writes and
// messages, and the PE that reads frees its chunk without a message of the other.
type Stage struct {
	*heaps

	engine   Engine
	state    *layout.State
	peers    []layout.Peer
	provider fabric.Provider
	segment  mem.Segment
	check    mem.Checker
	owners   owners
	writes   bool          // the fabric has one-sided writes that the Stage can use
	lost     []libshmem.PE // PEs that were lost since the last poll

	// For the request to send that is being handled: its payload, the destinations of its pieces,
	// the pieces in the order of posting, and one signal of it.
	requested layout.Requests
	pieces    []pullPiece
	order     [layout.MaxPieces]uint8
	after     layout.Header

	memory   stream.Memory // nil: this PE has no GPU
	pinned   pinned
	streams  *stream.Set
	arrivals *arrivals
	pulls    *pulls
	gets     *gets
	departs  *departures
	puts     *puts
	copies   *copies
}

// New makes a Stage for an engine. The Stage moves this PE's GPU memory with m, and closes m in the
// end, even if New fails. Without m it moves only bytes to and from GPU memory of other PEs.
func New(e Engine, m stream.Memory, c Config) (*Stage, error) {
	x := e.Shared()
	s := &Stage{engine: e, state: x.State, peers: x.Peers, provider: x.Provider, memory: m}
	p := &s.pinned
	if m == nil {
		c.Lock = nil
	} else if err := p.open(x.Provider, m, c); err != nil {
		return nil, errors.Join(fmt.Errorf("stage GPU memory: %w", err), m.Close())
	} else {
		s.state.Staging = 1
	}
	segment, heap := *x.Checker.Segment, x.Region
	s.segment, s.check = segment, x.Checker
	s.streams = stream.New(x.Engine, m, StreamQueue-queueSlack)
	if m != nil {
		s.streams.Aside(stream.In, p.aside, asideBytes)
		s.streams.Aside(stream.Peer, unsafe.Add(p.aside, asideBytes), asideBytes)
	}
	s.heaps = newHeaps(e)
	s.arrivals = newArrivals(e, s.streams, s.heaps, segment.Heap != nil || segment.Regions != nil && m != nil, &p.inSlots, c.Lock)
	s.gets = &gets{engine: e, check: x.Checker, streams: s.streams, slots: &p.inSlots, heaps: s.heaps, segment: segment, desc: heap.Desc, localMR: x.Caps.LocalMR}
	s.pulls = newPulls(e, s.streams, &p.inChunks, p.region.Desc, x.Caps.MaxMessage, s.gets)
	s.gets.pulls = s.pulls
	if c.Grace > 0 {
		s.pulls.grace = c.Grace
	}
	out := departureMemory{Chunks: &p.outChunks, Slots: &p.outSlots, Key: p.region.Key, Remote: s.heaps.remote(&p.region, p.outChunks.At(0))}
	s.departs = newDepartures(e, s.streams, out, func(t fabric.Token) { s.copies.HandleBegun(t) })
	s.puts = &puts{engine: e, check: x.Checker, state: s.state, heaps: s.heaps, departs: s.departs, owners: &s.owners, segment: segment, heap: heap}
	s.copies = newCopies(e, s.streams, &p.outSlots, s.departs)
	return s, nil
}

// FlushBy sets the function to call before anything uses bytes that a NIC has written to the user
// heap. It is called before Connect, and only if the GPU needs flushes.
func (s *Stage) FlushBy(f func() error) { s.flushBy(func() { s.streams.FailOn(f()) }) }

// Region returns the registration of n bytes at p of this PE's heap, or nil if NICs do not reach
// them. flush says that the GPU sees bytes that a NIC has written to them only after a flush.
func (s *Stage) Region(p unsafe.Pointer, n uint64) (r *fabric.Region, flush bool) {
	return s.region(p, n), s.MustFlush()
}

// Endpoint describes a PE's GPU memory to the others.
type Endpoint struct {
	Device  bool     // the user heap is GPU memory
	Atomics uint64   // the atomic operations that the PE supports there, by stream.AtomicBit
	Extents []Extent // parts that the fabric reaches; messages may announce more later
	Flushes bool     // the PE has to flush writes of the fabric there
}

// Endpoint returns the data with which the other PEs reach this PE's GPU memory.
func (s *Stage) Endpoint() Endpoint {
	if s.segment.Heap == nil {
		return Endpoint{}
	}
	return Endpoint{Device: true, Atomics: s.arrivals.Atomics(), Extents: s.heaps.ownExtents(), Flushes: s.heaps.MustFlush()}
}

// Connect gets the endpoints of all PEs, in order: which of them have heaps in GPU memory, the
// atomic operations that they support there, and the extents that NICs reach. It is called after
// the engine's Connect.
func (s *Stage) Connect(all []Endpoint) {
	x := s.engine.Shared()
	s.writes = x.PutMax > layout.MaxPut
	perPE := make([]progress, len(all))
	s.arrivals.Connect(perPE)
	s.pulls.Connect(perPE)
	s.departs.Connect(len(all))
	s.copies.Connect(len(all))
	s.pinned.connect(len(all))
	s.owners = owners{make([]owner, len(all)), x.Remotes}
	s.heaps.connect(x.Remotes)
	for i := range all {
		s.owners.all[i] = owner{all[i].Device, all[i].Atomics}
		// The engine refuses atomic operations that the PE does not do on its GPU memory.
		s.peers[i].Fewer = all[i].Device && all[i].Atomics&stream.AllAtomics != stream.AllAtomics
		s.heaps.setExtents(libshmem.PE(i), all[i].Extents, all[i].Flushes)
	}
}

// Map sets where the user heap of pe is mapped in this process. From then on copies between the
// GPUs replace the fabric. It is called after Connect.
func (s *Stage) Map(pe libshmem.PE, heap unsafe.Pointer) {
	s.copies.Map(pe, heap, s.owners.all[pe].othersMaySet())
	s.departs.StageAlways(pe)
}

// Close releases the memory and streams that New allocated, and undoes RegisterHeap.
func (s *Stage) Close() error {
	if s.memory == nil {
		return nil
	}
	err := errors.Join(s.UnregisterHeap(), s.provider.Unregister(s.pinned.region), s.streams.Close(), s.memory.Unpin(s.pinned.block))
	s.memory = nil
	return err
}

// Supports reports whether a PE supports an atomic operation on its user heap.
func (s *Stage) Supports(pe libshmem.PE, op fabric.Op, width uint8) bool {
	return s.owners.refuse(pe, 0, op, width) == nil
}
