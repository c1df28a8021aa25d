package rail

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// maxCross caps the cross-rail addresses that a PE keeps, those of pairs of NICs of different
// rails. They are needed only when a NIC of this PE and a NIC of another rail at the peer have
// failed.
const maxCross = 4096

// peer is what this endpoint knows of one PE.
type peer struct {
	rails    int       // number of its NICs; 0: it cannot be reached
	largeOps uint64    // counts large operations; it selects the first NIC of the next one
	names    []string  // of its NICs, for messages
	bad      []bool    // pairs of NICs that have failed: NIC l of this PE and r of the peer have the index l*rails+r; nil: none has
	pairs    []nicPair // the pairs in use, once a pair has failed
	rows     rows
	// proven has a bit, number l*rails+r, for each pair on which a one-sided operation has
	// succeeded. unprobed are the pairs on which none has, and whose local NIC has reported an
	// error that belongs to no operation: the next message to the peer is repeated on them
	// (contact.go).
	proven   []uint64
	unprobed []nicPair
}

// nicPair is the number of a NIC of this PE, l, and of a NIC of the peer, r.
type nicPair struct{ l, r int }

// remote returns the NIC of a peer to which the local NIC l sends its n-th operation: one on its
// own rail, or, once a pair to the peer has failed, one of those in peer.pairs. The result is
// negative if l has no pair left.
func (p *Provider) remote(peer *peer, l int, n uint64) int {
	if peer.bad == nil {
		return int((uint64(l) + n*uint64(len(p.nics))) % uint64(peer.rails))
	}
	found, first := 0, -1
	for _, w := range peer.pairs {
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
	for _, w := range peer.pairs {
		if w.l == l {
			if skip == 0 {
				return w.r
			}
			skip--
		}
	}
	return first
}

// chooseDetour fills peer.pairs with the pairs of NICs to use after a failure. It is not known
// whether the local or the remote NIC made a pair fail. So chooseDetour prefers pairs of NICs of
// which none is in a failed pair, first pairs on one rail. If there are none, it takes all pairs
// that have not failed yet.
func (p *Provider) chooseDetour(peer *peer) {
	// Which NICs of this PE, and which of the peer, are in a pair that has failed.
	local, remote := make([]bool, len(p.nics)), make([]bool, peer.rails)
	for i, bad := range peer.bad {
		if bad {
			local[i/peer.rails], remote[i%peer.rails] = true, true
		}
	}
	peer.pairs = peer.pairs[:0]
	// Of three searches the first that finds pairs counts: 0 has all conditions, 1 also takes pairs
	// of two rails, and 2 all that have not failed.
	for try := range 3 {
		for l := range p.nics {
			for r := range peer.rails {
				ok := p.canPair(peer, l, r) && !peer.bad[l*peer.rails+r]
				if try < 2 {
					ok = ok && !local[l] && !remote[r]
				}
				if try < 1 {
					ok = ok && (r-l)%gcd(len(p.nics), peer.rails) == 0
				}
				if ok {
					peer.pairs = append(peer.pairs, nicPair{l, r})
				}
			}
		}
		if len(peer.pairs) > 0 {
			return
		}
	}
}

// canPair reports whether NIC l of this PE and NIC r of the peer can be used together: they are on
// one rail, or this endpoint keeps cross-rail addresses. Two NICs are on one rail if r-l is a
// multiple of the greatest common divisor of the numbers of NICs: then, and only then, remote
// returns r for l at some n while no pair has failed.
func (p *Provider) canPair(peer *peer, l, r int) bool {
	return p.cross || (r-l)%gcd(len(p.nics), peer.rails) == 0
}

// gcd returns the greatest common divisor of a and b.
func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// addressIndex returns the index of NIC r of a PE in the address vectors of this PE's NICs. In
// these each PE has p.widest indexes: as many as the PE with most NICs needs.
func (p *Provider) addressIndex(pe libshmem.PE, r int) libshmem.PE {
	return libshmem.PE(int(pe)*p.widest + r)
}

// peOfIndex returns the PE of an index that addressIndex has returned, or NoPE if it is negative.
func (p *Provider) peOfIndex(index libshmem.PE) libshmem.PE {
	if index < 0 {
		return libshmem.NoPE
	}
	return libshmem.PE(int(index) / p.widest)
}

// magic begins the encoded address of an endpoint with several NICs.
var magic = []byte("rail\x01")

// Addr implements fabric.Provider. It returns the addresses of the NICs, the address of the table
// of keys, and the first rows of that table.
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
	tables []remoteAddr
	rows   []row
}

// reader decodes an address.
type reader struct {
	b   []byte
	bad bool
}

