package device

import (
	"testing"
	"unsafe"

	"libshmem/runtime/config"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/job/watch"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/topo"
)

// pages is the memory file of a node of one PE.
type pages struct{ bytes [8192]byte }

func (p *pages) Heap(int) unsafe.Pointer { return unsafe.Pointer(&p.bytes[4096]) }
func (p *pages) Place(int) (int, uint64) { return -1, 0 }

// TestAlone: a PE without a network and a GPU has rings that are never used, and no kernels.
func TestAlone(t *testing.T) {
	cfg, _, err := config.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	heaps := &meet.Heaps{Nodes: topo.NewNodes([]string{"a"}), Kinds: []config.HeapKind{config.HeapHost}, Segment: new(pages)}
	p := NewProducers(ProducersConfig{
		Self: &meet.Self{NPEs: 1, Nodes: heaps.Nodes, Settings: cfg}, Internal: 4096, Size: 1 << 20, Heaps: heaps, DriverWatch: new(watch.DriverWatch),
	})
	if err := p.Reserve(); err != nil {
		t.Errorf("without a GPU memory is reserved: %v", err)
	}
	if p.OpenTeams(); p.Teams != nil {
		t.Error("without a GPU kernels know of teams")
	}
	var k *Kernels
	if k, err = p.Kernels(true); k != nil || err != nil {
		t.Errorf("kernels %v, error %v", k, err)
	}
	if err := p.OpenStreams(""); err == nil {
		t.Error("calls on streams are ready without kernels")
	}
	waker := func(int, *proxy.Engine) Waker {
		t.Error("a producer wakes a proxy that there is not")
		return Waker{}
	}
	state, err := p.Rings(waker)
	if err != nil || state == nil {
		t.Fatalf("rings of threads: %v, %v", state, err)
	}
	if again, err := p.Rings(waker); again != state || err != nil {
		t.Errorf("a second call finds %v, not %v, error %v", again, state, err)
	}
	var ticket uint64
	if st := p.Quiet(&ticket); st != call.Done {
		t.Errorf("a quiet of no kernels: %v", st)
	}
	if err := p.CloseRings(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
