package meet

// The paths from this PE to the user heap of each other PE, for the host and for kernels: loads and
// stores, copies, or the network. They do not change after the job has begun, so any goroutine may
// read them.

import (
	"fmt"
	"slices"
	"unsafe"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/pathmap"
	"libshmem/runtime/topo"
)

// Heaps are the user heaps of all PEs of the job, as this PE reaches them.
type Heaps struct {
	Me         libshmem.PE
	Nodes      *topo.Nodes
	Kinds      []config.HeapKind // of every PE
	Segment    MemoryFile
	GPU        GPU  // nil: this PE uses none
	DisableP2P bool // SHMEM_DISABLE_P2P: kernels do not reach the GPUs of other PEs
	Copy       bool // SHMEM_GPU_NET=copy: engines copy to and from GPU heaps of this host
}

// MemoryFile is the file with the internal areas and main-memory heaps of all PEs of the node.
type MemoryFile interface {
	Heap(rank int) unsafe.Pointer       // returns the end of the internal area of a PE
	Place(rank int) (fd int, at uint64) // returns the place of a PE's user heap in the file
}

// GPU is this PE's GPU, for the addresses of heaps.
type GPU interface {
	Address(rank int) gpu.Address // where the GPU reaches the heap of a PE of the node, or 0
	Unmapped(rank int) string     // why the GPU has no address for that heap
	HostAtomics() bool            // the GPU's atomic operations on main memory are atomic with those of the CPU
}

// Of returns the end of the internal area of a PE of this node, as an address of this process.
// The user heap of the PE begins there if it is in main memory.
func (h *Heaps) Of(pe libshmem.PE) unsafe.Pointer { return h.Segment.Heap(h.Nodes.Rank(pe)) }

// Near returns where loads and stores of this process reach the user heap of a PE, or nil.
func (h *Heaps) Near(pe libshmem.PE) unsafe.Pointer {
	if h.Nodes.Node(pe) != h.Nodes.Node(h.Me) || h.Kinds[pe] == config.HeapDevice {
		return nil
	}
	return h.Of(pe)
}

// Mapped returns the address at which this process can copy to and from the user heap of a PE, in
// main or in GPU memory, or nil.
func (h *Heaps) Mapped(pe libshmem.PE) unsafe.Pointer {
	if near := h.Near(pe); near != nil || h.GPU == nil || h.Nodes.Node(pe) != h.Nodes.Node(h.Me) {
		return near
	}
	return h.GPU.Address(h.Nodes.Rank(pe)).Pointer()
}

// Own returns the address of this PE's user heap as the program sees it.
func (h *Heaps) Own() unsafe.Pointer { return h.Mapped(h.Me) }

// File returns the memory file of the node and the place of this PE's user heap in it. It
// returns false if the heap is in the memory of a GPU.
func (h *Heaps) File() (fd int, at uint64, ok bool) {
	if h.Kinds[h.Me] == config.HeapDevice {
		return -1, 0, false
	}
	fd, at = h.Segment.Place(h.Nodes.Rank(h.Me))
	return fd, at, true
}

// Direct returns where kernels of this PE reach the user heap of another PE by loads and stores, or
// 0. It returns 0 for a heap in main memory if the GPU's atomic operations on it are not atomic
// with those of the CPU; the PE that owns the heap then performs them. Over PCIe 121 of 6,000
// additions by two GPUs to a word of a PE without a GPU were lost.
func (h *Heaps) Direct(pe libshmem.PE) gpu.Address {
	switch {
	case h.GPU == nil || h.Nodes.Node(pe) != h.Nodes.Node(h.Me):
		return 0
	case h.DisableP2P && pe != h.Me:
		return 0
	case h.Kinds[pe] != config.HeapDevice && pe != h.Me && !h.GPU.HostAtomics():
		return 0
	}
	return h.GPU.Address(h.Nodes.Rank(pe))
}

// ByRing returns the number of PEs that kernels of this PE do not reach by loads and stores, so
// that they need a ring and a proxy.
func (h *Heaps) ByRing() int {
	n := 0
	for pe := range libshmem.PE(len(h.Kinds)) {
		if h.Direct(pe) == 0 {
			n++
		}
	}
	return n
}

// Copies reports whether engines reach the GPU heap of another PE of this host by copies between
// GPUs, in place of the network.
func (h *Heaps) Copies(pe libshmem.PE) bool {
	return h.GPU != nil && h.Copy && pe != h.Me && h.Kinds[pe] == config.HeapDevice && h.Mapped(pe) != nil
}

// HostPath returns how calls of the host reach the heap of a PE of this host. If they need the
// network, it says why.
func (h *Heaps) HostPath(pe libshmem.PE) (path pathmap.Path, why string) {
	switch {
	case pe == h.Me:
		return pathmap.Own, ""
	case h.Near(pe) != nil:
		return pathmap.Memory, ""
	case h.Mapped(pe) != nil:
		return pathmap.Copy, ""
	case h.GPU == nil:
		return pathmap.Network, "it uses no GPU, and other heaps are in GPU memory"
	}
	return pathmap.Network, h.GPU.Unmapped(h.Nodes.Rank(pe))
}

// KernelPath returns how kernels of this PE reach the heap of a PE of this host. If they cannot use
// loads and stores, it says why.
func (h *Heaps) KernelPath(pe libshmem.PE) (path pathmap.Path, why string) {
	switch {
	case pe == h.Me:
		return pathmap.Own, ""
	case h.Direct(pe) != 0:
		return pathmap.Direct, ""
	case h.DisableP2P:
		why = "SHMEM_DISABLE_P2P is set"
	case h.Mapped(pe) == nil:
		why = h.GPU.Unmapped(h.Nodes.Rank(pe))
	default:
		why = "its GPU's atomic operations on main memory are not atomic with those of the CPU"
	}
	if h.Copies(pe) {
		return pathmap.Copy, why
	}
	return pathmap.Network, why
}

// GrowTogether reports whether the growth of the heap is collective among the PEs of a node,
// because some heap is in GPU memory.
func (h *Heaps) GrowTogether() bool { return slices.Contains(h.Kinds, config.HeapDevice) }

// SomeGPU reports whether some PE of the job has a heap that its GPU reaches.
func (h *Heaps) SomeGPU() bool {
	return slices.ContainsFunc(h.Kinds, func(k config.HeapKind) bool { return k != config.HeapHost })
}

// InMain reports whether some heap of this node is in main memory.
func (h *Heaps) InMain() bool {
	return slices.ContainsFunc(h.Nodes.Peers(h.Me), func(pe libshmem.PE) bool { return h.Kinds[pe] != config.HeapDevice })
}

// Text describes the kinds of the PEs' heaps, of size bytes each, for the banner.
func (h *Heaps) Text(size uint64) string {
	each := config.FormatSize(size) + " a PE"
	var count [4]int
	for _, k := range h.Kinds {
		count[k]++
	}
	text := ""
	for k := config.HeapHost; k <= config.HeapDevice; k++ {
		switch count[k] {
		case 0:
		case len(h.Kinds):
			return fmt.Sprintf("%s %s", k, each)
		default:
			text += fmt.Sprintf("%s on %d PEs, ", k, count[k])
		}
	}
	return text + each
}
