package topo

// Portion is the part of a machine to which a launcher binds each PE.
type Portion uint8

// The portions.
const (
	PortionShare Portion = iota // as many whole cores of one NUMA node as every PE can have
	PortionCore                 // one core
	PortionNode                 // a NUMA node, which PEs share
)

// Deal returns the processors of each of n PEs. PE i is to be near the GPU gpus[i]; with nil, or
// where a GPU's place is not known or has no capacity, PEs go to NUMA nodes in the order of their
// numbers, in proportion to the cores.
//
// n is at least 1, and p has at least one processor. Consecutive PEs get neighbouring cores. No two
// PEs share a processor while there is one for each, nor a core while there is a core for each. A
// portion never spans two NUMA nodes, and all portions of cores have the same number of cores,
// because a parallel program is as fast as its slowest PE. The cores that are left belong to no PE.
func (p *Processors) Deal(n int, portion Portion, gpus []int) []Set {
	if n > p.Online.Count() && portion != PortionNode {
		return p.overlapping(n)
	}
	nodeOf := p.nearGPUs(n, gpus) // the NUMA node of each PE
	if nodeOf == nil {
		nodeOf = p.inProportion(n)
	}
	count := make([]int, len(p.Nodes)) // PEs of each node
	for _, node := range nodeOf {
		count[node]++
	}
	slots := make([][]Set, len(p.Nodes)) // the portions of each node, one for each of its PEs
	cores := p.coresEach(count)
	if portion == PortionCore {
		cores = min(cores, 1)
	}
	for i, node := range p.Nodes {
		switch {
		case portion == PortionNode:
			for range count[i] {
				slots[i] = append(slots[i], node.CPUs())
			}
		case cores == 0:
			slots[i] = node.hyperthreads(count[i])
		default:
			for j := range count[i] {
				slots[i] = append(slots[i], node[j*cores:(j+1)*cores].CPUs())
			}
		}
	}
	all := make([]Set, n)
	for pe, node := range nodeOf {
		all[pe], slots[node] = slots[node][0], slots[node][1:]
	}
	return all
}

// coresEach returns the number of cores that each PE can have; 0: PEs have to share cores. count[i]
// is the number of PEs on NUMA node i, and the node with the fewest cores for each PE decides. At
// least one count is above 0.
func (p *Processors) coresEach(count []int) int {
	least := -1
	for i, node := range p.Nodes {
		if count[i] == 0 {
			continue
		}
		if each := len(node) / count[i]; least < 0 || each < least {
			least = each
		}
	}
	return least
}

// hyperthreads returns one processor for each of n PEs, at most as many as c has processors. A core
// gets a second PE, on another of its hardware threads, when every core has one.
func (c Cores) hyperthreads(n int) []Set {
	count := make([]int, len(c))
	for left := n; left > 0; {
		for k, core := range c {
			if left > 0 && count[k] < core.Count() {
				count[k]++
				left--
			}
		}
	}
	var all []Set
	for k, core := range c {
		for _, cpu := range core.List()[:count[k]] {
			all = append(all, NewSet(cpu))
		}
	}
	return all
}

// overlapping returns a processor for each of n PEs if there are fewer processors than PEs: PEs
// with consecutive numbers share one.
func (p *Processors) overlapping(n int) []Set {
	var cpus []int
	for _, node := range p.Nodes {
		for _, core := range node {
			cpus = append(cpus, core.List()...)
		}
	}
	all := make([]Set, n)
	for pe := range all {
		all[pe] = NewSet(cpus[pe*len(cpus)/n])
	}
	return all
}

// inProportion returns the NUMA node of each PE, in proportion to the cores of the nodes, or to
// their processors if there are fewer cores than PEs. Each PE goes to the node that then has the
// fewest PEs for its capacity.
func (p *Processors) inProportion(n int) []int {
	capacity, all := make([]int, len(p.Nodes)), 0
	for i, node := range p.Nodes {
		capacity[i] = len(node)
		all += len(node)
	}
	if n > all {
		for i, node := range p.Nodes {
			capacity[i] = node.CPUs().Count()
		}
	}
	count := make([]int, len(p.Nodes))
	for range n {
		best := 0
		for i := range capacity { // compares (count+1)/capacity, without fractions
			if (count[i]+1)*capacity[best] < (count[best]+1)*capacity[i] {
				best = i
			}
		}
		count[best]++
	}
	var nodeOf []int
	for i, c := range count {
		for range c {
			nodeOf = append(nodeOf, i)
		}
	}
	return nodeOf
}

// nearGPUs returns the NUMA node of each PE's GPU. It returns nil if one is not known, or if a node
// would have more PEs than processors.
func (p *Processors) nearGPUs(n int, gpus []int) []int {
	if len(gpus) != n {
		return nil
	}
	nodeOf, count := make([]int, n), make([]int, len(p.Nodes))
	for pe, gpu := range gpus {
		if gpu < 0 || gpu >= len(p.GPUs) {
			return nil
		}
		near, found := p.GPUs[gpu].And(p.Online), false
		for i, node := range p.Nodes {
			cpus := node.CPUs()
			if near != "" && near.Within(cpus) && count[i] < cpus.Count() {
				nodeOf[pe], found = i, true
				count[i]++
			}
		}
		if !found {
			return nil
		}
	}
	return nodeOf
}
