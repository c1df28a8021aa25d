package job

import (
	"fmt"

	"libshmem/runtime/config"
	"libshmem/runtime/job/process"
	"libshmem/runtime/job/statics"
	"libshmem/runtime/topo"
)

// peerInfo is what every PE tells every other when they meet.
type peerInfo struct {
	Version string // of the library
	Host    string // PEs with the same host share memory
	Machine string // PEs with the same machine share processors
	Network string // PEs with the same network reach each other by loopback
	Heap    uint64 // bytes of the user heap
	Kind    config.HeapKind
	Socket  string // where the first PE of a host hands out the memory file
	Device  string // where this PE hands out its heap in GPU memory; "": it has none
	Proxies int    // endpoints that it would open

	Statics   statics.Statics // the program's statics that could be symmetric
	OnFailure config.OnFailure
	Process   process.Process
	CPUs      topo.Set // that it may use
	Stats     bool     // the counts are to be printed at the end
	Map       bool     // the paths between PEs are to be printed at the start
}

// agree refuses a job whose PEs cannot work together.
func agree(infos []peerInfo) error {
	for pe, c := range infos[1:] {
		switch first := infos[0]; {
		case c.Version != first.Version:
			return fmt.Errorf("PE 0 has version %s of the library and PE %d version %s (install one version everywhere)",
				first.Version, pe+1, c.Version)
		case c.Heap != first.Heap:
			return fmt.Errorf("SHMEM_SYMMETRIC_SIZE is %d bytes on PE 0 and %d on PE %d (set it alike for all PEs)",
				first.Heap, c.Heap, pe+1)
		case c.OnFailure != first.OnFailure:
			return fmt.Errorf("SHMEM_ON_FAILURE is %v on PE 0 and %v on PE %d (set it alike for all PEs)", first.OnFailure, c.OnFailure, pe+1)
		}
	}
	return nil
}

// fewest returns the least number of endpoints that a PE opens. Engine i of one PE talks to engine
// i of another, so no PE can have more than the others.
func fewest(infos []peerInfo) int {
	n := infos[0].Proxies
	for _, c := range infos[1:] {
		n = min(n, c.Proxies)
	}
	return max(n, 1)
}
