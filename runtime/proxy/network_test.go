package proxy

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// receiveNetwork is a provider that takes as many receive buffers as there is room for.
type receiveNetwork struct {
	fabric.Provider
	room    int
	posted  []fabric.Token
	regions int
	broken  error // of Recv
	woken   int
}

func (n *receiveNetwork) Caps() fabric.Caps              { return fabric.Caps{VirtualAddress: true} }
func (n *receiveNetwork) Connect([][]byte) error         { return nil }
func (n *receiveNetwork) Unregister(fabric.Region) error { n.regions--; return nil }
func (n *receiveNetwork) Wake()                          { n.woken++ }
func (n *receiveNetwork) Close() error                   { return nil }

func (n *receiveNetwork) Register(unsafe.Pointer, uint64) (fabric.Region, error) {
	n.regions++
	return fabric.Region{Desc: uintptr(n.regions)}, nil
}

func (n *receiveNetwork) Recv(_ unsafe.Pointer, _ int, _ uintptr, t fabric.Token) error {
	switch {
	case n.broken != nil:
		return n.broken
	case n.room == 0:
		return fabric.ErrAgain
	}
	n.room--
	n.posted = append(n.posted, t)
	return nil
}

// openNetwork returns an endpoint of PE 0 with three further receive buffers, and what its Fatal
// got.
func openNetwork(t *testing.T, n *receiveNetwork) (*network, *layout.State, *error) {
	memory := make([]byte, 256)
	fatal := new(error)
	e := newNetwork(n, mem.Segment{Base: unsafe.Pointer(&memory[0]), Internal: 64, Size: 256}, func(err error) { *fatal = err })
	e.More = 3
	state := new(layout.State)
	if err := e.Open(state, new(layout.Peer), make([]fabric.Token, layout.Receives+e.More)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil || n.regions != 0 {
			t.Errorf("close: %v, with %d registrations left", err, n.regions)
		}
	})
	return e, state, fatal
}

// TestReceives posts all receive buffers, as room comes, and none twice.
func TestReceives(t *testing.T) {
	n := &receiveNetwork{room: 10}
	e, state, _ := openNetwork(t, n)
	if err := e.Connect([][]byte{{1}}, []mem.Remote{{}}); err != nil {
		t.Fatal(err)
	}
	all := layout.Receives + e.More
	if int(state.NUnposted) != all-10 || e.own.Count[layout.Retries] != uint64(all-10) {
		t.Errorf("%d buffers without room, want %d", state.NUnposted, all-10)
	}
	n.room = all
	e.PostReceives()
	slices.Sort(n.posted)
	if len(n.posted) != all || len(slices.Compact(n.posted)) != all || state.NUnposted != 0 {
		t.Errorf("posted %v, and %d are left", n.posted, state.NUnposted)
	}
	for _, token := range n.posted {
		if !e.Receiving(token) {
			t.Errorf("token %d is not one of a receive buffer", token)
		}
	}
	for _, token := range []fabric.Token{layout.Receives, layout.Tokens - 1, fabric.Token(layout.Tokens + e.More)} {
		if e.Receiving(token) {
			t.Errorf("token %d is one of a receive buffer", token)
		}
	}
}

// TestBuffers finds that no two buffers overlap, and that all are in the mapping.
func TestBuffers(t *testing.T) {
	e, _, _ := openNetwork(t, new(receiveNetwork))
	type part struct{ at, size uintptr }
	var parts []part
	add := func(at unsafe.Pointer, size uintptr) { parts = append(parts, part{uintptr(at), size}) }
	for token := range fabric.Token(layout.Tokens + e.More) {
		add(e.Buffer(token), layout.MessageSize)
		if !e.Receiving(token) {
			add(e.SendBuffer(token, smallMessage), smallMessage)
			if e.SendBuffer(token, smallMessage+1) != e.Buffer(token) {
				t.Errorf("a large message of token %d leaves from another buffer", token)
			}
		}
	}
	add(e.Scratch, layout.MessageSize)
	slices.SortFunc(parts, func(a, b part) int { return int(a.at) - int(b.at) })
	end := uintptr(e.Buffers)
	for _, p := range parts {
		if p.at != end {
			t.Fatalf("a buffer at %#x, and the one before ends at %#x", p.at, end)
		}
		end += p.size
	}
	if end != uintptr(e.Buffers)+e.BufferBytes() {
		t.Errorf("buffers end at %#x of %#x", end, uintptr(e.Buffers)+e.BufferBytes())
	}
}

