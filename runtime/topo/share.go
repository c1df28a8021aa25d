package topo

import (
	"cmp"
	"slices"
)

// Share shares NICs out among users, each a GPU or a process, and returns the indices of each
// user's NICs, ascending. Every user gets at least one if there is any NIC.
//
// First each user gets one NIC. The numbers of users of two NICs differ by one at most, so that no
// users share a NIC while there is one for each. Among all such assignments Share uses one with the
// fewest users whose NIC is on the other socket, then the fewest on another NUMA node, and so on.
// Then each NIC that is left goes to a user to which no NIC is nearer than this one, of several to
// the user with the fewest NICs. With all, a NIC without such a user goes to the nearest user.
//
// The result depends only on the arguments, so that all processes of a host compute the same.
func (m *Machine) Share(users, nics []Place, all bool) [][]int {
	got := make([][]int, len(users))
	if len(nics) == 0 || len(users) == 0 {
		return got
	}
	far := make([][]Class, len(users))
	for u := range users {
		far[u] = make([]Class, len(nics))
		for n := range nics {
			far[u][n] = m.Distance(users[u], nics[n])
		}
	}
	m.firstNICs(got, far)
	taken := make([]bool, len(nics))
	for _, list := range got {
		for _, n := range list {
			taken[n] = true
		}
	}
	for n := range nics {
		if taken[n] {
			continue
		}
		best := -1
		for u := range users {
			if !all && far[u][n] > slices.Min(far[u]) {
				continue
			}
			if best < 0 || cmp.Or(cmp.Compare(far[u][n], far[best][n]), cmp.Compare(len(got[u]), len(got[best]))) < 0 {
				best = u
			}
		}
		if best >= 0 {
			got[best] = append(got[best], n)
		}
	}
	for u := range got {
		slices.Sort(got[u])
	}
	return got
}

// firstNICs adds one NIC to got for each user. far has the distance of each user to each NIC. Users
// with the same distances to all NICs are one kind, and assign sees one node for each kind: for a
// thousand PEs on two NUMA nodes that is two nodes.
func (m *Machine) firstNICs(got [][]int, far [][]Class) {
	type kind struct {
		far   []Class
		users []int
	}
	var kinds []*kind
	for u := range far {
		i := slices.IndexFunc(kinds, func(k *kind) bool { return slices.Equal(k.far, far[u]) })
		if i < 0 {
			i = len(kinds)
			kinds = append(kinds, &kind{far: far[u]})
		}
		kinds[i].users = append(kinds[i].users, u)
	}
	rows := make([][]Class, len(kinds))
	supply := make([]int, len(kinds))
	for i, k := range kinds {
		rows[i], supply[i] = k.far, len(k.users)
	}
	assigned := assign(rows, supply, len(far[0]))
	for i, k := range kinds {
		// Round robin, so that consecutive users are on different NICs.
		n := 0
		for _, u := range k.users {
			for assigned[i][n] == 0 {
				n = (n + 1) % len(assigned[i])
			}
			got[u] = append(got[u], n)
			assigned[i][n]--
			n = (n + 1) % len(assigned[i])
		}
	}
}
