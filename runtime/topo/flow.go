package topo

import "cmp"

// cost is the cost of an assignment of users, which are PEs or GPUs, to NICs. Element c is the
// number of users whose NIC is at the distance of class c. The last element is the number of users
// beyond those that every NIC has to have. A later element outweighs all earlier ones.
type cost [classes + 1]int

// crowded is the index of the last element of a cost, which outweighs all classes of distance.
const crowded = int(classes)

// plus returns c + d, or c - d if sign is -1.
func (c cost) plus(d cost, sign int) cost {
	for i := range c {
		c[i] += sign * d[i]
	}
	return c
}

// less reports whether c is cheaper than d. The last element in which they differ decides.
func (c cost) less(d cost) bool {
	for i := len(c) - 1; i >= 0; i-- {
		if r := cmp.Compare(c[i], d[i]); r != 0 {
			return r < 0
		}
	}
	return false
}

// assign assigns users, which are PEs or GPUs, to NICs. Each NIC gets total/nics users or one more.
// Among such assignments it finds one with the fewest users at the largest distance, then at the
// next smaller distance, and so on (cost). Users at the same distances from all NICs are of one
// kind: supply[k] is the number of users of kind k, and far[k][n] is their distance from NIC n. It
// returns how many users of each kind are on each NIC. nics is at least 1.
//
// This is a minimum-cost flow from the kinds to the NICs, found by successive cheapest paths, each
// of which may move users that are on a NIC already to another one.
func assign(far [][]Class, supply []int, nics int) [][]int {
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

// flow is the state of assign: how many users of each kind are assigned to each NIC so far. Users
// are PEs or GPUs, and those at the same distances from all NICs are of one kind.
type flow struct {
	far   [][]Class // the distance of each kind from each NIC
	on    [][]int   // how many users of each kind are on each NIC
	load  []int     // how many users are on each NIC
	least int       // users that every NIC must have
}

// step is the last step of the cheapest path to a NIC found so far: a user of this kind moves to
// the NIC from the NIC `from`, or is assigned to it as a new user if from is -1. cost is that of
// the whole path.
type step struct {
	cost       cost
	kind, from int
}

// send assigns up to n new users of kind k along the cheapest path, and returns how many it has
// assigned; that is at least 1, as n is.
func (f *flow) send(k, n int) int {
	steps := make([]step, len(f.load))
	for nic := range steps {
		steps[nic] = step{kind: k, from: -1}
		steps[nic].cost[f.far[k][nic]]++
	}
	// Bellman-Ford: lengthen the paths as long as one becomes cheaper.
	for changed := true; changed; {
		changed = false
		for from := range steps {
			for kind := range f.far {
				if f.on[kind][from] == 0 {
					continue
				}
				for to := range steps {
					var move cost
					move[f.far[kind][to]]++
					move[f.far[kind][from]]--
					if c := steps[from].cost.plus(move, 1); to != from && c.less(steps[to].cost) {
						steps[to], changed = step{c, kind, from}, true
					}
				}
			}
		}
	}
	end, best := -1, cost{} // the NIC that gets the users, and the cost of the path to it
	for nic := range steps {
		c := steps[nic].cost
		if f.load[nic] >= f.least { // one user more is beyond the least number
			c[crowded] += f.load[nic] - f.least + 1
		}
		if end < 0 || c.less(best) {
			end, best = nic, c
		}
	}
	// The number of users that the last NIC can get at this cost, and that each step can move.
	// Beyond the least number each further user costs more than the one before, so send assigns
	// one.
	available := 1
	if f.load[end] < f.least {
		available = f.least - f.load[end]
	}
	n = min(n, available)
	for at := end; steps[at].from >= 0; at = steps[at].from {
		n = min(n, f.on[steps[at].kind][steps[at].from])
	}
	f.load[end] += n
	for at := end; at >= 0; at = steps[at].from {
		s := steps[at]
		f.on[s.kind][at] += n
		if s.from >= 0 {
			f.on[s.kind][s.from] -= n
		}
	}
	return n
}
