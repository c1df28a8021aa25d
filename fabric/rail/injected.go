package rail

import (
	"fmt"

	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// injected is an operation that the caller injected, whose bytes the Provider keeps as a copy until
// they have arrived, to send them again by another NIC if one fails.
type injected struct {
	rma    fabric.RMA
	send   bool // a message, and of rma only PE, Len and Local hold; else a Write
	probe  bool // a repetition, whose completion shows whether a pair of NICs works
	nic    int  // the pair: numbers of a NIC of this PE and of one of the peer
	remote int  // negative: retryInjected finds a pair
	tries  int  // on how many pairs it was tried
}

// inject posts a copy of an operation that the caller injects: as an operation with a token, not as
// an injected one, so that a completion reports whether the bytes have arrived. Until then it keeps
// the copy, to send it again by another NIC if this one fails.
func (p *Provider) inject(peer *peer, m injected) error {
	last := len(p.spare) - 1
	if last < 0 {
		return fabric.ErrAgain
	}
	if m.rma.Len > maxCopied {
		return p.refuse("inject to", fmt.Sprintf("PE %d", m.rma.PE), shmerr.Causef(shmerr.ErrArgument, "%d bytes, more than %d", m.rma.Len, p.caps.MaxInject))
	}
	i := p.spare[last]
	entry := &p.injected[i]
	*entry = m
	entry.rma.Local = p.table.mem.store(p.copyAt(int(i)), m.rma.Local, int(m.rma.Len))
	entry.rma.Inject = false
	for {
		if entry.nic, entry.remote = p.pickNIC(peer); entry.remote < 0 {
			return p.refuse("send to", fmt.Sprintf("PE %d", m.rma.PE), shmerr.Causef(shmerr.ErrPE, "no NIC reaches it any more"))
		}
		entry.tries = 1
		err := p.post(i)
		if err == nil {
			p.spare = p.spare[:last]
			p.state.CountSmall(m.rma.Len)
			return nil
		}
		if err == fabric.ErrAgain {
			p.state.Rotate()
			return err
		}
		if isCallerError(err) {
			return err
		}
		p.failPair(entry.nic, m.rma.PE, entry.remote, err.Error())
	}
}

// post posts entry i of p.injected on the pair of NICs in that entry.
func (p *Provider) post(i int32) error {
	entry := &p.injected[i]
	n := p.nics[entry.nic]
	var key uint64
	var err error
	if !entry.send {
		if key, err = p.keyAt(&entry.rma, entry.remote); err != nil {
			return err
		}
	}
	t, ok := n.reserveToken(job{what: jobInjected, slot: i, pe: entry.rma.PE, remote: int32(entry.remote)})
	if !ok {
		return fabric.ErrAgain
	}
	if desc := p.table.memRegions[entry.nic].Desc; entry.send {
		m := &p.sending
		*m = fabric.Send{To: p.addressIndex(entry.rma.PE, entry.remote), Buf: entry.rma.Local, Len: int(entry.rma.Len), Desc: desc, Token: t}
		err = n.Send(m)
	} else {
		m := &p.moving
		*m = entry.rma
		m.PE, m.Desc, m.Token = p.addressIndex(entry.rma.PE, entry.remote), desc, t
		m.Key = key
		err = n.Write(m)
	}
	if err != nil {
		n.freeToken(t)
		return err
	}
	p.countPosted(entry.nic, entry.rma.Len, false)
	return nil
}
