package rail

import (
	"fmt"
	"strings"
)

// Policy is how operations are spread over NICs.
type Policy uint8

// The policies, numbered as SHMEM_NIC_POLICY lists them.
const (
	// Auto cuts a large operation up among the NICs that have none, and gives it
	// whole to the one that has the least to do when all have: cutting makes one
	// operation quick, and costs many of them a posting for each part.
	Auto Policy = iota
	// Split cuts each large operation up among all NICs.
	Split
	// RoundRobin gives each large operation to the next NIC.
	RoundRobin
)

var policyNames = [...]string{"auto", "split", "round-robin"}

func (p Policy) String() string { return policyNames[p] }

// ParsePolicy reads the name of one.
func ParsePolicy(name string) (Policy, error) {
	for i, n := range policyNames {
		if strings.EqualFold(n, name) {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("policy %q: there are %s", name, strings.Join(policyNames[:], ", "))
}

const (
	// threshold is how many bytes are cut up when there are more. Below it a part
	// is so short that its posting and its header cost what the other wires save.
	threshold = 128 << 10
	// leastPart is the least part that Auto makes.
	leastPart = 32 << 10
	// cut is what parts begin at multiples of in the target's memory, so that no
	// page and no block of a promised order is in two.
	cut = 4096
	// A NIC gets group small operations, or groupBytes, and then the next one does.
	group      = 16
	groupBytes = 64 << 10
)

// small picks the NIC and its peer for an operation of n bytes that goes whole.
func (p *Provider) small(q *peer, n uint64) (l, r int) {
	width := uint64(len(p.nics))
	l = int(p.cursor % width)
	r = p.remote(q, l, p.cursor/width)
	for i := 1; r < 0 && i < len(p.nics); i++ {
		l = int((p.cursor + uint64(i)) % width)
		r = p.remote(q, l, p.cursor/width)
	}
	return l, r
}

// grown moves small operations to the next NIC when the present one has enough.
func (p *Provider) grown(n uint64) {
	p.grouped++
	p.groupedBytes += n
	if p.grouped >= group || p.groupedBytes >= groupBytes {
		p.pass()
	}
}

// pass moves them now.
func (p *Provider) pass() {
	p.cursor++
	p.grouped, p.groupedBytes = 0, 0
}

// large fills p.order with the NICs for an operation of n bytes, one for each part;
// whole: it is not cut up. The order is empty where no NIC reaches the peer.
func (p *Provider) large(q *peer, n uint64, whole bool) {
	width := len(p.nics)
	first := int(q.turn % uint64(width))
	p.order = p.order[:0]
	idle, least := 0, -1
	for i := range width {
		l := first + i
		if l >= width {
			l -= width
		}
		if p.remote(q, l, q.turn/uint64(width)) < 0 {
			continue
		}
		p.order = append(p.order, l)
		load := p.nics[l].load
		if load == 0 {
			idle++
		}
		if least < 0 || load < p.nics[least].load {
			least = l
		}
	}
	switch {
	case len(p.order) < 2:
	case p.policy == RoundRobin || p.policy == Split && whole:
		p.order = p.order[:1]
	case p.policy == Split:
	case idle < 2 || whole:
		p.order = append(p.order[:0], least)
	default:
		free := p.order[:0]
		for _, l := range p.order {
			if p.nics[l].load == 0 && uint64(len(free)+1)*leastPart <= n {
				free = append(free, l)
			}
		}
		p.order = free
	}
}
