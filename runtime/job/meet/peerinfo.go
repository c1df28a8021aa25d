// Package meet has the values that PEs exchange when they meet, and the conclusions that all of
// them draw: nodes, neighbours, visible processes, symmetric statics, the path to each heap, and
// settings that have to be equal. It refuses a job whose PEs cannot work together. It computes from
// values, and keeps no state.
package meet

import (
	"fmt"
	"slices"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/job/place"
	"libshmem/runtime/topo"
)

// Info is what every PE sends to all others at init.
type Info struct {
	Version string // of the library
	Host    string // PEs with the same host share memory
	Machine string // PEs with the same machine share processors
	Network string // PEs with the same network reach each other by loopback
	Heap    uint64 // bytes of the user heap
	Kind    config.HeapKind
	Socket  string // where the first PE of a host hands out the memory file
	Device  string // where this PE hands out its heap in GPU memory; "": it has none
	Proxies int    // endpoints that it would open

	Counters  int     // notification counters
	Messages  uint64  // bytes of mailboxes, for short messages that wait for a receive
	Statics   Statics // the program's statics that could be symmetric
	OnFailure config.OnFailure
	Process   Process
	CPUs      topo.Set // that it may use
	Stats     bool     // the counts are to be printed at the end
	Map       bool     // the paths between PEs are to be printed at the start

	Collectives config.Collectives
}

// agree returns an error if the PEs have different versions of the library, or differ in a setting
// that has to be equal: each names PE 0 and the first PE that differs.
func agree(infos []Info) error {
	for pe, c := range infos[1:] {
		switch first := infos[0]; {
		case c.Version != first.Version:
			return fmt.Errorf("PE 0 has version %s of the library and PE %d version %s (install one version everywhere)",
				first.Version, pe+1, c.Version)
		case c.Heap != first.Heap:
			return fmt.Errorf("SHMEM_SYMMETRIC_SIZE is %d bytes on PE 0 and %d on PE %d (set it to the same value on all PEs)",
				first.Heap, c.Heap, pe+1)
		case c.Counters != first.Counters:
			return fmt.Errorf("SHMEM_NOTIFY_COUNT is %d on PE 0 and %d on PE %d (set it to the same value on all PEs)", first.Counters, c.Counters, pe+1)
		case c.Messages != first.Messages:
			return fmt.Errorf("SHMEM_MESSAGE_MEMORY is %d bytes on PE 0 and %d on PE %d (set it to the same value on all PEs)", first.Messages, c.Messages, pe+1)
		case c.OnFailure != first.OnFailure:
			return fmt.Errorf("SHMEM_ON_FAILURE is %v on PE 0 and %v on PE %d (set it to the same value on all PEs)", first.OnFailure, c.OnFailure, pe+1)
		}
	}
	return nil
}

// fewest returns the least number of endpoints that a PE would open, and at least 1, because each PE
// needs an engine. Engine i of one PE talks to engine i of another, so no PE can have more than the
// others.
func fewest(infos []Info) int {
	n := infos[0].Proxies
	for _, c := range infos[1:] {
		n = min(n, c.Proxies)
	}
	return max(n, 1)
}

// NoMapPrinter means that no PE prints the map.
const NoMapPrinter = -1

// mapPrinter returns the first PE whose settings want the path map, which then prints it, or
// NoMapPrinter.
func mapPrinter(infos []Info) int {
	return slices.IndexFunc(infos, func(c Info) bool { return c.Map })
}

// JobInfo holds what this PE concludes from the peer info of all PEs.
type JobInfo struct {
	Nodes      *topo.Nodes
	Kinds      []config.HeapKind // of every PE
	Processes  []Process         // of every PE; the zero value: this PE cannot see it
	Neighbours []place.Neighbour // PEs that see the same NICs as this one
	// Sharing is the number of PEs on this machine, this one included.
	Sharing int
	// Crowded reports that this PE may have to share a processor with another PE, NodeCrowded that
	// some PE of its node may. All PEs of a node have the same NodeCrowded.
	Crowded, NodeCrowded bool
	processors           topo.Set // of the PEs of this machine; empty if one PE's are not known
	Statics              Statics  // globals and statics that are symmetric, or why there are none
	Proxies              int      // engines of each PE
	MapPrinter           int      // PE that prints the map of the job, or NoMapPrinter
	Stats                bool     // some PE wants the counts printed at the end
	SeveralNetworks      bool     // loopback does not reach all PEs
	// Collectives are the settings of PE 0, so that all PEs choose the same algorithms.
	Collectives config.Collectives
	// NetworkFirst has, for each PE, the first PE that it reaches by loopback.
	NetworkFirst []libshmem.PE
}

// Meet returns the conclusions of PE me from the peer info of all PEs. It fails if the PEs cannot
// work together. want is the setting for statics.
func Meet(infos []Info, me libshmem.PE, want config.Statics) (*JobInfo, error) {
	if err := agree(infos); err != nil {
		return nil, err
	}
	m := &JobInfo{Proxies: fewest(infos), MapPrinter: mapPrinter(infos), Collectives: infos[0].Collectives}
	statics := make([]Statics, len(infos))
	hosts := make([]string, len(infos))
	own := &infos[me]
	var sets []topo.Set               // the processors of each PE of this machine
	var onMachine []int               // these PEs
	first := map[string]libshmem.PE{} // the first PE of each network
	for i, c := range infos {
		statics[i], hosts[i] = c.Statics, c.Host
		if c.Machine == own.Machine {
			m.Sharing++
			sets, onMachine = append(sets, c.CPUs), append(onMachine, i)
		}
		m.Stats = m.Stats || c.Stats
		if _, known := first[c.Network]; !known {
			first[c.Network] = libshmem.PE(i)
		}
		m.NetworkFirst = append(m.NetworkFirst, first[c.Network])
		if c.Network == own.Network {
			m.Neighbours = append(m.Neighbours, place.Neighbour{PE: libshmem.PE(i), Process: topo.Process{CPUs: c.CPUs}})
		}
		m.Kinds = append(m.Kinds, c.Kind)
		if c.Machine != own.Machine || c.Process.Space != own.Process.Space {
			c.Process = Process{} // this PE cannot see it
		}
		m.Processes = append(m.Processes, c.Process)
	}
	m.processors = together(sets)
	for k, mayShare := range crowded(sets) {
		m.Crowded = m.Crowded || mayShare && onMachine[k] == int(me)
		m.NodeCrowded = m.NodeCrowded || mayShare && infos[onMachine[k]].Host == own.Host
	}
	m.SeveralNetworks = len(first) > 1
	m.Nodes = topo.NewNodes(hosts)
	var err error
	m.Statics, err = agreeStatics(statics, int(me), want)
	return m, err
}
