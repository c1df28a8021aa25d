package topo

import "cmp"

// cost is the cost of an assignment, compared from its end: how many users are on a NIC with one
// user more than others must have, then how many in each class.
type cost [classes + 1]int

const crowded = int(classes)

func (c cost) plus(d cost, sign int) cost {
	for i := range c {
		c[i] += sign * d[i]
	}
	return c
}

func (c cost) less(d cost) bool {
	for i := len(c) - 1; i >= 0; i-- {
		if r := cmp.Compare(c[i], d[i]); r != 0 {
			return r < 0
		}
	}
	return false
}

// deal finds the cheapest way to put supply[k] users of each kind k on the NICs, which
// are far[k][n] from them, and returns how many of each kind are on each NIC. It is a
// flow of least cost from the kinds to the NICs, found by cheapest paths, each of which
// may send users of an earlier one elsewhere.
func deal(far [][]Class, supply []int, nics int) [][]int {
	total := 0
	for _, s := range supply {
		total += s
	}
	least := total / nics
	f := &flow{far: far, least: least, load: make([]int, nics), on: make([][]int, len(far))}
	for k := range far {
		f.on[k] = make([]int, nics)
	}
	for k, s := range supply {
		for s > 0 {
			s -= f.send(k, s)
		}
	}
	return f.on
}

// flow is the number of users of each kind that are on each NIC.
type flow struct {
	far   [][]Class
	on    [][]int
	load  []int
	least int // users that every NIC must have
}

// step is the best known path to a NIC: from kind by, which moves there from NIC from,
// or begins with it (-1).
type step struct {
	cost     cost
	by, from int
}

// send puts at most n users of a kind on NICs by the cheapest path, and returns how
// many.
func (f *flow) send(k, n int) int {
	steps := make([]step, len(f.load))
	for nic := range steps {
		steps[nic] = step{by: k, from: -1}
		steps[nic].cost[f.far[k][nic]]++
	}
	for changed := true; changed; {
		changed = false
		for from := range steps {
			for by := range f.far {
				if f.on[by][from] == 0 {
					continue
				}
				for to := range steps {
					var move cost
					move[f.far[by][to]]++
					move[f.far[by][from]]--
					if c := steps[from].cost.plus(move, 1); to != from && c.less(steps[to].cost) {
						steps[to], changed = step{c, by, from}, true
					}
				}
			}
		}
	}
	end, best := -1, cost{}
	for nic := range steps {
		c := steps[nic].cost
		if f.load[nic] >= f.least {
			c[crowded] += f.load[nic] - f.least + 1
		}
		if end < 0 || c.less(best) {
			end, best = nic, c
		}
	}
	// As many as the whole path carries, and as the NIC at its end takes at that price.
	available := 1
	if f.load[end] < f.least {
		available = f.least - f.load[end]
	}
	n = min(n, available)
	for at := end; steps[at].from >= 0; at = steps[at].from {
		n = min(n, f.on[steps[at].by][steps[at].from])
	}
	f.load[end] += n
	for at := end; at >= 0; at = steps[at].from {
		s := steps[at]
		f.on[s.by][at] += n
		if s.from >= 0 {
			f.on[s.by][s.from] -= n
		}
	}
	return n
}
