package rail

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// crossMost caps the cross-rail addresses that a PE keeps. They are needed only when a NIC here and
// another there have failed.
const crossMost = 4096

// peer is this end's state for one PE.
type peer struct {
	rails int    // its NICs; 0: it cannot be reached
	turn  uint64 // counts large operations; from it comes the NIC of the next
	names []string
	bad   []bool    // pairs that have failed, by NIC here and NIC there; nil: none has
	pairs []nicPair // those in use since some have failed
	rows  rows
	// proven has a bit for each pair on which a one-sided operation has succeeded; doubts are the
	// pairs that are doubted.
	proven []uint64
	doubts []nicPair
}

// nicPair is the number of a NIC here, l, and of a NIC of the peer, r.
type nicPair struct{ l, r int }

// remote returns the NIC of a peer that the local NIC l uses in round n: one on its own rail, or
// where a pair has failed one of those in q.pairs. Negative: l has no pair left.
func (p *Provider) remote(q *peer, l int, n uint64) int {
	if q.bad == nil {
		return int((uint64(l) + n*uint64(len(p.nics))) % uint64(q.rails))
	}
	found, first := 0, -1
	for _, w := range q.pairs {
		if w.l == l {
			if found++; first < 0 {
				first = w.r
			}
		}
	}
	if found < 2 {
		return first
	}
	skip := int(n % uint64(found))
	for _, w := range q.pairs {
		if w.l == l {
			if skip == 0 {
				return w.r
			}
			skip--
		}
	}
	return first
}

// detour fills q.pairs with the pairs to use after a failure. It is not known which end's NIC made a
// pair fail, so pairs without either NIC are preferred, first those on one rail; where there are
// none, all pairs that have not been seen to fail.
func (p *Provider) detour(q *peer) {
	here, there := make([]bool, len(p.nics)), make([]bool, q.rails)
	for i, bad := range q.bad {
		if bad {
			here[i/q.rails], there[i%q.rails] = true, true
		}
	}
	q.pairs = q.pairs[:0]
	for try := range 3 {
		for l := range p.nics {
			for r := range q.rails {
				ok := p.joined(q, l, r) && !q.bad[l*q.rails+r]
				if try < 2 {
					ok = ok && !here[l] && !there[r]
				}
				if try < 1 {
					ok = ok && (r-l)%gcd(len(p.nics), q.rails) == 0
				}
				if ok {
					q.pairs = append(q.pairs, nicPair{l, r})
				}
			}
		}
		if len(q.pairs) > 0 {
			return
		}
	}
}

