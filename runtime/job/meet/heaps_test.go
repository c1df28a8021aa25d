package meet

import (
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/pathmap"
	"libshmem/runtime/topo"
)

// places has heaps at the places of an array, and a GPU that reaches some of them.
type places struct {
	at      [4]byte
	mapped  map[int]gpu.Address
	atomics bool
}

func (p *places) Heap(rank int) unsafe.Pointer { return unsafe.Pointer(&p.at[rank]) }
func (p *places) Place(rank int) (int, uint64) { return 7, uint64(rank) << 20 }
func (p *places) Address(rank int) gpu.Address { return p.mapped[rank] }
func (p *places) Unmapped(int) string          { return "no address" }
func (p *places) HostAtomics() bool            { return p.atomics }
func pathsTo(h *Heaps, pe libshmem.PE) (text string) {
	host, _ := h.HostPath(pe)
	kernels, _ := h.KernelPath(pe)
	return string([]byte{byte(host), byte(kernels)})
}

// TestPaths: PE 0 has a heap in GPU memory, as PE 1 has; PE 2 has one in main memory, and PE 3 is
// on another host.
func TestPaths(t *testing.T) {
	p := &places{mapped: map[int]gpu.Address{0: 0x1000, 1: 0x2000, 2: 0x3000}}
	fresh := func() *Heaps {
		return &Heaps{
			Nodes: topo.NewNodes([]string{"a", "a", "a", "b"}), Segment: p, GPU: p,
			Kinds: []config.HeapKind{config.HeapDevice, config.HeapDevice, config.HeapHost, config.HeapHost},
		}
	}
	path := func(host, kernels pathmap.Path) string { return string([]byte{byte(host), byte(kernels)}) }
	h := fresh()
	for pe, want := range []string{path(pathmap.Own, pathmap.Own), path(pathmap.Copy, pathmap.Direct), path(pathmap.Memory, pathmap.Network)} {
		if got := pathsTo(h, libshmem.PE(pe)); got != want {
			t.Errorf("PE %d is reached by %q, want %q", pe, got, want)
		}
	}
	if h.Mapped(3) != nil || h.Near(3) != nil || h.Direct(3) != 0 || h.Near(1) != nil || h.ByRing() != 2 {
		t.Errorf("PE 3 at %v, PE 1 in main memory at %v, %d PEs by ring", h.Mapped(3), h.Near(1), h.ByRing())
	}
	if fd, at, ok := h.File(); ok {
		t.Errorf("a heap in GPU memory is in file %d at %d", fd, at)
	}
	if !h.SomeGPU() || !h.GrowTogether() || !h.InMain() || h.Copies(1) {
		t.Errorf("%+v", h)
	}
	if text := h.Text(1 << 20); text != "host on 2 PEs, device on 2 PEs, 1m a PE" {
		t.Errorf("the banner says %q", text)
	}

	p.atomics = true
	if got := pathsTo(h, 2); got != path(pathmap.Memory, pathmap.Direct) {
		t.Errorf("with atomic operations on main memory: %q", got)
	}
	h = fresh()
	h.DisableP2P, h.Copy = true, true
	if got := pathsTo(h, 1); got != path(pathmap.Copy, pathmap.Copy) || !h.Copies(1) {
		t.Errorf("without loads and stores, and with copies: %q", got)
	}
	h = fresh()
	h.GPU = nil
	if got, why := h.HostPath(1); got != pathmap.Network || why != "it uses no GPU, and other heaps are in GPU memory" {
		t.Errorf("without a GPU: %v, %s", got, why)
	}
}
