package chaos

import (
	"crypto/sha256"
	"encoding/binary"

	"libshmem"
	"libshmem/fabric"
)

// A write with immediate data is posted as a write without, followed by a note: a message to the
// target with the data, sent once all pieces are known to have arrived, after a delay of its own.
// So the network beneath needs no immediate data, and the data never arrives with the last packet
// of an ordered flow.
//
// A note begins with a number of 16 bytes that no other message has by chance.
const noteLen = 16 + 4 + 4 // the mark, the PE that wrote, and the data

var noteMark = sha256.Sum256([]byte("fabric/chaos: immediate data"))

// namesWriter reports whether the completion of immediate data names the PE that wrote
// (Caps.Source). Networks of both kinds exist, and the seed decides which this is. With an even
// seed it does not, as on EFA's first generation, and PEs have to assign sequence streams to each
// other.
func namesWriter(seed uint64) bool { return seed&1 != 0 }

// makeNote makes the note that carries a Write's immediate data. It returns false if the arena has
// no free copy for it now.
func (p *Provider) makeNote(op *fabric.RMA) (delayed, bool) {
	var text [noteLen]byte
	copy(text[:16], noteMark[:])
	binary.LittleEndian.PutUint32(text[16:], uint32(p.me))
	binary.LittleEndian.PutUint32(text[20:], op.Data)
	kept, at, ok := p.arena.storeBytes(text[:])
	if !ok {
		return delayed{}, false
	}
	w := p.newWrite()
	*w = write{left: 1, silent: true, copy: kept}
	return delayed{kind: aSend, copy: noCopy, send: fabric.Send{
		To: op.PE, Buf: at, Len: noteLen, Desc: p.arena.region.Desc, Token: p.reserveToken(w),
	}}, true
}

// sendNote sends the note of a write that has arrived: a message that stands for the write's
// immediate data, which this provider simulates. If the write has failed, the note is dropped.
func (p *Provider) sendNote(w *write) {
	if !w.notes {
		return
	}
	if w.err != 0 { // frees the note's copy and its token, without a message
		p.completePiece(&fabric.Completion{Token: w.note.send.Token}, "")
		return
	}
	p.delay(w.noteDelay, w.note)
}

// readNote changes the completion of a received note, a message that begins with noteMark, into one
// of KindData with the immediate data. Completions of other messages stay as they are.
func (p *Provider) readNote(c *fabric.Completion) {
	if c.Kind != fabric.KindRecv || c.Err != 0 || c.Len != noteLen {
		return
	}
	text := p.received[c.Token].bytes()
	if len(text) < noteLen || string(text[:16]) != string(noteMark[:16]) {
		return
	}
	c.Kind, c.Data = fabric.KindData, binary.LittleEndian.Uint32(text[20:])
	if c.SetFrom(libshmem.NoPE); p.caps.Source {
		c.SetFrom(libshmem.PE(binary.LittleEndian.Uint32(text[16:])))
	}
}