// joined reports whether two NICs can be a pair: they are on one rail, or this end keeps cross-rail
// addresses.
func (p *Provider) joined(q *peer, l, r int) bool {
	return p.cross || (r-l)%gcd(len(p.nics), q.rails) == 0
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// inner returns the number of a PE's NIC in the address vectors of this PE's NICs.
func (p *Provider) inner(pe libshmem.PE, r int) libshmem.PE { return libshmem.PE(int(pe)*p.widest + r) }

// outer returns the PE of a number that inner has returned.
func (p *Provider) outer(inner libshmem.PE) libshmem.PE {
	if inner < 0 {
		return libshmem.NoPE
	}
	return libshmem.PE(int(inner) / p.widest)
}

// magic begins the address of an end with several NICs.
var magic = []byte("rail\x01")

// Addr is part of fabric.Provider: the addresses of the NICs, the place of the table of keys, and
// the rows of memory that is registered already.
func (p *Provider) Addr() []byte {
	b := append([]byte(nil), magic...)
	b = append(b, byte(len(p.nics)))
	for l, n := range p.nics {
		b = append(b, byte(min(len(n.name), 255)))
		b = append(b, n.name[:min(len(n.name), 255)]...)
		addr := n.Addr()
		b = binary.LittleEndian.AppendUint16(b, uint16(len(addr)))
		b = append(b, addr...)
		b = binary.LittleEndian.AppendUint64(b, p.table.remote())
		b = binary.LittleEndian.AppendUint64(b, p.table.region(l).Key)
	}
	return p.table.appendRows(b)
}

// railAddr is what Addr encodes.
type railAddr struct {
	names  []string
	addrs  [][]byte
	tables []place
	rows   []row
}

// reader decodes an address.
type reader struct {
	b   []byte
	bad bool
}

// take returns the next n bytes. Where there are fewer it returns zeros, and sets bad.
func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.bad = true
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() int      { return int(r.take(1)[0]) }
func (r *reader) short() int     { return int(binary.LittleEndian.Uint16(r.take(2))) }
func (r *reader) number() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// parse decodes an address that Addr of a peer has returned.
func parse(b []byte) (railAddr, error) {
	var c railAddr
	r := &reader{b: b}
	if !bytes.Equal(r.take(len(magic)), magic) || r.bad {
		return c, shmerr.Causef(shmerr.ErrArgument, "%d bytes are no address of an end with several NICs", len(b))
	}
	n := r.byte()
	for range n {
		c.names = append(c.names, string(r.take(r.byte())))
		c.addrs = append(c.addrs, bytes.Clone(r.take(r.short())))
		c.tables = append(c.tables, place{r.number(), r.number()})
	}
	for range r.byte() {
		w := row{key: r.number()}
		for range n {
			w.keys = append(w.keys, r.number())
		}
		c.rows = append(c.rows, w)
	}
	if r.bad || len(r.b) > 0 || n == 0 || n > most {
		return c, shmerr.Causef(shmerr.ErrArgument, "an address of %d bytes with %d NICs is not whole", len(b), n)
	}
	return c, nil
}

// Connect is part of fabric.Provider. It finds its own PE by comparing addresses.
func (p *Provider) Connect(addrs [][]byte) error {
	if p.peers != nil {
		return &shmerr.Error{Op: "connect", Object: p.caps.Provider, Cause: shmerr.Causef(shmerr.ErrArgument, "the peers are known already")}
	}
	all := make([]railAddr, len(addrs))
	others := 0
	p.widest = 1
	for pe, a := range addrs {
		if len(a) == 0 {
			continue
		}
		c, err := parse(a)
		if err != nil {
			return &shmerr.Error{
				Op: "connect", Object: fmt.Sprintf("%s to PE %d", p.caps.Provider, pe), Cause: err,
				Remedy: "start every PE with the same version of the library and the same SHMEM_PROVIDER",
			}
		}
		all[pe] = c
		p.widest = max(p.widest, len(c.addrs))
		others += len(c.addrs) * (len(p.nics) - 1)
		if len(c.addrs) == len(p.nics) && bytes.Equal(c.addrs[0], p.nics[0].Addr()) {
			p.me = uint64(pe)
		}
	}
	p.cross = others <= crossMost
	peers := make([]peer, len(addrs))
	p.state.Cursor = p.me
	for pe := range peers {
		q, c := &peers[pe], &all[pe]
		if q.rails = len(c.addrs); q.rails == 0 {
			continue
		}
		q.turn = p.me + uint64(pe)
		q.names = c.names
		q.rows = newRows(c)
		q.proven = make([]uint64, (len(p.nics)*q.rails+63)/64)
	}
	for l, n := range p.nics {
		vector := make([][]byte, len(addrs)*p.widest)
		for pe := range peers {
			for r := range peers[pe].rails {
				if p.joined(&peers[pe], l, r) {
					vector[pe*p.widest+r] = all[pe].addrs[r]
				}
			}
		}
		if err := n.Connect(vector); err != nil {
			return fmt.Errorf("NIC %s, where number %d is NIC 0 of PE 1: %w", n.name, p.widest, err)
		}
	}
	p.peers = peers
	if p.peek != nil && !p.resend { // else small messages are kept until they have arrived
		rails := make([]uint8, len(peers))
		for pe := range peers {
			rails[pe] = uint8(peers[pe].rails)
		}
		p.peek.Inject(rails, p.widest)
	}
	return nil
}

// fails takes the pair of NIC l and NIC r of a PE out of use. The first time for NIC l it calls
// Config.Lost.
func (p *Provider) fails(l int, pe libshmem.PE, r int, text string) {
	q, n := &p.peers[pe], p.nics[l]
	if q.bad == nil {
		q.bad = make([]bool, len(p.nics)*q.rails)
	}
	if q.bad[l*q.rails+r] {
		return
	}
	q.bad[l*q.rails+r] = true
	p.detour(q)
	n.count.Lost++
	if n.troubled {
		p.strand(l, pe, r)
	}
	if n.reported || p.lost == nil {
		return
	}
	n.reported = true
	others := "its operations go by other NICs"
	if len(q.pairs) == 0 {
		others = "no other NIC reaches it"
	}
	p.lost(fmt.Sprintf("NIC %s does not reach PE %d at its NIC %s any more: %s; %s", n.name, pe, q.names[r], text, others))
}