// TestRoutes distinguishes PEs with an address, without one, outside of the job, and lost ones.
func TestRoutes(t *testing.T) {
	e, _, _ := openNetwork(t, &receiveNetwork{room: 100})
	if e.Reachable(0) {
		t.Error("a PE can be reached before Connect")
	}
	if err := e.Connect([][]byte{{1}, nil, {3}}, []mem.Remote{{Base: 1000, Key: 7}, {Base: mem.Nowhere}, {}}); err != nil {
		t.Fatal(err)
	}
	if remote, key := e.Remotes[0].At(-8); remote != 992 || key != 7 {
		t.Errorf("offset -8 is at %d with key %d", remote, key)
	}
	if got := e.Base() - uint64(uintptr(e.Segment.Base)); got != 64 {
		t.Errorf("the user heap begins at %d of the segment", got)
	}
	lost := e.MarkLost(2, 3, "has ended")
	for pe, want := range []error{nil, errUnreachable, lost, errUnreachable} {
		pe := libshmem.PE(pe)
		if e.Reachable(pe) != (want == nil) {
			t.Errorf("PE %d can be reached: %v", pe, want != nil)
		}
		if want != nil && pe < 3 && !errors.Is(e.Unreachable(pe), want) {
			t.Errorf("PE %d: %v, want %v", pe, e.Unreachable(pe), want)
		}
	}
	if e.Lost(0) != nil || e.Lost(2) == nil || lost.Error() != "PE 2 has ended" {
		t.Errorf("lost: %v, %v", e.Lost(0), e.Lost(2))
	}
}

// TestSuspects pings each PE once, and again if there was no room.
func TestSuspects(t *testing.T) {
	e, _, _ := openNetwork(t, new(receiveNetwork))
	e.MarkLost(3, 4, "is gone")
	for _, pe := range []libshmem.PE{1, 2, 1, 3} {
		e.Suspect(pe)
	}
	var pinged []libshmem.PE
	ping := func(pe libshmem.PE) call.Status {
		pinged = append(pinged, pe)
		if pe == 2 && len(pinged) == 2 {
			return call.Again
		}
		return call.Done
	}
	for e.Suspects() && len(pinged) < 10 {
		e.FindLost(ping)
	}
	if !slices.Equal(pinged, []libshmem.PE{1, 2, 2}) {
		t.Errorf("pinged %v", pinged)
	}
}

// TestReceiveFailed ends the job where a loss does, or after too many failures.
func TestReceiveFailed(t *testing.T) {
	n := &receiveNetwork{room: 1000}
	e, _, fatal := openNetwork(t, n)
	if e.HandleFailedReceive(0, 1, "broke off"); *fatal == nil {
		t.Error("the job goes on, and no function learns of losses")
	}
	*fatal, e.OnLost = nil, func(libshmem.PE, error) {}
	for range layout.Receives - 1 {
		e.HandleFailedReceive(0, 1, "broke off")
	}
	if *fatal != nil || len(n.posted) != layout.Receives-1 {
		t.Errorf("%v after %d buffers", *fatal, len(n.posted))
	}
	if e.HandleFailedReceive(0, 1, "broke off"); *fatal == nil {
		t.Error("a receive may fail for ever")
	}
	*fatal, n.broken = nil, errors.New("refused")
	if e.Repost(1); !errors.Is(*fatal, n.broken) {
		t.Errorf("after a refused buffer: %v", *fatal)
	}
}

// TestWake wakes a loop once for each time that it sleeps.
func TestWake(t *testing.T) {
	n := new(receiveNetwork)
	e, _, _ := openNetwork(t, n)
	e.Wake()
	e.Armed = true
	e.Wake()
	e.Wake()
	if n.woken != 1 {
		t.Errorf("woken %d times", n.woken)
	}
}
