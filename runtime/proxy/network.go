package proxy

import (
	"errors"
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// network is this PE's end of one network: the provider, the registration of the symmetric segment
// and of callers' memory, the message buffers, the addresses of other PEs' memory, and the list of
// lost PEs. It knows neither the meaning of a message nor the operations under way. Memory order
// is the provider's. All contexts of an engine share it.
type network struct {
	Provider  fabric.Provider
	Caps      fabric.Caps // what the provider granted
	Segment   mem.Segment
	Region    fabric.Region // of the segment
	Unordered bool          // messages may overtake writes
	Armed     bool          // the loop sleeps, or is about to, until the network has a completion
	Locals    localMemory   // registrations of callers' memory
	Err       error         // the reason of the last Failed, or of the last request that failed
	Fatal     func(error)   // ends the job, after an error that belongs to no operation

	Buffers unsafe.Pointer // receive buffers, one send buffer for each token, further receive buffers, scratch, small send buffers
	Scratch unsafe.Pointer // for injected messages
	Desc    uintptr        // of the buffers
	More    int            // number of further receive buffers
	bufs    fabric.Region

	state    *layout.State  // of the first context
	own      *layout.Peer   // the first context's record of this PE
	Unposted []fabric.Token // State.Unposted with all of its entries

	// Remotes are the memories of all PEs. They are stored apart from the peers, which are twenty
	// times as large: a PE of a large job works with few others, and the memory for the rest is
	// never touched.
	Remotes []mem.Remote
	addrs   [][]byte // of all PEs

	OnLost      func(pe libshmem.PE, err error) // see Engine.OnLost; nil: a loss ends the job
	members     memberHooks
	losses      []*LostError  // by PE; nil: no PE is lost
	badReceives int           // receives whose message broke off, see HandleFailedReceive
	suspects    []libshmem.PE // PEs that get a test message, because they may be gone
}

// errUnreachable is the error of an operation on an unreachable PE.
var errUnreachable = errors.New("no route to the PE: it gave no fabric address (start every PE with the same SHMEM_PROVIDER)")

// newNetwork returns the network of an open provider, before Open and Connect.
func newNetwork(prov fabric.Provider, segment mem.Segment, fatal func(error)) *network {
	e := &network{Provider: prov, Caps: prov.Caps(), Segment: segment, Fatal: fatal}
	e.Unordered = !e.Caps.SendAfterWrite
	e.KeepRegistered(nil, mrcache.Limits{})
	return e
}

// Open registers the segment and maps the message buffers. state is that of the first context, own
// its record of this PE, and unposted the list for the tokens of receive buffers that the provider
// does not accept because its queue is full.
func (e *network) Open(state *layout.State, own *layout.Peer, unposted []fabric.Token) error {
	e.state, e.own, e.Unposted = state, own, unposted
	var err error
	if e.Region, err = e.Provider.Register(e.Segment.Base, e.Segment.Registered()); err != nil {
		return fmt.Errorf("register symmetric heap of %d bytes: %w", e.Segment.Registered(), err)
	}
	return e.allocateBuffers()
}

// Checker returns the mem.Checker, which finds the memory of this PE to which messages refer.
func (e *network) Checker() mem.Checker {
	return mem.Checker{
		Segment: &e.Segment, Fatal: func(err error) { e.Fatal(err) },
		Misuse: func(pe libshmem.PE, reason string) { e.members.misuse(pe, reason) },
	}
}

// Base returns the remote address of the start of this PE's user heap: an offset in the region or,
// if the provider uses virtual addresses (FI_MR_VIRT_ADDR), an address.
func (e *network) Base() uint64 {
	base := e.Segment.Internal
	if e.Caps.VirtualAddress {
		base += uint64(uintptr(e.Segment.Base))
	}
	return base
}

// Connect connects the provider with all PEs, and posts the receive buffers. addrs and remotes have
// one entry for each PE. The tokens of further receive buffers (More) begin after those of
// operations.
func (e *network) Connect(addrs [][]byte, remotes []mem.Remote) error {
	e.addrs, e.Remotes = addrs, remotes
	if err := e.Provider.Connect(addrs); err != nil {
		return fmt.Errorf("connect %d PEs: %w", len(addrs), err)
	}
	for i := range layout.Receives + e.More {
		t := fabric.Token(i)
		if i >= layout.Receives {
			t += layout.Tokens - layout.Receives
		}
		if err := e.PostReceive(t); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the registrations, closes the provider and frees the buffers, all even after an error.
// It returns the first error, where the errors of Locals and of the heap's registration count as one.
func (e *network) Close() error {
	err := errors.Join(e.Locals.Close(), e.Provider.Unregister(e.Region))
	if err2 := e.Provider.Unregister(e.bufs); err == nil {
		err = err2
	}
	if err2 := e.Provider.Close(); err == nil {
		err = err2
	}
	e.FreeBuffers()
	return err
}

// KeepRegistered makes the endpoint leave callers' memory registered from one operation to the
// next, if the provider needs registered memory. With a nil watch each registration ends with its
// operation. The endpoint closes the watch.
func (e *network) KeepRegistered(watch mrcache.Watch, limits mrcache.Limits) {
	e.Locals = newLocalMemory(e.Provider, watch, limits)
}

// Fail stores the reason of a Failed for Engine.Err, and returns that status.
func (e *network) Fail(err error) call.Status {
	e.Err = err
	return call.Failed
}

// Wake ends the sleep of the loop, if it sleeps.
func (e *network) Wake() {
	if e.Armed {
		e.Armed = false
		e.Provider.Wake()
	}
}

// Reachable reports whether there is a path to a PE.
func (e *network) Reachable(pe libshmem.PE) bool {
	return int(pe) < len(e.Remotes) && e.Remotes[pe].Base != mem.Nowhere && !e.IsLost(pe)
}

// Address returns the address of a PE's endpoint.
func (e *network) Address(pe libshmem.PE) []byte { return e.addrs[pe] }
