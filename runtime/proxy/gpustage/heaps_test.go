package gpustage

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// heapsTestEngine keeps what heaps send and register. PE 3 cannot be reached, and PE 4 was lost.
type heapsTestEngine struct {
	Engine    // the rest of it is not called
	state     layout.State
	peers     [5]layout.Peer
	lost      map[libshmem.PE]error
	caps      fabric.Caps
	regions   int
	key       uint64
	refuse    error
	sent      map[libshmem.PE][]layout.Header
	malformed int
	fatal     error
}

func (n *heapsTestEngine) Shared() Shared {
	return Shared{Engine: stream.Engine{State: &n.state, Fatal: func(err error) { n.fatal = err }}, Peers: n.peers[:], Provider: heapsProvider{n: n}, Caps: n.caps,
		Checker: mem.Checker{Fatal: func(error) { n.malformed++ }}}
}
func (n *heapsTestEngine) Lost(pe libshmem.PE) error { return n.lost[pe] }
func (n *heapsTestEngine) Send(m Message) call.Status {
	m.Header.From = n.state.Me
	n.sent[m.PE] = append(n.sent[m.PE], m.Header)
	return call.Done
}

// heapsProvider registers memory for it.
type heapsProvider struct {
	fabric.Provider // the rest of it is not called
	n               *heapsTestEngine
}

func (p heapsProvider) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	n := p.n
	if n.refuse != nil {
		return fabric.Region{}, n.refuse
	}
	n.regions++
	n.key++
	return fabric.Region{Base: m.Base, Len: m.Len, Key: n.key}, nil
}
func (p heapsProvider) Unregister(fabric.Region) error { p.n.regions--; return p.n.refuse }

func heapsOf(me int) (*heaps, *heapsTestEngine) {
	n := &heapsTestEngine{sent: map[libshmem.PE][]layout.Header{}, lost: map[libshmem.PE]error{4: errors.New("lost")}}
	n.state.Me = uint32(me)
	return newHeaps(n), n
}

// What a PE registers before Connect is in its endpoint, and what comes later is in messages to the
// PEs that it reaches.
func TestHeapsOthersLearn(t *testing.T) {
	block := make([]byte, 4*extentUnit)
	part := func(i, units int) fabric.GPUMemory {
		return fabric.GPUMemory{Base: unsafe.Pointer(&block[i*extentUnit]), Len: uint64(units) * extentUnit}
	}
	a, an := heapsOf(0)
	b, bn := heapsOf(1)
	a.flushBy(func() {})
	if err := a.RegisterHeap(0, 0, part(0, 1)); err != nil || len(an.sent) != 0 {
		t.Fatalf("before Connect: error %v, sent %v", err, an.sent)
	}
	for _, x := range []*heaps{a, b} {
		x.connect([]mem.Remote{{}, {}, {}, {Base: mem.Nowhere}, {}})
		x.setExtents(0, a.ownExtents(), a.MustFlush())
		x.setExtents(1, b.ownExtents(), b.MustFlush())
	}
	if b.find(0, 0, extentUnit) == nil || !b.Flushes(0, 0) || b.Flushes(0, -8) || b.Flushes(1, 0) {
		t.Errorf("PE 1 knows of %+v, and flushes %v", b.Extents(0), b.Flushes(0, 0))
	}
	if err := a.RegisterHeap(extentUnit, 0, part(1, 2)); err != nil {
		t.Fatal(err)
	}
	if len(an.sent[0]) != 0 || len(an.sent[1]) != 1 || len(an.sent[2]) != 1 || len(an.sent[3])+len(an.sent[4]) != 0 || a.find(0, extentUnit, 1) == nil {
		t.Fatalf("sent %v", an.sent)
	}
	op := fabric.RMA{PE: 0, Len: 8, Remote: 7, Key: 7}
	if b.Aim(&op, extentUnit+16); op.Remote != 7 || op.Key != 7 {
		t.Errorf("aimed at %+v, which no message has announced", op)
	}
	b.handleExtent(&an.sent[1][0])
	if b.Aim(&op, extentUnit+16); op.Remote != 16 || op.Key != 2 || bn.fatal != nil {
		t.Errorf("aimed at %+v, error %v", op, bn.fatal)
	}
	if b.Aim(&op, -8); op.Remote != 16 {
		t.Error("aimed at main memory")
	}
	if b.handleExtent(&an.sent[1][0]); bn.fatal == nil || !strings.Contains(bn.fatal.Error(), "receive: PE 0: a part of the heap from 0x1000 on overlaps") {
		t.Errorf("the same part once more: error %v", bn.fatal)
	}
	if b.handleExtent(&layout.Header{Offset: -1, Token: 1}); bn.malformed != 1 {
		t.Error("a part of main memory was taken")
	}
	if r := a.region(unsafe.Pointer(&block[extentUnit+5]), 2*extentUnit-5); r == nil || r.Key != 2 || a.region(unsafe.Pointer(&block[5]), extentUnit) != nil {
		t.Errorf("region %+v", r)
	}
}

