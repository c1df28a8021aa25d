package proxy

import (
	"fmt"
	"structs"
	"unsafe"

	"libshmem/fabric"
	flow "libshmem/runtime/order"
	"libshmem/runtime/proxy/express"

	"golang.org/x/sys/unix"
)

// Express is the part of the engine's state that C works on too, under the
// same lock and in C's memory: what it takes to inject a small message, to apply
// one and to have a PE say how far it is. express/express.h does only that, and
// leaves to the Engine whatever has to wait or to be reported.
//
// A crossing costs 46 ns when it is measured alone. But a thread of C that
// comes into Go every few microseconds keeps the scheduler's monitor awake,
// which takes the thread's processor away each time; with two crossings a
// message half a round trip over tcp took 8.0 us where libfabric takes 5.1.
type Express struct {
	_          structs.HostLayout
	Peers      unsafe.Pointer // the first of NPEs
	Dirty      unsafe.Pointer // PEs that the open generation has touched, NDirty of them
	Unposted   unsafe.Pointer // receive tokens that the provider had no room for, NUnposted of them
	Buffers    unsafe.Pointer // of the receive tokens
	Scratch    unsafe.Pointer // where a message to inject is made
	Segment    unsafe.Pointer // its start
	Internal   uint64         // bytes before the user heap
	Size       uint64         // of the segment
	Reach      uint64         // of the part of it that is main memory
	Streams    unsafe.Pointer // the Express of each stream but the first, by number; nil where there is none
	Shown      unsafe.Pointer // Peers of the first stream, whose rings of events all streams share
	Records    unsafe.Pointer // the rings: see record_unsafe.go
	Desc       uintptr        // of the buffers
	Job        uint64         // the token of the job's messages
	Epoch      uint64         // fences so far
	Quieted    uint64         // last generation of which every quiet is done
	Finished   uint64         // requests that are done: who has many open looks at them only when it has moved
	Tick       uint64         // the time of the events of this turn; 0: each looks at the clock
	Me, NPEs   uint32         // Me with the number of the stream, as messages have it
	MaxInject  uint32
	Receives   uint32 // tokens below are receive buffers
	Tokens     uint32 // and MoreRecv tokens from here on
	MoreRecv   uint32
	MaxMessage uint32 // bytes of one
	Stuck      uint32 // 1: something of the engine's own waits for room
	Failures   uint32 // 1: some generation failed
	Calm       uint32 // units of messages to one PE before it is asked for an answer
	Window     uint32 // units to one PE without an answer: see credits
	Unit       uint32 // a message of n bytes takes 1 + (n-1)>>Unit of them
	NDirty     uint32
	NUnposted  uint32
	Attention  uint32 // 1: the engine's thread is to come out of C; any thread sets it, without the lock
	Burst      uint32 // operations of callers in a row, which C counts: see merge.go
	Held       uint32 // batches of bursts that are held; who polls comes into Go for them
	Staging    uint32 // 1: local buffers may be GPU memory, which only Go can move
	Busy       uint32 // who polls comes into Go, for what ends without a completion; 1: copies of the GPU's, 2: bytes that wait for room
	Batching   uint32 // 1: small operations share messages from the first one on; C sets it
	Coarse     uint32 // 1: the processor has no counter that tells the time
	Rings      uint32 // that were dealt
	Polls      uint32 // looks at the network, by whichever thread
}

// peer is what the engine knows about one PE. C reads and writes it as struct
// shmemi_express_peer.
type peer struct {
	_ structs.HostLayout

	// Messages that ask for something, in units of credits, and how many of
	// them the target is known to have applied.
	asked     uint64
	acked     uint64
	epoch     uint64 // of the last of them
	askedThen uint64 // before the first of that epoch: a write must not overtake these

	writeEpoch uint64 // of the last one-sided write

	// Bytes of one-sided writes whose completion does not tell that they are at the
	// target, and how many of them an answer has covered.
	wrote      uint64
	wroteAcked uint64

	// Where acked and wroteAcked have to come for the closed generation.
	goal      uint64
	goalWrote uint64

	// What the answer to the last flush covers, and how many there were.
	flushAsked uint64
	flushWrote uint64

	bytes  uint64 // of one-sided operations under way
	tokens uint32 // of operations under way
	writes uint32 // in flight

	sent     uint32 // messages to it, answers included: the last sequence number
	received uint32 // messages from it that were applied, in order
	parked   uint32 // messages that wait for room
	early    uint32 // messages from it that wait for their turn

	flushTurn uint32

	// Numbers of writes, on a network without order: see number.go.
	out    flow.Out
	edge   uint32 // so many of its writes are in
	stream uint32
	bare   uint32 // writes in flight without a number, which messages may overtake

	// What waits to be posted to it: see queue.go.
	queued      uint32
	first, last uint32         // tokens
	batchUsed   uint32         // bytes of batch
	batch       unsafe.Pointer // the last of them, while it may grow: see merge.go; C adds to it
	batchEpoch  uint64

	reachable bool // it was found so, and nothing was lost since
	dirty     bool // in the dirty list: the open generation touched it
	flushing  bool // a flush message is under way
	unmet     bool // acked or wroteAcked is below its goal
	late      bool // in the late list: a flush found no room
	staged    bool // operations on it may have to follow bytes that wait to be sent: C leaves them to Go
	behind    bool // messages of it may have to follow bytes that have not come: C leaves them to Go
	listed    bool // in the list of queues
	fewer     bool // it does not do all atomic operations on its GPU memory: Go refuses those

	// The flight recorder, of the first stream's peers for all.
	ring     uint32 // not 0 once the PE was found reachable
	recorded uint32 // events, ever

	count [Counted]uint64 // by Counter
}

