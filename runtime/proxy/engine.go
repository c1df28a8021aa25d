package proxy

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

// Engine is a context of this PE. Each context orders and completes its own operations. The first
// engine is made with the port, which all contexts share, and drives it; the other contexts are
// made later (context.go). Methods are called with the lock held, unless their comments say
// otherwise or they lock it themselves.
type Engine struct {
	*layout.State
	*port
	listed bool // the context is in contexts.closingContexts, those with a closed generation

	ops operations
	rma transfers
	out sender
	in  receiver
}

// port has what all contexts of this PE share over one provider.
type port struct {
	gpu *gpustage.Stage // nil: no PE of this job has GPU memory

	// Operands of calls through the interface Provider and of the GPU stage. As local variables
	// they would be allocated on the Go heap.
	comps [pollBatch]fabric.Completion
	after layout.Header // an atomic operation, or the signal of a put, for the GPU stage

	me uint32

	contexts // all that share the port
	wake.Words
	armedAt uint32 // the count of polls when the proxy thread went to sleep

	bursts bursts // counts, for all contexts, the batches held for more small operations, in the first context's State

	maxSequences uint32

	farewells []farewell // PEs whose replies this PE awaits before it leaves: see leave.go
	leaving   bool

	Report *Report
}

// pollBatch is the most completions that one Poll of the provider returns.
const pollBatch = 32

// Endpoint describes a PE's endpoint to the other PEs.
type Endpoint struct {
	Addr []byte    // of the fabric endpoint
	Job  uint64    // PE 0's is the token of the job's messages; random if no secret gives a better one
	Seal [2]uint64 // PE 0's is the key of the messages' seals; 0: they have none
	Base uint64    // remote address of the start of the user heap: see network.Base
	Key  uint64    // of the registration of the segment, for operations at Base

	Window uint32 // writes with numbers that each other PE may have under way to this one; 0: none
}

// New makes the engine of PE me of npes on an open provider, and registers the segment with the
// provider. The engine owns the provider from now on, even if New fails. wakers are the lock and
// the futex words that the engine shares with callers in C. The engine calls fatal when the job
// cannot go on and the error belongs to no operation.
func New(prov fabric.Provider, me, npes int, segment mem.Segment, wakers wake.Words, fatal func(error)) (*Engine, error) {
	if npes > 1<<layout.ContextShift {
		return nil, errors.Join(fmt.Errorf("a job of %d PEs is too large (start at most %d)", npes, 1<<layout.ContextShift), prov.Close())
	}
	e := &Engine{
		port: &port{
			me: uint32(me), maxSequences: maxSequences,
		},
		ops: operations{Net: newNetwork(prov, segment, fatal)},
	}
	e.first, e.Words = e, wakers
	table := newTokenTable(maxBytesUnderWay(&e.ops.Net.Caps))
	e.ops.Table = &table
	e.compose(unreadBytes(npes))
	e.rma.Numbers.Advertise(e.ops.Net, npes)
	e.ops.Net.More = moreReceives(npes, e.rma.Numbers.Space.Window, &e.ops.Net.Caps)
	if err := e.openFastPath(npes); err != nil {
		return nil, errors.Join(err, prov.Close())
	}
	if err := e.ops.Net.Open(e.State, &e.ops.Peers[me], e.unpostedList()); err != nil {
		e.closeFastPath()
		return nil, errors.Join(err, prov.Close())
	}
	e.shareNetwork()
	e.fillFastPath()
	return e, nil
}

// compose makes the parts of a context, and sets their pointers to each other.
func (e *Engine) compose(maxUnread uint64) {
	e.rma = transfers{operations: &e.ops, Messages: &e.out, MaxUnread: maxUnread}
	e.out = newSender(&e.ops, &e.rma, &e.bursts, e)
	e.in = newReceiver(&e.ops, &e.out, &e.rma.Numbers)
}