// next returns the next n bytes of the address. If fewer are left it returns zeros, and sets r.bad.
func (r *reader) next(n int) []byte {
	if n > len(r.b) {
		r.bad = true
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// byte returns the next byte as a number.
func (r *reader) byte() int { return int(r.next(1)[0]) }

// short returns the next number of 16 bits.
func (r *reader) short() int { return int(binary.LittleEndian.Uint16(r.next(2))) }

// number returns the next number of 64 bits.
func (r *reader) number() uint64 { return binary.LittleEndian.Uint64(r.next(8)) }

// parseAddr decodes an address that Addr of a peer has returned: the name, address and table of
// each of its NICs, and the first rows of keys.
func parseAddr(b []byte) (railAddr, error) {
	var c railAddr
	r := &reader{b: b}
	if !bytes.Equal(r.next(len(magic)), magic) || r.bad {
		return c, shmerr.Causef(shmerr.ErrArgument, "%d bytes are no address of an end with several NICs", len(b))
	}
	n := r.byte()
	for range n {
		c.names = append(c.names, string(r.next(r.byte())))
		c.addrs = append(c.addrs, bytes.Clone(r.next(r.short())))
		c.tables = append(c.tables, remoteAddr{r.number(), r.number()})
	}
	for range r.byte() {
		w := row{key: r.number()}
		for range n {
			w.keys = append(w.keys, r.number())
		}
		c.rows = append(c.rows, w)
	}
	if r.bad || len(r.b) > 0 || n == 0 || n > maxNICs {
		return c, shmerr.Causef(shmerr.ErrArgument, "an address of %d bytes with %d NICs is not whole", len(b), n)
	}
	return c, nil
}

// Connect implements fabric.Provider. It finds the number of this PE by comparing addresses.
func (p *Provider) Connect(addrs [][]byte) error {
	if p.peers != nil {
		return &shmerr.Error{Op: "connect", Object: p.caps.Provider, Cause: shmerr.Causef(shmerr.ErrArgument, "the peers are known already")}
	}
	all := make([]railAddr, len(addrs))
	crossAddrs := 0 // for each NIC of a peer, one at each NIC of this PE but that of its rail
	p.widest = 1
	for pe, a := range addrs {
		if len(a) == 0 {
			continue
		}
		c, err := parseAddr(a)
		if err != nil {
			return &shmerr.Error{
				Op: "connect", Object: fmt.Sprintf("%s to PE %d", p.caps.Provider, pe), Cause: err,
				Remedy: "start every PE with the same version of the library and the same SHMEM_PROVIDER",
			}
		}
		all[pe] = c
		p.widest = max(p.widest, len(c.addrs))
		crossAddrs += len(c.addrs) * (len(p.nics) - 1)
		if len(c.addrs) == len(p.nics) && bytes.Equal(c.addrs[0], p.nics[0].Addr()) {
			p.me = uint64(pe)
		}
	}
	p.cross = crossAddrs <= maxCross
	peers := make([]peer, len(addrs))
	p.state.Cursor = p.me
	for pe := range peers {
		peer, c := &peers[pe], &all[pe]
		if peer.rails = len(c.addrs); peer.rails == 0 {
			continue
		}
		peer.largeOps = p.me + uint64(pe)
		peer.names = c.names
		peer.rows = newRows(c)
		peer.proven = make([]uint64, (len(p.nics)*peer.rails+63)/64)
	}
	for l, n := range p.nics {
		vector := make([][]byte, len(addrs)*p.widest)
		for pe := range peers {
			for r := range peers[pe].rails {
				if p.canPair(&peers[pe], l, r) {
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

// failPair takes the pair of the local NIC l and NIC r of a PE out of use. It calls Config.Lost at
// the first failure of NIC l.
func (p *Provider) failPair(l int, pe libshmem.PE, r int, text string) {
	peer, n := &p.peers[pe], p.nics[l]
	if peer.bad == nil {
		peer.bad = make([]bool, len(p.nics)*peer.rails)
	}
	if peer.bad[l*peer.rails+r] {
		return
	}
	peer.bad[l*peer.rails+r] = true
	p.chooseDetour(peer)
	n.count.Lost++
	if n.hadError {
		p.listStranded(l, pe, r)
	}
	if n.reported || p.lost == nil {
		return
	}
	n.reported = true
	others := "its operations go over other NICs"
	if len(peer.pairs) == 0 {
		others = "no other NIC reaches it"
	}
	p.lost(fmt.Sprintf("NIC %s does not reach PE %d at its NIC %s any more: %s; %s", n.name, pe, peer.names[r], text, others))
}
