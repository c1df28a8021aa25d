package proxy

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/credit"
	"libshmem/runtime/proxy/early"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/local"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/ops"
	"libshmem/runtime/proxy/quiet"
	"libshmem/runtime/proxy/report"
	"libshmem/runtime/proxy/wake"
	flow "libshmem/runtime/sequence"
)

// Engine is a context of this PE: operations on it are ordered and completed by themselves. The
// first engine is made with the port, which all contexts share, and drives it; the other contexts
// are made later (context.go). Methods are called with the lock held, unless their comments say
// otherwise or they take it.
type Engine struct {
	*layout.State
	*port
	recorder flight.Recorder
	peers    []layout.Peer

	number    uint32       // of the context; 0: the first
	drafted   fabric.Token // of the message that draftQueued has drafted; 0: none
	driving   bool         // the head of a queue is being posted
	recording bool         // the draft is a record of a batch
	jammed    bool         // the head of some queue found no room
	listed    bool         // among the contexts with a closed generation: contexts.closers
	numbers   bool         // writes may have numbers: see number.go
	spares    bool         // a write that finds the window full goes without a number
	space     flow.Space

	quiets quiet.Generations
	queues []fabric.PE // PEs whose operations wait, see queue.go; some may have none left
	parked []parked
	spare  []parked
	early  *early.Messages

	flows   []*flow.In          // by PE; nil: the PE has written nothing with a number
	dropped map[uint64]struct{} // messages that must not be applied when their turn comes
}

// port is this PE's end of the network.
type port struct {
	prov  fabric.Provider
	gpu   GPU // nil: no PE of this job has GPU memory
	caps  fabric.Caps
	table ops.Table // operations in flight

	// Operands of calls through Provider and GPU. On the stack each of them would be allocated.
	sending fabric.Send
	moving  fabric.RMA
	comps   [pollBatch]fabric.Completion
	after   layout.Header // an atomic operation, or the signal of a put, for GPU

	buffers   unsafe.Pointer // receive buffers, then one send buffer for each slot, then further receive buffers, then scratch
	scratch   unsafe.Pointer
	bufDesc   uintptr
	bufs      fabric.Region
	more      int    // number of further receive buffers: see window.go
	unordered bool   // messages may overtake writes
	armed     bool   // the loop sleeps, or is about to, until something comes from the network
	armedAt   uint32 // the count of polls then
	me        uint32

	routes  []route
	segment mem.Segment
	region  fabric.Region
	locals  local.Memory // of callers

	contexts // all that share the port
	wake.Words

	mostUnread uint64 // bytes of writes to one PE that it may not have acknowledged: see credit.go

	heldTurn uint64         // bursts that were held so far
	heldSeen uint64         // heldTurn at the loop's last look
	unposted []fabric.Token // all of State.Unposted

	mostSequences uint32
	smallWindow   uint32                // writes do not wait for windows of fewer writes
	sequences     *flow.Streams[uint32] // sequence streams; nil: the provider names the writer

	addrs       [][]byte     // of all PEs
	losses      []*LostError // by PE; nil: none is lost
	onLost      func(pe fabric.PE, err error)
	badReceives int
	suspects    []fabric.PE // PEs that get a message to find out whether they are gone, see suspect

	err    error // of the last Failed, or of the last request that ended badly
	fatal  func(error)
	Report *report.Endpoint
}

const pollBatch = 32

// errNoRoute is the error of an operation on an unreachable PE.
var errNoRoute = errors.New("no route to the PE: it gave no fabric address (start every PE with the same SHMEM_PROVIDER)")

// Endpoint is what a PE tells the others about its endpoint.
type Endpoint struct {
	Addr []byte // of the fabric endpoint
	Job  uint64 // that of PE 0 is the token of the job's messages; random if no secret gives a better one
	Base uint64 // remote address of the start of the user heap
	Key  uint64

	Window uint32 // writes with numbers that each other PE may have under way to this one; 0: none
}

