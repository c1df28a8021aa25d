package rail

import (
	"time"

	"libshmem"
	"libshmem/fabric"
)

// First contact. A provider may request a handshake of a peer before the first one-sided operation
// between two NICs. If the peer's NIC has failed, operations that wait for the handshake never
// complete. The provider then reports an error of the local NIC (fabric.KindTrouble), which names
// neither the peer nor the operations. So each pair of the local NIC that has one-sided operations
// under way, none of which has succeeded yet, is probed: the endpoint sends the next message to the
// peer a second time on that pair. The target drops the repetition, and the completion of the
// repetition shows whether the pair works. If it fails, the pair is stranded: operations on the
// pair that are not complete after strandedTimeout are detached from it, which means that they are
// posted again on other pairs, and that their completions on this pair are ignored.
//
// The provider of the local NIC holds a detached operation until the provider is closed, but never
// sends it: that would need the handshake with the peer's NIC, which has failed.

// strandedTimeout is the time within which operations that were under way when the NIC failed may
// still complete with an error. If one were detached sooner, it might still write after its
// repetition on another pair.
const strandedTimeout = 2 * time.Second

// stranded is a failed pair of NICs, NIC l of this PE and NIC r of another PE, of which NIC l has
// reported an error that belongs to no operation. Operations on the pair may never complete.
type stranded struct {
	l, r  int
	pe    libshmem.PE
	since time.Time
}

// markProven notes that a one-sided operation has succeeded between the local NIC l and the NIC r
// of a PE, so that this pair of NICs works.
func (p *Provider) markProven(l int, pe libshmem.PE, r int) {
	peer := &p.peers[pe]
	i := l*peer.rails + r
	peer.proven[i/64] |= 1 << (i % 64)
}

// isProven reports whether a one-sided operation has succeeded on the pair of this PE's NIC l and
// the peer's NIC r.
func (peer *peer) isProven(l, r int) bool {
	i := l*peer.rails + r
	return peer.proven[i/64]>>(i%64)&1 != 0
}

// handleTrouble handles an error of NIC l that belongs to no operation. It checks only pairs of
// that NIC that have a one-sided operation under way and on which none has succeeded yet. A pair
// that has failed already is listed as stranded; the next message to the peer of another pair
// probes it.
func (p *Provider) handleTrouble(l int) {
	p.nics[l].hadError = true
	p.eachUnproven(l, func(pe libshmem.PE, r int, _ func()) {
		switch peer := &p.peers[pe]; {
		case peer.bad != nil && peer.bad[l*peer.rails+r]:
			p.listStranded(l, pe, r)
		case !peer.isUnprobed(l, r):
			peer.unprobed = append(peer.unprobed, nicPair{l, r})
		}
	})
}

// isUnprobed reports whether the pair of this PE's NIC l and the peer's NIC r is still to be
// probed: whether it works is not known.
func (peer *peer) isUnprobed(l, r int) bool {
	for _, w := range peer.unprobed {
		if w == (nicPair{l, r}) {
			return true
		}
	}
	return false
}

// eachUnproven calls f for each one-sided operation that NIC l has under way on an unproven pair:
// one on which no one-sided operation has succeeded yet. The operations are parts of the caller's,
// then reads of rows of keys and copies of injected Writes. f gets the PE, its NIC r, and a
// function that detaches the operation from the pair, so that retry posts it on another.
func (p *Provider) eachUnproven(l int, f func(pe libshmem.PE, r int, detach func())) {
	for t := range p.ops {
		op := &p.ops[t]
		if op.kind == fabric.KindSend || op.left == 0 {
			continue
		}
		for i := range op.n {
			part := &p.parts[t*len(p.nics)+i]
			if part.nic == l && part.underWay && !p.peers[op.target()].isProven(l, part.remote) {
				f(op.target(), part.remote, func() { p.detach(fabric.Token(t), i) })
			}
		}
	}
	for i := range p.nics[l].jobs {
		j := &p.nics[l].jobs[i]
		// Jobs of parts were found above.
		if j.what != jobRow && (j.what != jobInjected || p.injected[j.slot].send) || p.peers[j.pe].isProven(l, int(j.remote)) {
			continue
		}
		f(j.pe, int(j.remote), func() {
			if j.what == jobRow {
				p.fetches[j.slot].state = fetchDue
			} else {
				entry := &p.injected[j.slot]
				entry.remote = -1
				entry.tries++
				p.rescued = append(p.rescued, ref{injected: true, slot: j.slot})
			}
			*j = job{} // its token stays reserved: the NIC may still complete it
		})
	}
}

