package mesh

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmerr"
)

// operationKind says what an operation of a mesh does.
type operationKind uint8

const (
	doPut operationKind = iota
	doGet
	doFlush
	doProbe // as a flush, but without an order: its reply shows only that the member lives
)

// moves reports whether operations of a kind name bytes of a region. The others fetch a word of the
// member itself, for its reply.
func (k operationKind) moves() bool { return k == doPut || k == doGet }

// operation is a put, a get, a flush or a probe that was not posted in full.
type operation struct {
	req     *Request
	kind    operationKind
	context int
	region  uint32
	offset  libshmem.Offset
	local   unsafe.Pointer
	n       uint64
	signal  *signal // after the bytes; nil: none
	ordered bool    // a fence has to be posted before it
	cut     bool    // bytes before the signal's part were posted apart, so the signal needs a fence
}

// signal is the update of a word of 8 bytes at the target that follows the bytes of a put.
type signal struct {
	offset libshmem.Offset
	value  uint64
	op     fabric.Op
}

// SignalOp is what a signal does to its word.
type SignalOp int

// Values of SignalOp.
const (
	Set SignalOp = iota // store the value
	Add                 // add the value, atomically with other signals
)

// Signal is the update of a word of 8 bytes in a region of the member that gets a put's bytes.
type Signal struct {
	Region *Remote
	Offset uint64 // a multiple of 8
	Op     SignalOp
	Value  uint64
}

// Block names Len bytes of this member's memory, and Len bytes of a region.
type Block struct {
	Local  unsafe.Pointer
	Offset uint64 // in the region
	Len    uint64
}

// Put copies blocks to a region of a member. When the request is done the local memory may be used
// again. If after is not nil, this signal follows all blocks: a thread that sees its value sees
// their bytes. With ordered, blocks and signal also follow all earlier operations of the context on
// the member.
func (m *Mesh) Put(context int, to *Remote, blocks []Block, after *Signal, ordered bool) (*Request, error) {
	return m.transfer("put to", doPut, context, to, blocks, after, ordered)
}

// Get copies blocks from a region of a member. When the request is done the bytes are in the local
// memory.
func (m *Mesh) Get(context int, from *Remote, blocks []Block) (*Request, error) {
	return m.transfer("get from", doGet, context, from, blocks, nil, false)
}

// Notify sends a signal without bytes. With ordered it follows all earlier operations of the
// context on the member.
func (m *Mesh) Notify(context int, s *Signal, ordered bool) (*Request, error) {
	return m.transfer("notify", doPut, context, s.Region, nil, s, ordered)
}

// transfer begins a put, a get or a signal. name is that of the call, for errors.
func (m *Mesh) transfer(name string, kind operationKind, context int, at *Remote, blocks []Block, after *Signal, ordered bool) (req *Request, err error) {
	err = m.locked(func() error {
		if req, err = m.start(name, kind, context, at, blocks, after, ordered); err == nil {
			m.advance()
		}
		return err
	})
	if err != nil {
		return nil, transferError(name, at, err)
	}
	return req, nil
}

// transferError is the error of a transfer that could not begin.
func transferError(name string, at *Remote, err error) error {
	return &shmerr.Error{Op: name, Object: at.String(), Cause: err}
}

// start checks a transfer and enqueues its operations, which advance posts. The caller holds the
// lock.
func (m *Mesh) start(name string, kind operationKind, context int, at *Remote, blocks []Block, after *Signal, ordered bool) (*Request, error) {
	p, all, err := m.plan(kind, context, at, blocks, after, ordered)
	if err != nil {
		return nil, err
	}
	req := m.newRequest(p, name, at.String())
	parts := 0 // operations of the engine: each operation is cut into parts of at most maxPart bytes
	for _, o := range all {
		o.req = req
		parts += int(max(1, (o.n+m.maxPart-1)/m.maxPart))
		if !req.touches(o.region) {
			req.regions = append(req.regions, o.region)
		}
	}
	if after != nil && !req.touches(after.Region.id.Number) {
		req.regions = append(req.regions, after.Region.id.Number)
	}
	req.parts = make([]proxy.Request, parts)
	for _, o := range all {
		m.enqueue(p, o)
	}
	return req, nil
}

// plan checks a transfer, and returns the member on which it works, and its operations: one for
// each block, of which the last has the signal. A signal without blocks is an operation of 0 bytes.
func (m *Mesh) plan(kind operationKind, context int, at *Remote, blocks []Block, after *Signal, ordered bool) (p *member, all []*operation, err error) {
	if err := m.checkContext(context); err != nil {
		return nil, nil, err
	}
	if p, err = m.find(at.Member); err != nil {
		return nil, nil, err
	}
	for i, b := range blocks {
		_, offset, err := m.locate(at, b.Offset, b.Len)
		if err != nil {
			return nil, nil, err
		}
		if b.Len == 0 {
			continue
		}
		if b.Local == nil {
			return nil, nil, shmerr.Causef(shmerr.ErrAddress, "block %d has no local memory", i)
		}
		if kind == doPut && m.stage != nil && !p.gpu && m.stage.Holds(b.Local, b.Len) {
			return nil, nil, shmerr.Causef(shmerr.ErrUnsupported, "block %d is GPU memory, and member %d was not opened for that (open its mesh for GPU memory, too)", i, p.number)
		}
		all = append(all, &operation{kind: kind, context: context, region: at.id.Number, offset: offset, local: b.Local, n: b.Len})
	}
	if after != nil {
		s, err := m.checkSignal(p, after)
		if err != nil {
			return nil, nil, err
		}
		if len(all) == 0 {
			all = append(all, &operation{kind: kind, context: context, region: after.Region.id.Number, offset: s.offset})
		}
		last := all[len(all)-1]
		last.signal, last.cut = s, len(all) > 1
	}
	if ordered && len(all) > 0 {
		all[0].ordered = true
	}
	return p, all, nil
}