// shareNetwork passes to the parts of a context the objects that exist only after the state is
// mapped and the network is open.
func (e *Engine) shareNetwork() {
	e.bursts.First = e.first.State
	e.out.Open()
	e.in.Open(e.Report, e.first.ops.Peers)
	e.use(e.gpu)
}

// Endpoint returns the data with which the other PEs reach this one.
func (e *Engine) Endpoint() Endpoint {
	return Endpoint{Addr: e.ops.Net.Provider.Addr(), Job: random64(), Base: e.ops.Net.Base(), Key: e.ops.Net.Region.Key, Window: e.rma.Numbers.Space.Window}
}

// random64 returns a random number, to serve as a token that no other job has.
func random64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:])
}

// Caps returns the features that the provider has granted.
func (e *Engine) Caps() fabric.Caps { return e.ops.Net.Caps }

// Native returns the provider's C functions.
func (e *Engine) Native() fabric.Native { return e.ops.Net.Provider.Native() }

// Connect gets the endpoints of all PEs, in order; a PE without an address stays unreachable. The
// window of numbered writes becomes the smallest one that a PE has announced. Then it posts the
// receive buffers.
func (e *Engine) Connect(all []Endpoint) error {
	if e.ops.Net.Segment.Heap != nil && e.Staging == 0 {
		return errors.New("connect: the heap is GPU memory, and the engine has no GPU to copy it with")
	}
	addrs, remotes := make([][]byte, len(all)), make([]mem.Remote, len(all))
	e.Job, e.Seal = all[0].Job, all[0].Seal
	for i, endpoint := range all {
		addrs[i] = endpoint.Addr
		if remotes[i] = (mem.Remote{Base: endpoint.Base, Key: endpoint.Key}); len(endpoint.Addr) == 0 {
			remotes[i].Base = mem.Nowhere
		} else {
			e.rma.Numbers.Agree(endpoint.Window)
			if e.ops.Net.Segment.Regions != nil {
				remotes[i].Regions = &mem.RemoteRegions{}
			}
		}
	}
	if e.rma.Numbers.Open(e.ops.Net); e.rma.Numbers.On {
		e.in.OpenNumbers(e.maxSequences)
	}
	return e.ops.Net.Connect(addrs, remotes)
}

// Close releases the GPU stage, the network, the contexts and the state that C reads, in this
// order. No thread may poll any more.
func (e *Engine) Close() error {
	if e.State != nil {
		e.Report.ReportDropped()
	}
	var err error
	if e.gpu != nil {
		err = e.gpu.Close()
	}
	err = errors.Join(err, e.ops.Net.Close())
	e.closeContexts()
	e.closeFastPath()
	return err
}

// KeepRegistered makes the engine leave callers' memory registered from one operation to the next,
// if the provider needs registered memory. With a nil watch it registers anew for each operation.
// The engine closes the watch.
func (e *Engine) KeepRegistered(watch mrcache.Watch, limits mrcache.Limits) {
	e.ops.Net.KeepRegistered(watch, limits)
}

// Registered returns the counts of registrations of callers' memory.
func (e *Engine) Registered() mrcache.Counts { return e.ops.Net.Locals.Counts() }

// WriteWindow returns how many numbered writes this PE may have under way to each other one, once
// it is connected; 0: writes have no numbers.
func (e *Engine) WriteWindow() uint32 { return e.rma.Numbers.Window() }

// CountNotifications sets, before the first operation, where the notification counters of each PE
// are: words of 8 bytes, the first at an offset, the same on all PEs. A put whose signal is an
// addition of 1 to one of them is a put with a notification.
func (e *Engine) CountNotifications(offset libshmem.Offset, counters int) {
	e.rma.Numbers.Counters = notificationCounters{Offset: offset, Count: uint32(counters)}
}

// Err returns why the last operation returned Failed, or why the last request failed.
func (e *Engine) Err() error { return e.ops.Net.Err }
