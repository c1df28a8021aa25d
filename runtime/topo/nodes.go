package topo

import "libshmem"

// Nodes records which PEs share a node. Nodes are numbered in the order of their first PE, so every
// PE that has the same host identities in the same order computes the same numbers.
type Nodes struct {
	Members [][]libshmem.PE // of each node, ascending; the first is its leader
	node    []int32         // by PE: the index of its node
	rank    []int32         // by PE: its index among the PEs of its node
}

// NewNodes groups PEs by host: hosts[i] identifies the host of PE i. Nodes are numbered by their
// first PEs, and PEs within a node in order.
func NewNodes(hosts []string) *Nodes {
	n := &Nodes{node: make([]int32, len(hosts)), rank: make([]int32, len(hosts))}
	index := make(map[string]int32)
	for pe, host := range libshmem.ByPE(hosts) {
		i, ok := index[host]
		if !ok {
			i = int32(len(n.Members))
			index[host] = i
			n.Members = append(n.Members, nil)
		}
		n.node[pe] = i
		n.rank[pe] = int32(len(n.Members[i]))
		n.Members[i] = append(n.Members[i], pe)
	}
	return n
}

// Node returns the index of pe's node, from 0.
func (n *Nodes) Node(pe libshmem.PE) int { return int(n.node[pe]) }

// Rank returns pe's index among the PEs of its node.
func (n *Nodes) Rank(pe libshmem.PE) int { return int(n.rank[pe]) }

// Peers returns the PEs of pe's node, itself included, ascending.
func (n *Nodes) Peers(pe libshmem.PE) []libshmem.PE { return n.Members[n.node[pe]] }

// Leader returns the first PE of pe's node.
func (n *Nodes) Leader(pe libshmem.PE) libshmem.PE { return n.Peers(pe)[0] }

// Leaders returns the first PEs of the nodes, in the order of the nodes.
func (n *Nodes) Leaders() []libshmem.PE {
	leaders := make([]libshmem.PE, len(n.Members))
	for i, m := range n.Members {
		leaders[i] = m[0]
	}
	return leaders
}
