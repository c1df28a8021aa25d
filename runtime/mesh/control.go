package mesh

import (
	"encoding/binary"
	"fmt"

	"libshmem"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmerr"
)

// kind says what a message between members asks for or reports.
type kind uint8

const (
	importRequest kind = iota + 1 // the sender wants to use the receiver's region id; the reply repeats number
	importReply                   // the region's base, key and len, or no region: see status
	revoke                        // the sender closes its region id: the receiver is to stop using it
	released                      // the sender no longer uses the receiver's region id
	leave                         // the sender leaves the mesh
	leaveReply                    // the sender has received leave, and sends the receiver nothing more
	text                          // a message of the sender's program; its len bytes follow
	received                      // the sender's program has received `number` texts of the receiver
)

// The status in an importReply.
const (
	found          = iota // the region is main memory
	foundGPU              // the region is GPU memory, whose bytes its owner copies
	foundDirect           // the region is GPU memory that NICs reach
	foundUnflushed        // as foundDirect, and the owner has to flush what NICs write there
	notFound              // there is no such region, or it is being closed
	statuses              // the number of statuses
)

// message is a message between members. All kinds have the same fields on the wire, although none
// uses all of them.
type message struct {
	kind   kind
	status uint8
	number uint32
	id     regionID
	base   uint64
	key    uint64
	len    uint64
}

const controlSize = 40

// bytes encodes a message, little-endian.
func (w *message) bytes() []byte {
	b := make([]byte, controlSize)
	b[0], b[1] = byte(w.kind), w.status
	binary.LittleEndian.PutUint32(b[4:], w.number)
	binary.LittleEndian.PutUint32(b[8:], w.id.Number)
	binary.LittleEndian.PutUint32(b[12:], w.id.Use)
	binary.LittleEndian.PutUint64(b[16:], w.base)
	binary.LittleEndian.PutUint64(b[24:], w.key)
	binary.LittleEndian.PutUint64(b[32:], w.len)
	return b
}

// parse decodes a message. It returns false if no member of this version sends such bytes.
func parse(b []byte) (w message, ok bool) {
	if len(b) < controlSize {
		return w, false
	}
	w = message{
		kind: kind(b[0]), status: b[1], number: binary.LittleEndian.Uint32(b[4:]),
		id:   regionID{binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])},
		base: binary.LittleEndian.Uint64(b[16:]), key: binary.LittleEndian.Uint64(b[24:]), len: binary.LittleEndian.Uint64(b[32:]),
	}
	if w.status >= statuses {
		return w, false
	}
	if w.kind == text {
		return w, w.len > 0 && w.len == uint64(len(b)-controlSize)
	}
	return w, w.kind >= importRequest && w.kind <= received && len(b) == controlSize
}

// queueMessage appends a message to the member's outbox, from which advance sends in order.
func (m *Mesh) queueMessage(p *member, w message) {
	p.outbox = append(p.outbox, w.bytes())
	m.addBusy(p)
}

// handleMessage does what a message of a member asks for. The engine calls it within a poll, with
// its lock held, and must not be called back: advance makes the calls of the engine later.
func (m *Mesh) handleMessage(pe libshmem.PE, b []byte) {
	p := m.members[pe]
	if p == nil || p.state != present {
		return
	}
	w, ok := parse(b)
	if !ok {
		m.noteMisuse(pe, fmt.Sprintf("has sent a message of %d bytes that no member of this version sends", len(b)))
		return
	}
	p.contacted = true
	switch w.kind {
	case importRequest:
		m.handleRequest(p, &w)
	case importReply:
		m.handleReply(p, &w)
	case revoke:
		m.beginRelease(p, w.id)
	case released:
		m.handleReleased(p, &w)
	case leave:
		m.queueMessage(p, message{kind: leaveReply})
		p.leaving = true
	case leaveReply:
		m.left = append(m.left, p)
	case text:
		m.storeLetter(p, b[controlSize:])
	case received:
		m.handleReceived(p, w.number)
	}
}

// handleRequest replies to a member that wants to use a region of this one, and records it as a
// user of the region.
func (m *Mesh) handleRequest(p *member, w *message) {
	a := message{kind: importReply, number: w.number, id: w.id}
	var r *Region
	if int(w.id.Number) < len(m.regions) {
		r = m.regions[w.id.Number]
	}
	if r == nil || r.id != w.id || r.closing {
		a.status = notFound
	} else {
		a.status = statusOf(r.e)
		a.base, a.key, a.len = r.e.Base, r.e.Key, r.len
		r.users[p.number] = true
	}
	m.queueMessage(p, a)
}

// statusOf returns the status of an importReply for a region, by the kind of its memory.
func statusOf(r *proxy.Region) uint8 {
	switch {
	case !r.GPU:
		return found
	case !r.Direct:
		return foundGPU
	case !r.Flushes:
		return foundDirect
	}
	return foundUnflushed
}

// handleReply handles the owner's reply to an import: it stores where the region is, so that
// operations can name it, or fails the import.
func (m *Mesh) handleReply(p *member, w *message) {
	req := p.awaited[w.number]
	if req == nil {
		m.noteMisuse(libshmem.PE(p.number), "has answered a question that this member did not ask")
		return
	}
	delete(p.awaited, w.number)
	req.replies = 0
	switch {
	case w.status == notFound:
		req.fail(closedBy(p.number, w.id))
		return
	case w.status != found && m.stage == nil:
		req.fail(shmerr.Causef(shmerr.ErrUnsupported, "region %d of member %d is GPU memory (open this mesh for GPU memory, too)", w.id.Number, p.number))
		return
	}
	if p.imports == nil {
		p.imports = map[uint32]*imported{}
	}
	p.imports[w.id.Number] = &imported{id: w.id, len: w.len}
	m.e.SetRegion(libshmem.PE(p.number), w.id.Number, &proxy.RemoteRegion{
		Base: w.base, Key: w.key, Len: w.len, GPU: w.status != found, Direct: w.status >= foundDirect, Flushes: w.status == foundUnflushed,
	})
}

// handleReleased notes that a member no longer uses a region that this member closes.
func (m *Mesh) handleReleased(p *member, w *message) {
	for r, req := range p.closing {
		if r.id == w.id {
			delete(p.closing, r)
			delete(r.users, p.number)
			req.replies--
			return
		}
	}
}

var errClosing = shmerr.Causef(ErrClosed, "the mesh is being closed")