// New registers the segment with an open provider. The engine owns the provider from now on, even
// if New fails. It calls fatal when the job cannot go on and no operation is there to fail.
func New(prov fabric.Provider, me, npes int, segment mem.Segment, wakers wake.Words, fatal func(error)) (*Engine, error) {
	if npes > 1<<layout.ContextShift {
		return nil, errors.Join(fmt.Errorf("a job of %d PEs is too large (start at most %d)", npes, 1<<layout.ContextShift), prov.Close())
	}
	e := &Engine{
		port: &port{
			prov: prov, caps: prov.Caps(), me: uint32(me), segment: segment, Words: wakers,
			mostUnread: credit.Unread(npes), mostSequences: sequencesMost, smallWindow: smallWindow, fatal: fatal,
		},
		parked: make([]parked, 0, 64), spare: make([]parked, 0, 64),
		early: early.New(),
	}
	e.first = e
	e.unordered, e.table = !e.caps.SendAfterWrite, ops.New(credit.Bytes(&e.caps))
	e.space = flow.Space{Bits: flow.Default.Bits, Window: e.advertisedWindow(npes)}
	e.more = credit.MoreReceives(npes, e.space.Window, &e.caps)
	e.KeepRegistered(nil, mrcache.Limits{})
	if err := e.openFastPath(npes); err != nil {
		return nil, errors.Join(err, prov.Close())
	}
	var err error
	if e.region, err = prov.Register(segment.Base, segment.Registered()); err != nil {
		e.closeFastPath()
		return nil, errors.Join(fmt.Errorf("register symmetric heap of %d bytes: %w", segment.Registered(), err), prov.Close())
	}
	if err := e.allocateBuffers(); err != nil {
		e.closeFastPath()
		return nil, errors.Join(err, prov.Close())
	}
	e.fillFastPath()
	return e, nil
}

// Endpoint returns the data with which the other PEs reach this one.
func (e *Engine) Endpoint() Endpoint {
	base := e.segment.Internal
	if e.caps.VirtualAddress {
		base += uint64(uintptr(e.segment.Base))
	}
	return Endpoint{Addr: e.prov.Addr(), Job: chance(), Base: base, Key: e.region.Key, Window: e.space.Window}
}

func chance() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:])
}

// Caps reports what the provider granted.
func (e *Engine) Caps() fabric.Caps { return e.caps }

// Native returns the provider's C functions.
func (e *Engine) Native() fabric.Native { return e.prov.Native() }

// Connect takes the endpoints of all PEs, in order; one without an address
// stays unreachable. Then it posts the receive buffers.
func (e *Engine) Connect(all []Endpoint) error {
	if e.segment.Heap != nil && e.Staging == 0 {
		return errors.New("connect: the heap is GPU memory, and the engine has no GPU to copy it with")
	}
	addrs := make([][]byte, len(all))
	e.routes = make([]route, len(all))
	e.addrs = addrs
	e.Job = all[0].Job
	for i, end := range all {
		addrs[i] = end.Addr
		if e.routes[i] = (route{end.Base, end.Key}); len(end.Addr) == 0 {
			e.routes[i].base = nowhere
		}
	}
	e.agreeOnWindow(all)
	e.openNumbers()
	if err := e.prov.Connect(addrs); err != nil {
		return fmt.Errorf("connect %d PEs: %w", len(all), err)
	}
	for i := range receives + e.more {
		t := fabric.Token(i)
		if i >= receives {
			t += tokens - receives
		}
		if err := e.postReceive(t); err != nil {
			return err
		}
	}
	return nil
}

// route is the address of a PE's memory. It is kept apart from the peer, which is twenty times as
// large: a PE of a large job works with few others, and the memory for the rest is never touched.
type route struct {
	base uint64 // remote address of the start of its user heap, or nowhere
	key  uint64
}

// nowhere is the base of a PE that gave no address.
const nowhere = ^uint64(0)

// routed reports whether operations on a PE may be posted. The first operation finds it out.
func (e *Engine) routed(p *layout.Peer, pe fabric.PE) bool { return p.Reachable || e.meet(p, pe) }

func (e *Engine) meet(p *layout.Peer, pe fabric.PE) bool {
	if p.Reachable = e.has(pe); p.Reachable {
		e.startNumbers(p)
		e.recorder.Deal(pe)
	}
	return p.Reachable
}

// has reports whether there is a path to a PE.
func (e *Engine) has(pe fabric.PE) bool {
	return int(pe) < len(e.routes) && e.routes[pe].base != nowhere && !e.isLost(pe)
}

// Close releases the network. No thread polls any more.
func (e *Engine) Close() error {
	var err error
	if e.gpu != nil {
		err = e.gpu.Close()
	}
	err = errors.Join(err, e.locals.Close(), e.prov.Unregister(e.region))
	if err2 := e.prov.Unregister(e.bufs); err == nil {
		err = err2
	}
	if err2 := e.prov.Close(); err == nil {
		err = err2
	}
	e.freeBuffers()
	e.closeContexts()
	e.closeFastPath()
	return err
}

// Err returns the reason of the last Failed, and of a request's status.
func (e *Engine) Err() error { return e.err }

func (e *Engine) fail(err error) Status {
	e.err = err
	return Failed
}