// checkSignal checks a signal that is to follow bytes to member p, and returns it in the form that
// the engine uses.
func (m *Mesh) checkSignal(p *member, after *Signal) (*signal, error) {
	if after.Region.Member != p.number {
		return nil, shmerr.Causef(shmerr.ErrArgument, "the signal is at member %d, and the bytes at member %d", after.Region.Member, p.number)
	}
	if after.Offset%8 != 0 {
		return nil, shmerr.Causef(shmerr.ErrAddress, "the signal at %d is not at a multiple of 8", after.Offset)
	}
	s := &signal{value: after.Value, op: fabric.OpSet}
	switch after.Op {
	case Set:
	case Add:
		s.op = fabric.OpAdd
	default:
		return nil, shmerr.Causef(shmerr.ErrArgument, "a signal has no operation %d", after.Op)
	}
	var err error
	_, s.offset, err = m.locate(after.Region, after.Offset, 8)
	return s, err
}

// checkContext returns an error if the mesh has no context of this number, or is being closed.
func (m *Mesh) checkContext(context int) error {
	switch {
	case m.closing:
		return errClosing
	case context < 0 || context >= len(m.contexts):
		return shmerr.Causef(shmerr.ErrArgument, "context %d is not one of %d", context, len(m.contexts))
	}
	return nil
}

// Flush returns a request that is done when all earlier operations of a context on a member have
// taken effect there.
func (m *Mesh) Flush(context, number int) (req *Request, err error) {
	err = m.locked(func() error {
		if err := m.checkContext(context); err != nil {
			return err
		}
		p, err := m.find(number)
		if err != nil {
			return err
		}
		req = m.newRequest(p, "flush", fmt.Sprintf("member %d", number))
		m.enqueue(p, &operation{req: req, kind: doFlush, context: context})
		m.advance()
		return nil
	})
	if err != nil {
		return nil, &shmerr.Error{Op: "flush", Object: fmt.Sprintf("member %d", number), Cause: err}
	}
	return req, nil
}

// newRequest makes a request for operations on a member, and lists it with those under way there.
func (m *Mesh) newRequest(p *member, op, on string) *Request {
	r := &Request{m: m, member: p, op: op, on: on}
	p.open = append(p.open, r)
	m.addBusy(p)
	return r
}

// enqueue adds an operation to those that wait to be posted. advance posts it at once if it can.
func (m *Mesh) enqueue(p *member, o *operation) {
	if !o.kind.moves() {
		o.req.parts = make([]proxy.Request, 1)
	}
	o.req.unposted++
	p.queue = append(p.queue, o)
	m.addBusy(p)
}

// flushed is the offset, from the user heap, of the word that a flush fetches: the last word of its
// target's internal area, which ends where the user heap of an engine begins. The fetch
// is a message that a fence orders after the context's earlier operations, so its reply shows that
// these are complete.
const flushed libshmem.Offset = -8

// post submits the rest of an operation to the engine, in parts of at most m.maxPart bytes. It
// returns false if the engine has no room for all of them now; the caller calls it again later.
func (m *Mesh) post(p *member, o *operation) bool {
	e, pe := m.contexts[o.context], libshmem.PE(p.number)
	if o.ordered || o.kind == doFlush {
		e.Fence()
		o.ordered = false
	}
	for {
		part := &o.req.parts[o.req.begun]
		n, st := min(o.n, m.maxPart), proxy.Done
		switch {
		case !o.kind.moves():
			st = e.AMO(pe, flushed, fabric.OpFetch, 8, 0, 0, nil, part) // 8 bytes; a fetch has no operands
		case o.kind == doGet:
			st = e.Get(pe, o.offset, o.local, n, part)
		case o.signal == nil || n < o.n:
			st = e.Put(pe, o.offset, o.local, n, part)
		default:
			if o.cut {
				e.Fence()
				o.cut = false
			}
			st = e.PutSignal(pe, o.offset, o.local, n, o.signal.offset, o.signal.value, o.signal.op, part)
		}
		switch st {
		case proxy.Again:
			return false
		case proxy.Failed:
			o.req.fail(m.postError(p))
			return true
		case proxy.Done: // the engine does not complete the request of such a part
			part.Done = 1
		}
		o.req.begun++
		if o.n -= n; o.n == 0 {
			return true
		}
		o.cut = true
		o.offset += libshmem.Offset(n)
		o.local = unsafe.Add(o.local, n)
	}
}

// postError returns why the engine has refused an operation on a member.
func (m *Mesh) postError(p *member) error {
	if p.why != nil {
		return p.why
	}
	return shmerr.Causef(shmerr.ErrPeerLost, "member %d: %w", p.number, m.e.Err())
}
