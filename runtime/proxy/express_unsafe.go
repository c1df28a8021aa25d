package proxy

import (
	"fmt"
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
)

// Express is the part of the engine's state that C works on too, under the
// same lock and in C's memory: what it takes to inject a small message and to
// apply one. capi/core/express.c does only that, and leaves to the Engine
// whatever has to wait, to be answered or to be reported.
//
// A crossing costs 46 ns when it is measured alone. But a thread of C that
// comes into Go every few microseconds keeps the scheduler's monitor awake,
// which takes the thread's processor away each time; with two crossings a
// message half a round trip over tcp took 8.0 us where libfabric takes 5.1.
type Express struct {
	_           structs.HostLayout
	Peers       unsafe.Pointer // the first of NPEs
	Buffers     unsafe.Pointer // of the receive tokens
	Scratch     unsafe.Pointer // where a message to inject is made
	Segment     unsafe.Pointer // its start
	Internal    uint64         // bytes before the user heap
	Size        uint64         // of the segment
	Desc        uintptr        // of the buffers
	Epoch       uint64         // fences so far
	Quieted     uint64         // last generation of which every quiet is done
	Messages    uint64         // sent
	MessageSize uint64         // bytes of them
	Me, NPEs    uint32
	MaxInject   uint32
	Receives    uint32 // tokens below are receive buffers
	MaxMessage  uint32 // bytes of one
	Unordered   uint32 // 1: messages may overtake writes
	Stuck       uint32 // 1: something of the engine's own waits for room
	Failures    uint32 // 1: some generation failed
	Calm        uint32 // messages to one PE before it is asked for an answer
	Window      uint32 // messages to one PE without an answer
}

// peer is what the engine knows about one PE. C reads and writes it as struct
// shmemi_express_peer.
type peer struct {
	_    structs.HostLayout
	base uint64 // remote address of the start of its user heap
	key  uint64

	// Messages that ask for something, and how many of them the target is
	// known to have applied.
	asked     uint64
	acked     uint64
	epoch     uint64 // of the last of them
	askedThen uint64 // before the first of that epoch: a write must not overtake these

	writeEpoch uint64 // of the last one-sided write

	// One-sided writes of which completion does not tell all that quiet has to
	// know, and how many of them an answer has covered.
	wrote      uint64
	wroteAcked uint64

	// Where acked and wroteAcked have to come for the closed generation.
	goal      uint64
	goalWrote uint64

	bytes  uint64 // of one-sided operations under way
	tokens uint32 // of operations under way
	writes uint32 // in flight

	sent     uint32 // messages to it, answers included: the last sequence number
	received uint32 // messages from it that were applied, in order
	parked   uint32 // messages that wait for room
	early    uint32 // messages from it that wait for their turn

	reachable bool
	dirty     bool // in the dirty list: the open generation touched it
	flushing  bool // a flush message is under way
	unmet     bool // acked or wroteAcked is below its goal
	late      bool // in the late list: a flush found no room
}

// The layout of one of Express.Peers, for C to compare.
const (
	PeerSize     = unsafe.Sizeof(peer{})
	PeerReceived = unsafe.Offsetof(peer{}.received)
	PeerDirty    = unsafe.Offsetof(peer{}.dirty)
)

// openExpress maps the shared state, which is zero at first.
func (e *Engine) openExpress(npes int) error {
	n := unsafe.Sizeof(Express{}) + uintptr(npes)*PeerSize
	p, err := unix.MmapPtr(-1, 0, nil, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("map the state of %d PEs: %w", npes, err)
	}
	e.Express = (*Express)(p)
	e.Peers = unsafe.Add(p, unsafe.Sizeof(Express{}))
	e.peers = unsafe.Slice((*peer)(e.Peers), npes)
	e.expressBytes = n
	return nil
}

// fillExpress comes when the buffers are there.
func (e *Engine) fillExpress() {
	x := e.Express
	x.Buffers, x.Scratch, x.Desc = e.buffers, e.scratch, e.bufDesc
	x.Segment, x.Internal, x.Size = e.segment.Base, e.segment.Internal, e.segment.Size
	x.Me, x.NPEs = e.me, uint32(len(e.peers))
	x.MaxInject = uint32(min(e.caps.MaxInject, messageSize))
	x.Receives, x.MaxMessage = receives, messageSize
	x.Calm, x.Window = calm, window
	if e.unordered {
		x.Unordered = 1
	}
}

func (e *Engine) closeExpress() {
	if e.Express != nil {
		// The mapping is ours and nobody else's: unmapping it cannot fail.
		_ = unix.MunmapPtr(unsafe.Pointer(e.Express), e.expressBytes)
		e.Express, e.peers = nil, nil
	}
}

// Unposted takes note of a receive buffer that C could not post again.
func (e *Engine) Unposted(t uint32) {
	e.unposted = append(e.unposted, fabric.Token(t))
}