// C has the same layout.
var (
	_ [express.ExpressSize]byte      = [unsafe.Sizeof(Express{})]byte{}
	_ [express.ExpressEpoch]byte     = [unsafe.Offsetof(Express{}.Epoch)]byte{}
	_ [express.ExpressRecords]byte   = [unsafe.Offsetof(Express{}.Records)]byte{}
	_ [express.ExpressTick]byte      = [unsafe.Offsetof(Express{}.Tick)]byte{}
	_ [express.ExpressRings]byte     = [unsafe.Offsetof(Express{}.Rings)]byte{}
	_ [express.ExpressWindow]byte    = [unsafe.Offsetof(Express{}.Window)]byte{}
	_ [express.ExpressAttention]byte = [unsafe.Offsetof(Express{}.Attention)]byte{}
	_ [express.PeerSize]byte         = [unsafe.Sizeof(peer{})]byte{}
	_ [express.PeerReceived]byte     = [unsafe.Offsetof(peer{}.received)]byte{}
	_ [express.PeerLate]byte         = [unsafe.Offsetof(peer{}.late)]byte{}
	_ [express.PeerRecorded]byte     = [unsafe.Offsetof(peer{}.recorded)]byte{}
	_ [express.PeerCount]byte        = [unsafe.Offsetof(peer{}.count)]byte{}
	_ [express.CompletionSize]byte   = [unsafe.Sizeof(fabric.Completion{})]byte{}
)

// openExpress maps the shared state, which is zero at first.
func (e *Engine) openExpress(npes int) error {
	const peerSize, number = unsafe.Sizeof(peer{}), unsafe.Sizeof(fabric.PE(0))
	lists := uintptr(npes+receives+e.more+1) / 2 * 2 * number // what is behind them is aligned
	n := unsafe.Sizeof(Express{}) + uintptr(npes)*peerSize + lists + streamsOpen*unsafe.Sizeof(uintptr(0))
	n = recordsAt(n)
	p, err := e.openShown(npes, n+uintptr(npes+1)*unsafe.Sizeof(ring{}))
	if err != nil {
		return fmt.Errorf("map the state of %d PEs: %w", npes, err)
	}
	e.Express = (*Express)(p)
	e.Peers = unsafe.Add(p, unsafe.Sizeof(Express{}))
	e.peers = unsafe.Slice((*peer)(e.Peers), npes)
	e.Dirty = unsafe.Add(e.Peers, uintptr(npes)*peerSize)
	e.dirty = unsafe.Slice((*fabric.PE)(e.Dirty), npes)
	e.Unposted = unsafe.Add(e.Dirty, uintptr(npes)*number)
	e.unposted = unsafe.Slice((*fabric.Token)(e.Unposted), receives+e.more)
	e.Streams = unsafe.Add(e.Dirty, lists)
	e.Shown = e.Peers
	e.openRecords(unsafe.Add(p, n), npes)
	return nil
}

// streamTable is where C finds the state of the streams but the first: without others
// it costs no memory.
func (e *Engine) streamTable() *[streamsOpen]*Express {
	return (*[streamsOpen]*Express)(e.first.Streams)
}

// openContext maps the state of one more stream. Nobody else looks at it: what it
// counts is added to what the first one shows.
func (e *Engine) openContext(npes int) error {
	const peerSize, number = unsafe.Sizeof(peer{}), unsafe.Sizeof(fabric.PE(0))
	n := unsafe.Sizeof(Express{}) + uintptr(npes)*(peerSize+number)
	p, err := unix.MmapPtr(-1, 0, nil, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("map the state of a stream to %d PEs: %w", npes, err)
	}
	e.Express = (*Express)(p)
	e.Peers = unsafe.Add(p, unsafe.Sizeof(Express{}))
	e.peers = unsafe.Slice((*peer)(e.Peers), npes)
	e.Dirty = unsafe.Add(e.Peers, uintptr(npes)*peerSize)
	e.dirty = unsafe.Slice((*fabric.PE)(e.Dirty), npes)
	e.shareRecords()
	return nil
}

func (e *Engine) closeContext() {
	const peerSize, number = unsafe.Sizeof(peer{}), unsafe.Sizeof(fabric.PE(0))
	// The mapping is ours and nobody else's: unmapping it cannot fail.
	_ = unix.MunmapPtr(unsafe.Pointer(e.Express), unsafe.Sizeof(Express{})+uintptr(len(e.peers))*(peerSize+number))
}

// fillExpress comes when the buffers are there.
func (e *Engine) fillExpress() {
	x := e.Express
	x.Buffers, x.Scratch, x.Desc = e.buffers, e.scratch, e.bufDesc
	x.Segment, x.Internal = e.segment.Base, e.segment.Internal
	x.Size, x.Reach = e.segment.Size, e.segment.registered()
	x.Me, x.NPEs = e.number<<streamShift|e.me, uint32(len(e.peers))
	x.MaxInject = uint32(min(e.caps.MaxInject, messageSize))
	x.Receives, x.Tokens, x.MoreRecv, x.MaxMessage = receives, tokens, uint32(e.more), messageSize
	x.Window, x.Unit = credits(len(e.peers))
	x.Calm = x.Window / 2
}

func (e *Engine) closeExpress() {
	if e.Express != nil {
		// The mapping is ours and nobody else's: unmapping it cannot fail.
		_ = e.page.Close()
		e.Express, e.shown, e.peers, e.rings, e.dirty, e.unposted = nil, nil, nil, nil, nil, nil
	}
}