// A message about a loan counts from the time before its start to its end, and no longer.
func TestHeapsLoans(t *testing.T) {
	x, n := heapsOf(0)
	x.connect(make([]mem.Remote, 5))
	h := layout.Header{From: 1, Width: 1, Token: 1}
	x.handleExtent(&h)
	x.BeginLoan(1)
	if x.find(1, 0, 8) == nil {
		t.Error("a message that came before the loan is lost")
	}
	block := make([]byte, 8)
	if err := x.RegisterHeap(0, 1, fabric.GPUMemory{Base: unsafe.Pointer(&block[0]), Len: 8}); err != nil {
		t.Fatal(err)
	}
	if err := x.EndLoan(1); err != nil || x.find(1, 0, 8) != nil || x.Regions() != 0 || n.regions != 0 || len(x.ownExtents()) != 0 {
		t.Errorf("after the loan: error %v, %+v, %d regions", err, x.Extents(1), n.regions)
	}
	if x.handleExtent(&h); x.find(1, 0, 8) != nil {
		t.Error("a message that came after the loan counts")
	}
}

// One flush serves a turn.
func TestHeapsFlush(t *testing.T) {
	x, n := heapsOf(0)
	x.Flush()
	flushes := 0
	x.flushBy(func() { flushes++ })
	for range 2 {
		x.beginPoll()
		x.Flush()
		x.Flush()
	}
	if flushes != 2 || !n.peers[1].Behind {
		t.Errorf("%d flushes in two turns, behind %v", flushes, n.peers[1].Behind)
	}
}

// An error of the network leaves no part behind, and addresses are as the network has them.
func TestHeapsRegisterFails(t *testing.T) {
	x, n := heapsOf(0)
	block := make([]byte, 8)
	n.refuse = errors.New("no")
	m := fabric.GPUMemory{Base: unsafe.Pointer(&block[0]), Len: 8}
	if err := x.RegisterHeap(0, 0, m); !errors.Is(err, n.refuse) || x.Regions() != 0 {
		t.Errorf("error %v, %d regions", err, x.Regions())
	}
	n.refuse = nil
	if err := x.RegisterHeap(0, 0, m); err != nil {
		t.Fatal(err)
	}
	if err := x.RegisterHeap(4, 0, m); err == nil || x.Regions() != 1 || n.regions != 1 {
		t.Errorf("parts that overlap: error %v, %d regions", err, n.regions)
	}
	r := fabric.Region{Base: m.Base}
	if at := x.remote(&r, unsafe.Add(m.Base, 3)); at != 3 {
		t.Errorf("remote address %d", at)
	}
	n.caps.VirtualAddress = true
	if at := newHeaps(n).remote(&r, m.Base); at != uint64(uintptr(m.Base)) {
		t.Errorf("remote address %#x", at)
	}
	if err := x.UnregisterHeap(); err != nil || n.regions != 0 || len(x.ownExtents()) != 0 {
		t.Errorf("error %v, %d regions", err, n.regions)
	}
}