// listStranded lists the failed pair of NIC l and NIC r of a PE as stranded from now on: the NIC
// has reported an error that names no operation, so operations on the pair may or may not complete.
func (p *Provider) listStranded(l int, pe libshmem.PE, r int) {
	for _, s := range p.stranded {
		if s.l == l && s.pe == pe && s.r == r {
			return
		}
	}
	p.stranded = append(p.stranded, stranded{l, r, pe, time.Now()})
}

// detachStranded detaches the operations of each pair that has been stranded for longer than
// strandedTimeout, so that they are repeated on another pair.
func (p *Provider) detachStranded() {
	for len(p.stranded) > 0 && time.Since(p.stranded[0].since) > strandedTimeout {
		s := p.stranded[0]
		p.stranded = p.stranded[1:]
		p.eachUnproven(s.l, func(pe libshmem.PE, r int, detach func()) {
			if pe == s.pe && r == s.r {
				detach()
			}
		})
	}
}

// detach takes part i of operation t off its pair of NICs, and lists it, so that retry posts it on
// another pair. The old NIC may still complete it there, so the token of the part must not be used
// for another operation at that NIC until then, and that completion must have no effect. If the
// token is one of the NIC's own, detach clears its job and leaves it reserved. If it is t, detach
// adds it to staleTokens, so that tokenAt uses a token of the NIC's own for later posts of t there.
func (p *Provider) detach(t fabric.Token, i int) {
	part := &p.parts[int(t)*len(p.nics)+i]
	n := p.nics[part.nic]
	n.load -= part.n
	p.load -= part.n
	if part.token != t {
		*n.job(part.token) = job{}
	} else {
		if n.staleTokens == nil {
			n.staleTokens = map[fabric.Token]bool{}
		}
		n.staleTokens[t] = true
	}
	part.tries++
	part.remote, part.token, part.underWay = -1, fabric.NoToken, false
	p.rescued = append(p.rescued, ref{slot: int32(t), part: int32(i)})
}

// tokenAt returns the token with which a part of a caller's operation is posted to a NIC: the
// caller's token t, or a token of the NIC's own if a detached part still has t there. It returns
// false if the NIC has no free token.
func (p *Provider) tokenAt(l int, t fabric.Token, i int, pe libshmem.PE, r int) (fabric.Token, bool) {
	if n := p.nics[l]; n.staleTokens[t] {
		return n.reserveToken(job{what: jobPart, slot: int32(t), part: int32(i), pe: pe, remote: int32(r)})
	}
	return t, true
}

// freePartToken frees `posted`, the token that tokenAt has returned for the caller's token t,
// unless it is t itself.
func (n *nic) freePartToken(t, posted fabric.Token) {
	if posted != t {
		n.freeToken(posted)
	}
}

// probe repeats a message on each pair to the peer that is to be probed. The completion of the
// repetition shows whether the pair works.
func (p *Provider) probe(peer *peer, pe libshmem.PE, s *fabric.Send) {
	if s.Len > maxCopied {
		return // a later, shorter message is repeated
	}
	remaining := peer.unprobed[:0]
	for _, w := range peer.unprobed {
		last := len(p.spare) - 1
		if last < 0 {
			remaining = append(remaining, w)
			continue
		}
		i := p.spare[last]
		p.injected[i] = injected{rma: fabric.RMA{PE: pe, Len: uint64(s.Len)}, send: true, probe: true, nic: w.l, remote: w.r, tries: 1}
		p.injected[i].rma.Local = p.table.mem.store(p.copyAt(int(i)), s.Buf, s.Len)
		switch err := p.post(i); err {
		case nil:
			p.spare = p.spare[:last]
		case fabric.ErrAgain:
			remaining = append(remaining, w)
		default:
			p.failPair(w.l, pe, w.r, err.Error())
		}
	}
	peer.unprobed = remaining
}
