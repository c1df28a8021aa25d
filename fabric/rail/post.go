package rail

import (
	"errors"
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// op is an operation of the caller of the Provider.
type op struct {
	kind fabric.Kind
	n    int // parts
	left int // parts that are not complete
	err  int32
	text string
	rma  fabric.RMA  // of KindWrite and KindRead
	send fabric.Send // of KindSend
}

// part is what one pair of NICs moves of an operation: some of its bytes, or all.
type part struct {
	nic, remote int          // the pair: numbers of a NIC of this PE and of one of the peer
	tries       int          // on how many pairs the part was tried
	token       fabric.Token // at the NIC
	at, n       uint64       // offset in the operation, and bytes
	underWay    bool         // the NIC has it, and has not completed it
}

// job is the purpose of a token that belongs to a NIC, not to the caller of the Provider.
type job struct {
	what   jobKind
	slot   int32 // number of the fetch or the injected operation, or the caller's token
	part   int32 // number of the part of the operation
	pe     libshmem.PE
	remote int32 // number of the peer's NIC
}

// jobKind is the kind of a job.
type jobKind uint8

const (
	jobNone     jobKind = iota // the token is free, or its operation was detached from the NIC (contact.go)
	jobRow                     // the read of a row of keys
	jobInjected                // an injected operation
	jobPart                    // a part of a caller's operation that was posted again
)

// ref names an injected operation, or a part of an operation, that is to be posted again: a NIC
// could not accept it because its queue was full, or it was taken off a pair that has failed.
type ref struct {
	injected bool
	slot     int32
	part     int32
}

const (
	// Errors of completions, as libfabric numbers them.
	errUnreachable = 113
	errTruncated   = 265
	// maxTries is the most pairs on which an operation is tried. An operation that has failed so
	// often has lost its peer, not a NIC.
	maxTries = 4
)

// reserveToken reserves one of the NIC's own tokens for a job of this package, such as a read of
// keys. It returns false if none is free. The NIC's own tokens are `extras` consecutive numbers, so
// each has another index in n.jobs: the token modulo extras.
func (n *nic) reserveToken(j job) (fabric.Token, bool) {
	last := len(n.free) - 1
	if last < 0 {
		return 0, false
	}
	t := n.free[last]
	n.free = n.free[:last]
	n.jobs[int(t)%extras] = j
	return t, true
}

// freeToken frees one of the NIC's own tokens.
func (n *nic) freeToken(t fabric.Token) {
	n.jobs[int(t)%extras] = job{}
	n.free = append(n.free, t)
}

// job returns the job of one of the NIC's own tokens.
func (n *nic) job(t fabric.Token) *job { return &n.jobs[int(t)%extras] }

// checkArguments checks the arguments of an operation. It returns the peer, or an error if the
// operation may not be posted; what names the operation in the error. The first condition is true
// for every valid operation, so that only the others pay for the texts.
func (p *Provider) checkArguments(what string, pe libshmem.PE, t fabric.Token, inject, fence bool) (*peer, error) {
	if pe.In(len(p.peers)) && p.peers[pe].rails > 0 && (inject || int64(t) < int64(p.tokens)) && !fence {
		return &p.peers[pe], nil
	}
	object := fmt.Sprintf("PE %d", pe)
	switch {
	case !pe.In(len(p.peers)):
		return nil, p.refuse(what, object, shmerr.Causef(shmerr.ErrPE, "%d PEs are connected", len(p.peers)))
	case p.peers[pe].rails == 0:
		return nil, p.refuse(what, object, shmerr.Causef(shmerr.ErrPE, "it has no address"))
	case fence:
		return nil, p.refuse(what, object, shmerr.Causef(shmerr.ErrUnsupported, "there are no fences between NICs"))
	}
	return nil, p.refuse(what, object, shmerr.Causef(shmerr.ErrArgument, "token %d is not below %d", t, p.tokens))
}

// isCallerError reports whether an error of a post is due to the caller's arguments, so that
// another NIC would return it as well.
func isCallerError(err error) bool {
	return errors.Is(err, shmerr.ErrArgument) || errors.Is(err, shmerr.ErrPE) || errors.Is(err, shmerr.ErrUnsupported)
}

// Send implements fabric.Provider: it posts a message on a pair of NICs. If the NIC reports an
// error that is not the caller's, the pair has failed, and Send uses another one. With resend,
// injected messages are stored so that they can be repeated.
func (p *Provider) Send(s *fabric.Send) error {
	peer, err := p.checkArguments("send to", s.To, s.Token, s.Inject, s.Fence)
	if err != nil {
		return err
	}
	if s.Inject && p.resend {
		err := p.inject(peer, injected{send: true, rma: fabric.RMA{PE: s.To, Local: s.Buf, Len: uint64(s.Len)}})
		if err == nil && len(peer.unprobed) > 0 {
			p.probe(peer, s.To, s)
		}
		return err
	}
	for {
		l, r := p.pickNIC(peer)
		if r < 0 {
			return p.refuse("send to", fmt.Sprintf("PE %d", s.To), shmerr.Causef(shmerr.ErrPE, "no NIC reaches it any more"))
		}
		tok, ok := s.Token, true
		if !s.Inject {
			if tok, ok = p.tokenAt(l, s.Token, 0, s.To, r); !ok {
				p.state.Rotate()
				return fabric.ErrAgain
			}
		}
		m := &p.sending
		*m = *s
		m.To, m.Desc, m.Token = p.addressIndex(s.To, r), p.table.desc(s.Desc, l), tok
		err := p.nics[l].Send(m)
		if err == nil {
			p.countPosted(l, uint64(s.Len), false)
			if !s.Inject {
				op := &p.ops[s.Token]
				op.kind, op.n, op.left, op.err = fabric.KindSend, 1, 1, 0
				op.send = *s
				p.recordPart(s.Token, tok, 0, l, r, 0, uint64(s.Len)).underWay = true
			}
			p.state.CountSmall(uint64(s.Len))
			if len(peer.unprobed) > 0 {
				p.probe(peer, s.To, s)
			}
			return nil
		}
		p.nics[l].freePartToken(s.Token, tok)
		if err == fabric.ErrAgain {
			p.state.Rotate()
			return err
		}
		if isCallerError(err) || !p.resend {
			return err
		}
		p.failPair(l, s.To, r, err.Error())
	}
}

// countPosted counts an operation of n bytes that NIC l has accepted.
func (p *Provider) countPosted(l int, n uint64, read bool) {
	c := &p.nics[l].count
	if c.Ops++; read {
		c.In += n
	} else {
		c.Out += n
	}
}

// recordPart records that part i of operation t is posted on the pair of NICs l and r, with token
// tok.
func (p *Provider) recordPart(t, tok fabric.Token, i, l, r int, at, n uint64) *part {
	w := &p.parts[int(t)*len(p.nics)+i]
	*w = part{nic: l, remote: r, tries: 1, token: tok, at: at, n: n}
	p.nics[l].load += n
	p.load += n
	return w
}

// Write implements fabric.Provider: it posts a one-sided write.
func (p *Provider) Write(r *fabric.RMA) error {
	err := p.postTransfer("write to", fabric.KindWrite, r)
	p.mark()
	return err
}

// Read implements fabric.Provider: it posts a one-sided read.
func (p *Provider) Read(r *fabric.RMA) error {
	err := p.postTransfer("read from", fabric.KindRead, r)
	p.mark()
	return err
}

// postTransfer posts a Write or a Read: a small one on one NIC, the parts of a large one on
// several. It returns ErrAgain until the row of the remote key has been read.
func (p *Provider) postTransfer(what string, kind fabric.Kind, m *fabric.RMA) error {
	peer, err := p.checkArguments(what, m.PE, m.Token, m.Inject, m.Fence)
	if err != nil {
		return err
	}
	if peer.rows.get(m.Key) == nil {
		failed := p.fetchRow(m.PE, m.Key)
		if failed == nil {
			return fabric.ErrAgain
		}
		if m.Inject {
			return p.refuse(what, fmt.Sprintf("PE %d", m.PE), errors.New(failed.text))
		}
		p.ops[m.Token].kind = kind
		p.completeUnposted(m.Token, kind, failed.err, failed.text)
		return nil
	}
	if m.Inject && p.resend {
		return p.inject(peer, injected{rma: *m})
	}
	large := m.Len > p.stripe
	if large {
		p.pickNICs(peer, m.Len, m.Notify || m.Inject)
	} else {
		p.order = p.order[:0]
		if l, r := p.pickNIC(peer); r >= 0 {
			p.order = append(p.order, l)
		}
	}
	if len(p.order) == 0 {
		return p.refuse(what, fmt.Sprintf("PE %d", m.PE), shmerr.Causef(shmerr.ErrPE, "no NIC reaches it any more"))
	}
	// By this number of the operation remote selects the peer's NIC for a local one.
	round := p.state.Cursor / uint64(len(p.nics))
	if large {
		round = peer.largeOps / uint64(len(p.nics))
		peer.largeOps += uint64(len(p.order))
	}
	op := &p.ops[m.Token%fabric.Token(p.tokens)] // the token of an injected operation has no meaning
	if !m.Inject {
		op.kind, op.n, op.left, op.err, op.rma = kind, len(p.order), len(p.order), 0, *m
	}
	// If a NIC refuses the first part, the caller posts the operation again. The other parts, if
	// they are refused, stay in p.waiting.
	first := p.order[0]
	size := p.partBegin(m, 1, len(p.order))
	r := p.remote(peer, first, round)
	tok, err := p.startPart(kind, m, 0, first, r, 0, size)
	switch {
	case err == nil:
	case err == fabric.ErrAgain:
		if !large {
			p.state.Rotate()
		}
		return err
	case isCallerError(err) || !p.resend:
		return err
	default:
		p.failPair(first, m.PE, r, err.Error())
		return p.postTransfer(what, kind, m)
	}
	if !large {
		p.state.CountSmall(m.Len)
	}
	if m.Inject {
		return nil
	}
	p.recordPart(m.Token, tok, 0, first, r, 0, size).underWay = true
	for i := 1; i < len(p.order); i++ {
		l, at, till := p.order[i], p.partBegin(m, i, len(p.order)), p.partBegin(m, i+1, len(p.order))
		part := p.recordPart(m.Token, m.Token, i, l, p.remote(peer, l, round), at, till-at)
		switch tok, err := p.startPart(kind, m, i, l, part.remote, at, till-at); err {
		case nil:
			part.token, part.underWay = tok, true
		case fabric.ErrAgain:
			p.waiting = append(p.waiting, ref{slot: int32(m.Token), part: int32(i)})
		default:
			p.failPart(m.Token, i, errUnreachable, err.Error())
		}
	}
	return nil
}

// startPart posts part i of an operation for the first time, n bytes from offset `at` on. It
// returns the part's token at the NIC.
func (p *Provider) startPart(kind fabric.Kind, m *fabric.RMA, i, l, r int, at, n uint64) (fabric.Token, error) {
	tok, ok := m.Token, true
	if !m.Inject {
		if tok, ok = p.tokenAt(l, m.Token, i, m.PE, r); !ok {
			return 0, fabric.ErrAgain
		}
	}
	err := p.postOneSided(kind, m, l, r, at, n, tok)
	if err != nil {
		p.nics[l].freePartToken(m.Token, tok)
	}
	return tok, err
}

// partBegin returns the offset in the operation at which part i of n begins, and at which part i-1
// ends. It returns the operation's length if i is n. Parts are equal, but for a begin that is moved
// down to a multiple of p.cut in the target's memory.
func (p *Provider) partBegin(m *fabric.RMA, i, n int) uint64 {
	if i == n {
		return m.Len
	}
	at := m.Remote + m.Len/uint64(n)*uint64(i)
	return min(max(at&^(p.cut-1), m.Remote)-m.Remote, m.Len)
}

// postOneSided posts n bytes of a write or read, from offset `at` on, on the pair of NICs l and r.
// The address, the key and the descriptor are those of these NICs.
func (p *Provider) postOneSided(kind fabric.Kind, m *fabric.RMA, l, r int, at, n uint64, t fabric.Token) error {
	w := &p.moving
	*w = *m
	w.PE, w.Desc, w.Token = p.addressIndex(m.PE, r), p.table.desc(m.Desc, l), t
	w.Local, w.Len, w.Remote = unsafe.Add(m.Local, at), n, m.Remote+at
	var err error
	if w.Key, err = p.keyAt(m, r); err != nil {
		return err
	}
	if kind == fabric.KindRead {
		err = p.nics[l].Read(w)
	} else {
		err = p.nics[l].Write(w)
	}
	if err == nil {
		p.countPosted(l, n, kind == fabric.KindRead)
	}
	return err
}
