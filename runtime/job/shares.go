package job

import (
	"libshmem/runtime/topo"
)

// tellGPUs tells every PE which GPU each has. Jobs without GPUs exchange nothing.
func (j *Job) tellGPUs() error {
	if !j.Heaps.SomeGPU() {
		return nil
	}
	own := ""
	if j.GPU != nil {
		own = j.GPU.Device().Facts().UUID
	}
	all, err := j.boot.Allgather([]byte(own))
	for _, gpu := range all {
		j.gpus = append(j.gpus, string(gpu))
	}
	return err
}

// GPUFirst returns, for each PE, the first PE that has the same GPU. PEs share a GPU on one node
// only, and a PE without a GPU is alone.
func (j *Job) GPUFirst() []topo.PE {
	first := make([]topo.PE, j.NPEs)
	type place struct {
		node int
		gpu  string
	}
	seen := map[place]topo.PE{}
	for i := range first {
		pe := topo.PE(i)
		first[i] = pe
		if j.gpus == nil || j.gpus[i] == "" {
			continue
		}
		at := place{j.Nodes.Node(pe), j.gpus[i]}
		if other, ok := seen[at]; ok {
			first[i] = other
		} else {
			seen[at] = pe
		}
	}
	return first
}
