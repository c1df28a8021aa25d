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

// controlSize is the size of a message in bytes: kind, status and two unused bytes, three numbers
// of 4 bytes and three of 8.
const controlSize = 40

// bytes encodes a message, little-endian.
func (msg *message) bytes() []byte {
	b := make([]byte, controlSize)
	b[0], b[1] = byte(msg.kind), msg.status
	binary.LittleEndian.PutUint32(b[4:], msg.number)
	binary.LittleEndian.PutUint32(b[8:], msg.id.Number)
	binary.LittleEndian.PutUint32(b[12:], msg.id.Use)
	binary.LittleEndian.PutUint64(b[16:], msg.base)
	binary.LittleEndian.PutUint64(b[24:], msg.key)
	binary.LittleEndian.PutUint64(b[32:], msg.len)
	return b
}

// parse decodes a message. It returns false if no member of this version sends such bytes.
func parse(b []byte) (msg message, ok bool) {
	if len(b) < controlSize {
		return msg, false
	}
	msg = message{
		kind: kind(b[0]), status: b[1], number: binary.LittleEndian.Uint32(b[4:]),
		id:   regionID{binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])},
		base: binary.LittleEndian.Uint64(b[16:]), key: binary.LittleEndian.Uint64(b[24:]), len: binary.LittleEndian.Uint64(b[32:]),
	}
	if msg.status >= statuses {
		return msg, false
	}
	if msg.kind == text {
		return msg, msg.len > 0 && msg.len == uint64(len(b)-controlSize)
	}
	return msg, msg.kind >= importRequest && msg.kind <= received && len(b) == controlSize
}

// queueMessage appends a message to the member's outbox, from which advance sends in order.
func (m *Mesh) queueMessage(p *member, msg message) {
	p.outbox = append(p.outbox, msg.bytes())
	m.addBusy(p)
}

// handleMessage does what a message of a member asks for. The engine calls it within a poll, with
// its lock held, and must not be called back: advance makes the calls of the engine later.
func (m *Mesh) handleMessage(pe libshmem.PE, b []byte) {
	p := m.members[pe]
	if p == nil || p.state != present {
		return
	}
	msg, ok := parse(b)
	if !ok {
		m.noteMisuse(pe, fmt.Sprintf("has sent a message of %d bytes that no member of this version sends", len(b)))
		return
	}
	p.contacted = true
	switch msg.kind {
	case importRequest:
		m.handleRequest(p, &msg)
	case importReply:
		m.handleReply(p, &msg)
	case revoke:
		m.beginRelease(p, msg.id)
	case released:
		m.handleReleased(p, &msg)
	case leave:
		m.queueMessage(p, message{kind: leaveReply})
		p.leaving = true
	case leaveReply:
		m.left = append(m.left, p)
	case text:
		m.storeLetter(p, b[controlSize:])
	case received:
		m.handleReceived(p, msg.number)
	}
}

// handleRequest replies to a member that wants to use a region of this one, and records it as a
// user of the region.
func (m *Mesh) handleRequest(p *member, msg *message) {
	reply := message{kind: importReply, number: msg.number, id: msg.id}
	var r *Region
	if int(msg.id.Number) < len(m.regions) {
		r = m.regions[msg.id.Number]
	}
	if r == nil || r.id != msg.id || r.closing {
		reply.status = notFound
	} else {
		reply.status = statusOf(r.e)
		reply.base, reply.key, reply.len = r.e.Base, r.e.Key, r.len
		r.users[p.number] = true
	}
	m.queueMessage(p, reply)
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
func (m *Mesh) handleReply(p *member, msg *message) {
	req := p.awaited[msg.number]
	if req == nil {
		m.noteMisuse(libshmem.PE(p.number), "has answered a question that this member did not ask")
		return
	}
	delete(p.awaited, msg.number)
	req.replies = 0
	switch {
	case msg.status == notFound:
		req.fail(closedBy(p.number, msg.id))
		return
	case msg.status != found && m.stage == nil:
		req.fail(shmerr.Causef(shmerr.ErrUnsupported, "region %d of member %d is GPU memory (open this mesh for GPU memory, too)", msg.id.Number, p.number))
		return
	}
	if p.imports == nil {
		p.imports = map[uint32]*imported{}
	}
	p.imports[msg.id.Number] = &imported{id: msg.id, len: msg.len}
	m.e.SetRegion(libshmem.PE(p.number), msg.id.Number, &proxy.RemoteRegion{
		Base: msg.base, Key: msg.key, Len: msg.len, GPU: msg.status != found, Direct: msg.status >= foundDirect, Flushes: msg.status == foundUnflushed,
	})
}

// handleReleased notes that a member no longer uses a region that this member closes.
func (m *Mesh) handleReleased(p *member, msg *message) {
	for r, req := range p.closing {
		if r.id == msg.id {
			delete(p.closing, r)
			delete(r.users, p.number)
			req.replies--
			return
		}
	}
}

var errClosing = shmerr.Causef(ErrClosed, "the mesh is being closed")
