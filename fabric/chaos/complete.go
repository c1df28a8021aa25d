package chaos

import (
	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
)

// How operations complete. The pieces of a write complete one by one, and the write with the last.

// failRefused completes a delayed operation that inner has refused with an error. An injected
// message has no token of its own: its Token may be that of another operation. For it the caller
// gets a completion of KindTrouble, which says that the PE cannot be reached.
func (p *Provider) failRefused(h *delayed, err error) {
	c := fabric.Completion{Err: int32(unix.EIO)}
	switch h.kind {
	case aSend:
		if h.send.Inject {
			c.Token, c.Kind = fabric.NoToken, fabric.KindTrouble
			c.SetFrom(h.send.To)
			break
		}
		if c.Token, c.Kind = h.send.Token, fabric.KindSend; int(c.Token) >= p.tokens {
			p.completePiece(&c, err.Error()) // the message is a note (note.go)
			return
		}
	case aRead:
		c.Token, c.Kind = h.rma.Token, fabric.KindRead
	default: // a piece of a write
		c.Token, c.Kind = h.rma.Token, fabric.KindWrite
		p.completePiece(&c, err.Error())
		return
	}
	p.texts[causeOf(&c)] = err.Error()
	p.done = append(p.done, c)
}

// cause identifies what an error is about: an operation by its token, or otherwise a PE.
type cause struct {
	token fabric.Token
	pe    libshmem.PE
}

// causeOf returns the cause of a completion with an error: the operation with its token or, without
// a token, the PE that the completion names.
func causeOf(c *fabric.Completion) cause {
	if c.Token == fabric.NoToken {
		return cause{c.Token, c.From()}
	}
	return cause{token: c.Token}
}

// completePiece handles the completion of one piece of a write, of the read that confirms a write,
// or of a note. A write is complete after its last piece or, if its caller or its note waits for
// its arrival and completions do not promise that, after a read that confirms it. Then the note is
// sent, the message with the write's immediate data, and the caller gets the completion, which does
// not wait for the note. A note counts as a write of one piece whose completion the caller does not
// get.
func (p *Provider) completePiece(c *fabric.Completion, text string) {
	i := int(c.Token) - p.tokens
	w := p.piece[i]
	p.piece[i] = nil
	p.free = append(p.free, c.Token)
	if c.Err != 0 && w.err == 0 {
		w.err, w.text = c.Err, text
	}
	if w.left--; w.left > 0 {
		return
	}
	// w.last.Len is 0 for a write without bytes, and once confirm has posted the read.
	if !p.inner.Caps().DeliveryComplete && w.err == 0 && w.last.Len > 0 && (!w.silent || w.notes) {
		p.unread = append(p.unread, w)
		return
	}
	p.sendNote(w)
	p.arena.release(w.copy)
	p.spare = append(p.spare, w)
	if w.silent {
		return
	}
	out := fabric.Completion{Token: w.token, Kind: fabric.KindWrite, Err: w.err}
	if w.err != 0 {
		p.texts[causeOf(&out)] = w.text
	}
	if w.late > 0 {
		p.delay(w.late, delayed{kind: aCompletion, comp: out, copy: noCopy})
		return
	}
	p.done = append(p.done, out)
}

// confirm posts a read of one byte of each write in p.unread. On networks where reads follow
// writes, the completion of the read shows that the write has arrived.
func (p *Provider) confirm() {
	for len(p.unread) > 0 && len(p.free) > 0 {
		w := p.unread[0]
		op := &p.op
		*op = fabric.RMA{
			PE: w.last.PE, Local: p.arena.scratch(), Len: 1, Desc: p.arena.region.Desc,
			Remote: w.last.Remote, Key: w.last.Key, Token: p.reserveToken(w),
		}
		w.left = 1
		w.last.Len = 0 // completePiece must not have the write confirmed again
		if err := p.inner.Read(op); err == fabric.ErrAgain {
			w.last.Len = 1
			p.piece[int(op.Token)-p.tokens] = nil
			p.free = append(p.free, op.Token)
			return
		} else if err != nil {
			p.completePiece(&fabric.Completion{Token: op.Token, Err: int32(unix.EIO)}, err.Error())
		}
		p.unread = p.unread[:copy(p.unread, p.unread[1:])]
	}
}
