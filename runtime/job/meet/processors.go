package meet

import "libshmem/runtime/topo"

// crowded returns, for each PE of a machine, whether it may have to share a processor with another
// PE of the job: it is confined to some processors to which more PEs are confined than there are. A
// PE that is bound to a processor of its own competes with none of those that are bound elsewhere.
//
// Launchers assign processor sets that are equal, disjoint, or one within the other, and for those
// the result is exact. A PE whose processors are not known is crowded unless it is alone.
func crowded(sets []topo.Set) []bool {
	confined := make(map[topo.Set]int) // PEs that may use nothing outside a set
	for _, s := range sets {
		confined[s] = 0
	}
	var crowdedSets []topo.Set // more PEs are confined to each than it has processors
	for set := range confined {
		for _, s := range sets {
			if s.Within(set) {
				confined[set]++
			}
		}
		if confined[set] > max(set.Count(), 1) {
			crowdedSets = append(crowdedSets, set)
		}
	}
	mayShare := make([]bool, len(sets)) // by PE
	for i, s := range sets {
		if s == "" {
			mayShare[i] = len(sets) > 1
		}
		for _, set := range crowdedSets {
			mayShare[i] = mayShare[i] || s.Within(set)
		}
	}
	return mayShare
}

// together returns the union of processor sets; empty if one of them is not known.
func together(sets []topo.Set) (all topo.Set) {
	for _, s := range sets {
		if s == "" {
			return ""
		}
		all = all.Or(s)
	}
	return all
}

// ProxiesCrowded reports whether the PEs of this machine and their proxies outnumber the processors
// that they may use. helpers are the processors to which the launcher has bound no PE.
func (m *JobInfo) ProxiesCrowded(helpers topo.Set) bool {
	return m.processors.Or(helpers).Count() < m.Sharing*(1+m.Proxies)
}
