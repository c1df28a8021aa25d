package rail

import (
	"fmt"
	"math/bits"
	"unsafe"

	"libshmem/fabric"
	"libshmem/fabric/rail/peek"
	"libshmem/runtime/shmerr"
)

// It is not known at which NIC the next message arrives, so each NIC has receive buffers of its
// own, and a message is copied into one of the caller's buffers. The copy takes 0.1 us for 4 KiB,
// and no NIC that has failed holds a buffer of the caller.

// receipts is the number of receive buffers of each NIC.
const receipts = peek.Receipts

// tokenOf returns the token of receive buffer `slot` of a NIC. They are after the caller's tokens,
// and the same for each NIC.
func (p *Provider) tokenOf(slot int32) fabric.Token {
	return fabric.Token(p.tokens) + fabric.Token(slot)
}

// inbox holds the messages that arrived and the buffers that they may be copied to.
type inbox struct {
	mem     memory
	size    int             // of a buffer; 0: the caller has posted none yet
	failed  error           // why some NIC has no receive buffers; nil: each has, or none yet
	regions []fabric.Region // by NIC
	arrived ring[arrival]   // messages for which the caller has not posted a buffer yet
	owed    []arrival       // receive buffers to post: the receive queue of their NIC was full
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

// put appends an item; the caller knows that there is room.
func (r *ring[T]) put(v T) {
	r.items[(r.head+r.n)%len(r.items)] = v
	r.n++
}

// get removes the first item; the caller knows that there is one.
func (r *ring[T]) get() T {
	v := r.items[r.head]
	r.head = (r.head + 1) % len(r.items)
	r.n--
	return v
}

// Recv implements fabric.Provider. The caller's buffer is not posted with a NIC: each NIC has
// buffers of its own, from which a message is copied to the next buffer of the caller. All buffers
// have at most the size of the first.
func (p *Provider) Recv(at unsafe.Pointer, n int, _ uintptr, t fabric.Token) error {
	in := &p.inbox
	object := fmt.Sprintf
	switch {
	case int64(t) >= int64(p.tokens):
		return p.refuse("receive into", object("buffer %d", t), shmerr.Causef(shmerr.ErrArgument, "token %d is not below %d", t, p.tokens))
	case in.size > 0 && n > in.size:
		return p.refuse("receive into", object("buffer %d", t), shmerr.Causef(shmerr.ErrArgument, "%d bytes, after a first buffer of %d", n, in.size))
	case in.size == 0:
		in.failed = p.openInbox(n)
	}
	if in.failed != nil {
		return in.failed
	}
	if !p.state.Post(peek.Buffer{At: at, N: uint64(n), Token: t}) {
		return fabric.ErrAgain
	}
	p.mark()
	return nil
}

// openInbox makes the receive buffers of all NICs, registers and posts them, and tells the C code
// where they are.
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

// receive posts a receive buffer of a NIC. If the NIC's receive queue is full, it adds the buffer
// to in.owed, and retry posts it.
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

// repostOwed posts the receive buffers that Go or C could not post because the receive queue of
// their NIC was full. Those of C, a bit for each, are moved to the list of Go first.
func (p *Provider) repostOwed() {
	if p.state.Owes() {
		p.state.Repaid()
		for l := range p.nics {
			for owed := p.peek.Owed(l); owed != 0; owed &= owed - 1 { // Owed clears the bits
				p.inbox.owed = append(p.inbox.owed, arrival{nic: int32(l), slot: int32(bits.TrailingZeros32(owed))})
			}
		}
	}
	work := p.inbox.owed
	p.inbox.owed = work[:0]
	for _, a := range work {
		p.failPoll(p.receive(a))
	}
}

// failPoll makes each later Poll fail with an error that belongs to no operation. It keeps the
// first.
func (p *Provider) failPoll(err error) {
	if err != nil && p.failed == nil {
		p.failed = err
	}
}

// handleMessage processes the completion of receive buffer a: of a message, or of immediate data
// that used the buffer up. If the caller has posted a buffer, it returns true and changes *c into
// the completion of that buffer. Otherwise it keeps the message until the caller posts one.
func (p *Provider) handleMessage(a arrival, c *fabric.Completion) bool {
	in := &p.inbox
	if in.arrived.n > 0 || p.state.Posted() == 0 {
		a.comp = *c
		in.arrived.put(a)
		return false
	}
	p.deliver(a, c)
	return true
}

// deliver copies the message in receive buffer a into the caller's next buffer, changes *c into the
// completion of that buffer, and posts a again.
func (p *Provider) deliver(a arrival, c *fabric.Completion) {
	in, n := &p.inbox, p.nics[a.nic]
	b := p.state.Next()
	switch {
	case c.Err != 0:
		p.texts[b.Token] = fmt.Sprintf("%s, NIC %s", n.ErrorText(c), n.name)
	case c.Kind == fabric.KindData:
		c.SetFrom(p.peOfIndex(c.From()))
	case c.Len > b.N:
		c.Err = errTruncated
		p.texts[b.Token] = fmt.Sprintf("a message of %d bytes for a buffer of %d, token %d, NIC %s", c.Len, b.N, b.Token, n.name)
	default:
		copyBytes(b.At, in.at(&a), int(c.Len))
		n.count.In += c.Len
	}
	c.Token = b.Token
	p.failPoll(p.receive(a))
}

// deliverWaiting fills c with the completions of messages that have waited for the caller to post
// buffers, copies the messages to these, and returns their number.
func (p *Provider) deliverWaiting(c []fabric.Completion) int {
	in := &p.inbox
	k := 0
	for k < len(c) && in.arrived.n > 0 && p.state.Posted() > 0 {
		a := in.arrived.get()
		c[k] = a.comp
		p.deliver(a, &c[k])
		k++
	}
	return k
}
