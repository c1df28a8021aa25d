package job

import (
	"libshmem"
	"libshmem/runtime/topo"
)

// sharers exchanges the UUID of each PE's GPU, and returns for each PE the first PE with the same
// GPU. Jobs without GPUs exchange nothing.
func (j *Job) sharers() ([]libshmem.PE, error) {
	if !j.Heaps.SomeGPU() {
		return gpuFirst(j.Nodes, make([]string, j.NPEs)), nil
	}
	own := ""
	if j.GPU != nil {
		own = j.GPU.Device().Facts().UUID
	}
	all, err := j.Boot.Allgather([]byte(own))
	if err != nil {
		return nil, err
	}
	gpus := make([]string, len(all))
	for pe, gpu := range all {
		gpus[pe] = string(gpu)
	}
	return gpuFirst(j.Nodes, gpus), nil
}

// gpuFirst returns, for each PE, the first PE that has the same GPU. PEs share a GPU on one node
// only, and a PE without a GPU, "", is alone.
func gpuFirst(nodes *topo.Nodes, gpus []string) []libshmem.PE {
	first := make([]libshmem.PE, len(gpus))
	type place struct {
		node int
		gpu  string
	}
	seen := map[place]libshmem.PE{}
	for i := range first {
		pe := libshmem.PE(i)
		first[i] = pe
		if gpus[i] == "" {
			continue
		}
		at := place{nodes.Node(pe), gpus[i]}
		if other, ok := seen[at]; ok {
			first[i] = other
		} else {
			seen[at] = pe
		}
	}
	return first
}
