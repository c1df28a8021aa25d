package proxy

import (
	"slices"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// notingNetwork is the provider of the operations. It returns Refuses from each call that posts.
type notingNetwork struct {
	fabric.Provider
	Refuses error
	Sent    [][]byte     // messages, in order
	Posted  []fabric.RMA // writes and reads, in order
	Memory  []byte       // the segment, without an internal area
	Fatals  []error
	Woken   int
	caps    fabric.Caps
}

// Caps returns what New was given.
func (n *notingNetwork) Caps() fabric.Caps { return n.caps }

// Register returns an empty region.
func (n *notingNetwork) Register(unsafe.Pointer, uint64) (fabric.Region, error) {
	return fabric.Region{}, nil
}

// Unregister does nothing.
func (n *notingNetwork) Unregister(fabric.Region) error { return nil }

// Connect does nothing.
func (n *notingNetwork) Connect([][]byte) error { return nil }

// Recv takes any buffer.
func (n *notingNetwork) Recv(unsafe.Pointer, int, uintptr, fabric.Token) error { return nil }

// Send notes a copy of a message.
func (n *notingNetwork) Send(op *fabric.Send) error {
	if n.Refuses == nil {
		n.Sent = append(n.Sent, slices.Clone(unsafe.Slice((*byte)(op.Buf), op.Len)))
	}
	return n.Refuses
}

// Write notes an operation.
func (n *notingNetwork) Write(op *fabric.RMA) error { return n.post(op) }

// Read notes an operation.
func (n *notingNetwork) Read(op *fabric.RMA) error { return n.post(op) }

func (n *notingNetwork) post(op *fabric.RMA) error {
	if n.Refuses == nil {
		n.Posted = append(n.Posted, *op)
	}
	return n.Refuses
}

// Wake counts its calls.
func (n *notingNetwork) Wake() { n.Woken++ }

// Close does nothing.
func (n *notingNetwork) Close() error { return nil }

// Header returns the header of the message that was sent as number i; -1: the last one.
func (n *notingNetwork) Header(i int) layout.Header {
	if i < 0 {
		i += len(n.Sent)
	}
	return *(*layout.Header)(unsafe.Pointer(&n.Sent[i][0]))
}

// unitsEach is the credit for messages to a PE, in units of one message.
const unitsEach = 64

// newOperations returns the operations of the first context of PE 0, in a job of npes PEs that can
// all be reached, and their network. The caller makes Quiets if it needs a flusher.
func newOperations(t testing.TB, npes int, caps fabric.Caps) (*operations, *notingNetwork) {
	n := &notingNetwork{caps: caps, Memory: make([]byte, 1<<16)}
	table := newTokenTable(maxBytes)
	state, peers := new(layout.State), make([]layout.Peer, npes)
	state.Job, state.Window, state.FlushAt, state.Unit = 0xb0b, unitsEach, unitsEach/2, 12
	rings := make([]uint64, flight.RingsSize(npes)/8)
	segment := mem.Segment{Base: unsafe.Pointer(&n.Memory[0]), Size: uint64(len(n.Memory))}
	o := &operations{
		State: state, Table: &table, Peers: peers,
		Net:      newNetwork(n, segment, func(err error) { n.Fatals = append(n.Fatals, err) }),
		Recorder: flight.Open(new(flight.Head), unsafe.Pointer(&rings[0]), 0, state, peers),
	}
	if err := o.Net.Open(state, &peers[0], make([]fabric.Token, layout.Receives)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Net.Close() }) // of a Network, which cannot fail
	remotes := make([]mem.Remote, npes)
	for pe := range remotes {
		remotes[pe] = mem.Remote{Base: uint64(pe) << 32, Key: uint64(pe)}
	}
	if err := o.Net.Connect(make([][]byte, npes), remotes); err != nil {
		t.Fatal(err)
	}
	return o, n
}
