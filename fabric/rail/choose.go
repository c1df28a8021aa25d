package rail

import (
	"fmt"
	"strings"
)

// Policy is how operations are spread over NICs.
type Policy uint8

// The policies, numbered as SHMEM_NIC_POLICY lists them.
const (
	// Auto cuts a large operation into more parts when fewer bytes are under way: a single
	// operation ends sooner in parts on several NICs, but with many operations the posting of each
	// part costs more than it gains.
	Auto Policy = iota
	// Split cuts each large operation up among all NICs.
	Split
	// RoundRobin gives each large operation to the next NIC.
	RoundRobin
)

var policyNames = [...]string{"auto", "split", "round-robin"}

// String returns the policy's word in SHMEM_NIC_POLICY.
func (p Policy) String() string { return policyNames[p] }

// ParsePolicy returns the policy, by which operations are distributed over NICs, that has a name.
func ParsePolicy(name string) (Policy, error) {
	for i, n := range policyNames {
		if strings.EqualFold(n, name) {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("policy %q: there are %s", name, strings.Join(policyNames[:], ", "))
}

const (
	// threshold is the size above which an operation is cut up. The parts of a smaller one would be
	// so short that their posting and their headers cost as much as several wires save.
	threshold = 128 << 10
	// longestPart caps the bytes of a part, so that no NIC is busy long after the others. Auto cuts
	// an operation so that each NIC has two parts when all bytes under way are spread evenly. The
	// parts are at least half of the threshold, so that a posting of 300 ns allows 1.7 Tb/s.
	longestPart = 4 << 20
	// Parts begin at multiples of Provider.cut in the target's memory. longestCut caps that: it is
	// a page, so that no page, and no block with a promised order, is in two parts.
	longestCut = 4096
)

// pickNIC picks the local NIC l and the NIC r of the peer for a small operation, which is not cut
// up: the NIC that p.state.Cursor selects or, if that does not reach the peer, the next one that
// does. r is negative if no NIC reaches the peer.
func (p *Provider) pickNIC(peer *peer) (l, r int) {
	width := uint64(len(p.nics))
	cursor := p.state.Cursor
	l = int(cursor % width)
	r = p.remote(peer, l, cursor/width)
	for i := 1; r < 0 && i < len(p.nics); i++ {
		l = int((cursor + uint64(i)) % width)
		r = p.remote(peer, l, cursor/width)
	}
	return l, r
}

// pickNICs fills p.order with the local NICs for a large operation of n bytes, one for each part.
// With whole, the operation is not cut up. p.order stays empty if no NIC reaches the peer.
func (p *Provider) pickNICs(peer *peer, n uint64, whole bool) {
	width := len(p.nics)
	parts := n / p.cut / 2 // Split: at most one part for each NIC, of twice p.cut or more
	switch {
	case whole || p.policy == RoundRobin:
		parts = 1
	case p.policy == Auto:
		size := min(max((p.load+n)/uint64(2*width), p.stripe/2), longestPart)
		parts = (n + size/2) / size
	}
	parts = max(parts, 1)
	first := int(peer.largeOps % uint64(width))
	p.order = p.order[:0]
	for i := 0; i < width && uint64(len(p.order)) < parts; i++ {
		l := first + i
		if l >= width {
			l -= width
		}
		if p.remote(peer, l, peer.largeOps/uint64(width)) >= 0 {
			p.order = append(p.order, l)
		}
	}
}
