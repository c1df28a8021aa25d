package mesh

import (
	"encoding/binary"
	"fmt"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// kind is what a message between members is about.
type kind uint8

const (
	ask      kind = iota + 1 // may I use region id? The answer names the question
	answer                   // base, key and len, or a status
	revoke                   // let region id go
	released                 // it is let go
	bye                      // the sender leaves
	farewell                 // the answer: this member sends nothing more to the other
	text                     // a message of the sender's program, of len bytes, which follow
	received                 // as many texts of the receiver as question says were received
)

// The status of an answer.
const (
	found      = iota // the region is main memory
	foundGPU          // the region is GPU memory
	noSuchArea        // there is no such region
)

// message is a message between members. All have all members.
type message struct {
	kind     kind
	status   uint8
	question uint32
	id       regionID
	base     uint64
	key      uint64
	len      uint64
}

const controlSize = 40

// bytes encodes a message. Members have one byte order: the engine's own messages have that of the
// processor, too.
func (w *message) bytes() []byte {
	b := make([]byte, controlSize)
	b[0], b[1] = byte(w.kind), w.status
	binary.LittleEndian.PutUint32(b[4:], w.question)
	binary.LittleEndian.PutUint32(b[8:], w.id.Number)
	binary.LittleEndian.PutUint32(b[12:], w.id.Use)
	binary.LittleEndian.PutUint64(b[16:], w.base)
	binary.LittleEndian.PutUint64(b[24:], w.key)
	binary.LittleEndian.PutUint64(b[32:], w.len)
	return b
}

// parse decodes a message. false: no member of this version sends it.
func parse(b []byte) (w message, ok bool) {
	if len(b) < controlSize {
		return w, false
	}
	w = message{
		kind: kind(b[0]), status: b[1], question: binary.LittleEndian.Uint32(b[4:]),
		id:   regionID{binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])},
		base: binary.LittleEndian.Uint64(b[16:]), key: binary.LittleEndian.Uint64(b[24:]), len: binary.LittleEndian.Uint64(b[32:]),
	}
	if w.kind == text {
		return w, w.len > 0 && w.len == uint64(len(b)-controlSize)
	}
	return w, w.kind >= ask && w.kind <= received && len(b) == controlSize
}

// say sends a message to a member, in order.
func (m *Mesh) say(p *member, w message) {
	p.outbox = append(p.outbox, w.bytes())
	m.list(p)
}

// hear gets a message of a member. The engine calls it with its lock held, within a poll: what needs
// the engine is done by advance.
func (m *Mesh) hear(pe libshmem.PE, b []byte) {
	p := m.members[pe]
	if p == nil || p.state != here {
		return
	}
	w, ok := parse(b)
	if !ok {
		m.misuse(pe, fmt.Sprintf("has sent a message of %d bytes that no member of this version sends", len(b)))
		return
	}
	p.met = true
	switch w.kind {
	case ask:
		m.answer(p, &w)
	case answer:
		m.answered(p, &w)
	case revoke:
		m.release(p, w.id)
	case released:
		m.handleReleased(p, &w)
	case bye:
		m.say(p, message{kind: farewell})
		p.leaving = true
	case farewell:
		m.left = append(m.left, p)
	case text:
		m.hearLetter(p, b[controlSize:])
	case received:
		m.hearReceived(p, w.question)
	}
}

// answer answers a member that wants to use a region of this one.
func (m *Mesh) answer(p *member, w *message) {
	a := message{kind: answer, question: w.question, id: w.id}
	var r *Region
	if int(w.id.Number) < len(m.regions) {
		r = m.regions[w.id.Number]
	}
	if r == nil || r.id != w.id || r.closing {
		a.status = noSuchArea
	} else {
		if r.e.GPU {
			a.status = foundGPU
		}
		a.base, a.key, a.len = r.e.Base, r.e.Key, r.len
		r.users[p.number] = true
	}
	m.say(p, a)
}

// answered completes an import.
func (m *Mesh) answered(p *member, w *message) {
	req := p.awaited[w.question]
	if req == nil {
		m.misuse(libshmem.PE(p.number), "has answered a question that this member did not ask")
		return
	}
	delete(p.awaited, w.question)
	req.answers = 0
	switch {
	case w.status == noSuchArea:
		req.fail(closedBy(p.number, w.id))
		return
	case w.status == foundGPU && m.stage == nil:
		req.fail(shmerr.Causef(shmerr.ErrUnsupported, "region %d of member %d is GPU memory (open this mesh for GPU memory, too)", w.id.Number, p.number))
		return
	}
	if p.imports == nil {
		p.imports = map[uint32]*imported{}
	}
	p.imports[w.id.Number] = &imported{id: w.id, len: w.len}
	m.e.SetRegion(libshmem.PE(p.number), w.id.Number, w.base, w.key, w.status == foundGPU)
}

// handleReleased notes that a member has let a region of this one go.
func (m *Mesh) handleReleased(p *member, w *message) {
	for r, req := range p.closing {
		if r.id == w.id {
			delete(p.closing, r)
			delete(r.users, p.number)
			req.answers--
			return
		}
	}
}

var errClosing = shmerr.Causef(ErrClosed, "the mesh is being closed")
