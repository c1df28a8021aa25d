package network

import (
	"libshmem/runtime/config"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/job/registration"
)

// registers reports whether NICs may be asked to reach this PE's heap.
func (nw *Network) registers() bool {
	return nw.inGPU() && nw.Settings.GPUNet.Reaches()
}

// flusher names the proxy in reports about flushes of what NICs have written.
const flusher = "a proxy that acts on what a NIC wrote"

// register lets the NIC of an engine reach the heap.
func (nw *Network) register(e *nicEnd) error {
	g := nw.GPU
	if g.NICs == nil {
		neighbours := 0
		for _, pe := range nw.Nodes.Peers(nw.Me) {
			if nw.Heaps.Kinds[pe] == config.HeapDevice {
				neighbours++
			}
		}
		g.NICs = registration.New(registration.Config{
			GPU: g.Device(), Flush: g.Device().For(flusher).FlushWrites, Heap: g.Address(nw.Nodes.Rank(nw.Me)), Want: nw.Settings.GPUNet, VMM: g.Heap().Path() == devmem.VMM,
			All: neighbours > 1 && !nw.Settings.DisableP2P,
			Log: func(level config.LogLevel, format string, args ...any) { nw.Log.Printf("gpu", level, format, args...) },
		})
	}
	return g.NICs.Open(e, g.Heap().Extents())
}

// GPUPath returns how the network reaches this PE's GPU memory; "" if its heap is in main memory.
func (nw *Network) GPUPath() string {
	switch {
	case !nw.inGPU():
		return ""
	case nw.GPU.NICs.Path() != "":
		return "by " + nw.GPU.NICs.Path()
	case nw.Settings.GPUNet == config.GPUNetCopy:
		return "staged, and copied within hosts"
	}
	return "staged"
}
