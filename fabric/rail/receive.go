package rail

import (
	"fmt"
	"math/bits"
	"unsafe"

	"libshmem/fabric"
	"libshmem/fabric/rail/peek"
	"libshmem/runtime/shmerr"
)

// It is not known by which NIC the next message comes, so each NIC has receive buffers of its own,
// and a message is copied into one of the caller's. That takes 0.1 us for 4 KiB, and leaves no
// buffer of the caller's with a NIC that has failed.

// receipts is the number of receive buffers of each NIC.
const receipts = peek.Receipts

// tokenOf returns the token of receive buffer slot, the same with each NIC.
func (p *Provider) tokenOf(slot int32) fabric.Token {
	return fabric.Token(p.tokens) + fabric.Token(slot)
}

// inbox holds the messages that arrived and the buffers that they may be copied to.
type inbox struct {
	mem     memory
	size    int             // of a buffer; 0: the caller has posted none yet
	regions []fabric.Region // by NIC
	arrived ring[arrival]   // messages that wait for a buffer of the caller's
	owed    []arrival       // receive buffers that their NICs had no room for
}

// arrival is a receive buffer of a NIC, and the completion of the message in it, if there is one.
type arrival struct {
	nic, slot int32
	comp      fabric.Completion
}

// ring is a queue of fixed size.
type ring[T any] struct {
	items   []T
	head, n int
}

func (r *ring[T]) put(v T) {
	r.items[(r.head+r.n)%len(r.items)] = v
	r.n++
}

func (r *ring[T]) get() T {
	v := r.items[r.head]
	r.head = (r.head + 1) % len(r.items)
	r.n--
	return v
}

// Recv is part of fabric.Provider. All buffers have the size of the first, or less.
func (p *Provider) Recv(at unsafe.Pointer, n int, _ uintptr, t fabric.Token) error {
	in := &p.inbox
	object := fmt.Sprintf
	switch {
	case int64(t) >= int64(p.tokens):
		return p.refuse("receive into", object("buffer %d", t), shmerr.Causef(shmerr.ErrArgument, "token %d is not below %d", t, p.tokens))
	case in.size > 0 && n > in.size:
		return p.refuse("receive into", object("buffer %d", t), shmerr.Causef(shmerr.ErrArgument, "%d bytes, after a first buffer of %d", n, in.size))
	case in.size == 0:
		if err := p.openInbox(n); err != nil {
			return err
		}
	}
	if !p.state.Post(peek.Buffer{At: at, N: uint64(n), Token: t}) {
		return fabric.ErrAgain
	}
	p.mark()
	return nil
}

// openInbox makes the receive buffers of all NICs and posts them.
func (p *Provider) openInbox(size int) error {
	in := &p.inbox
	var err error
	if in.mem, err = mapMemory(len(p.nics) * receipts * size); err != nil {
		return err
	}
	in.size = size
	for l, n := range p.nics {
		r, err := n.Register(in.mem.at(0), uint64(len(in.mem)))
		if err != nil {
			return fmt.Errorf("register receive buffers with NIC %s: %w", n.name, err)
		}
		in.regions = append(in.regions, r)
		for slot := range receipts {
			if err := p.receive(arrival{nic: int32(l), slot: int32(slot)}); err != nil {
				return err
			}
		}
	}
	if p.peek != nil {
		var at []unsafe.Pointer
		var desc []uintptr
		for l := range p.nics {
			at = append(at, in.at(&arrival{nic: int32(l)}))
			desc = append(desc, in.regions[l].Desc)
		}
		p.peek.Receive(at, desc, size)
	}
	return nil
}

// at returns the address of a receive buffer.
func (in *inbox) at(a *arrival) unsafe.Pointer {
	return in.mem.at((int(a.nic)*receipts + int(a.slot)) * in.size)
}

// receive posts a receive buffer of a NIC, now or when there is room.
func (p *Provider) receive(a arrival) error {
	in, n := &p.inbox, p.nics[a.nic]
	err := n.Recv(in.at(&a), in.size, in.regions[a.nic].Desc, p.tokenOf(a.slot))
	if err == nil {
		return nil
	}
	if err == fabric.ErrAgain {
		in.owed = append(in.owed, a)
		return nil
	}
	return fmt.Errorf("NIC %s: %w", n.name, err)
}

// repay posts the receive buffers that found no room before, in Go or in C.
func (p *Provider) repay() {
	if p.state.Owes() {
		p.state.Repaid()
		for l := range p.nics {
			for owed := p.peek.Owed(l); owed != 0; owed &= owed - 1 {
				p.inbox.owed = append(p.inbox.owed, arrival{nic: int32(l), slot: int32(bits.TrailingZeros32(owed))})
			}
		}
	}
	work := p.inbox.owed
	p.inbox.owed = work[:0]
	for _, a := range work {
		p.kept(p.receive(a))
	}
}

// kept keeps an error that belongs to no operation, for the next Poll to return.
func (p *Provider) kept(err error) {
	if err != nil && p.failed == nil {
		p.failed = err
	}
}

// came handles the completion of receive buffer a: of a message, or of immediate data that used the
// buffer up. It returns true, with c for the caller, if the caller has a buffer for it; else it
// keeps it until there is one.
func (p *Provider) came(a arrival, c *fabric.Completion) bool {
	in := &p.inbox
	if in.arrived.n > 0 || p.state.Posted() == 0 {
		a.comp = *c
		in.arrived.put(a)
		return false
	}
	p.open(a, c)
	return true
}

// open copies the message in receive buffer a into the caller's next buffer, makes c the completion
// of that one, and posts a again.
func (p *Provider) open(a arrival, c *fabric.Completion) {
	in, n := &p.inbox, p.nics[a.nic]
	b := p.state.Next()
	switch {
	case c.Err != 0:
		p.texts[b.Token] = fmt.Sprintf("%s, NIC %s", n.ErrorText(c), n.name)
	case c.Kind == fabric.KindData:
		c.SetFrom(p.outer(c.From()))
	case c.Len > b.N:
		c.Err = errTruncated
		p.texts[b.Token] = fmt.Sprintf("a message of %d bytes for a buffer of %d, token %d, NIC %s", c.Len, b.N, b.Token, n.name)
	default:
		copyBytes(b.At, in.at(&a), int(c.Len))
		n.count.In += c.Len
	}
	c.Token = b.Token
	p.kept(p.receive(a))
}

// deliverWaiting gives the caller messages that have waited for its buffers.
func (p *Provider) deliverWaiting(c []fabric.Completion) int {
	in := &p.inbox
	k := 0
	for k < len(c) && in.arrived.n > 0 && p.state.Posted() > 0 {
		a := in.arrived.get()
		c[k] = a.comp
		p.open(a, &c[k])
		k++
	}
	return k
}
