package job

import (
	"libshmem/runtime/config"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/job/registration"
)

// registers reports whether NICs may be asked to reach this PE's heap.
func (j *Job) registers() bool {
	return j.heap == config.HeapDevice && j.Config.GPUNet.Reaches()
}

// register lets the NIC of an engine reach the heap.
func (j *Job) register(e nicEnd) error {
	g := j.GPU
	if g.NICs == nil {
		neighbours := 0
		for _, pe := range j.Nodes.Peers(j.Me) {
			if j.Heaps.Kinds[pe] == config.HeapDevice {
				neighbours++
			}
		}
		g.NICs = registration.New(registration.Config{
			GPU: registration.GPUOf(g.Device()), Heap: g.Address(j.Nodes.Rank(j.Me)), Want: j.Config.GPUNet, VMM: g.Heap().Path() == devmem.VMM,
			All: neighbours > 1 && !j.Config.DisableP2P,
			Log: func(level config.LogLevel, format string, args ...any) { j.log.Printf("gpu", level, format, args...) },
		})
	}
	return g.NICs.Open(e, g.Heap().Extents())
}

// staged reports whether bytes of this PE's heap reach the network through main memory. If NICs or
// copies between GPUs take them from where they are, that is sooner than through a cell of a ring.
func (j *Job) staged() bool {
	return j.heap == config.HeapDevice && j.Config.GPUNet != config.GPUNetCopy && !j.GPU.NICs.Direct()
}

// gpuNet says, for the banner, how the network reaches this PE's GPU memory.
func (j *Job) gpuNet() string {
	if way := j.gpuPath(); way != "" {
		return ", GPU memory " + way
	}
	return ""
}

// gpuPath returns the path; "" if the heap is in main memory.
func (j *Job) gpuPath() string {
	switch {
	case j.heap != config.HeapDevice:
		return ""
	case j.GPU.NICs.Path() != "":
		return "by " + j.GPU.NICs.Path()
	case j.Config.GPUNet == config.GPUNetCopy:
		return "staged, and copied within hosts"
	}
	return "staged"
}
