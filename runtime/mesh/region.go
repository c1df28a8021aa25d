package mesh

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/shmerr"
)

// regionID names a region of a member. A Number is used again after its region has been closed, a
// Use never.
type regionID struct{ Number, Use uint32 }

// Region is memory of this member that it has registered.
type Region struct {
	m       *Mesh
	id      regionID
	len     uint64
	e       *proxy.Region
	users   map[int]bool // members that have imported it
	closing bool
	closed  bool
	blob    []byte
}

// Remote is a region of a member, as that has answered an import.
type Remote struct {
	Member int
	Len    uint64
	id     regionID
}

// String names the region in texts.
func (r *Remote) String() string { return fmt.Sprintf("region %d of member %d", r.id.Number, r.Member) }

// imported is what this member knows of a region that it has imported.
type imported struct {
	id     regionID
	len    uint64
	closed bool
}

// MaxRegion is the most bytes of a region.
const MaxRegion = mem.MaxRegion

// Register makes n bytes at base a region, which members may import. The memory has to stay mapped
// until the region is closed. GPU memory needs Options.Memory. While it is a region, its owner's
// kernels must not change the words that members signal.
func (m *Mesh) Register(base unsafe.Pointer, n uint64) (r *Region, err error) {
	err = m.locked(func() error {
		switch {
		case m.closing:
			return errClosing
		case n == 0 || n > MaxRegion:
			return shmerr.Causef(shmerr.ErrRange, "a region has 1 to %d bytes", uint64(MaxRegion))
		case base == nil || uintptr(base)%8 != 0:
			return shmerr.Causef(shmerr.ErrAddress, "the address is not a multiple of 8")
		}
		e, err := m.e.AddRegion(base, n)
		if err != nil {
			return err
		}
		m.uses++
		r = &Region{m: m, id: regionID{e.Number, m.uses}, len: n, e: e, users: map[int]bool{}}
		for int(e.Number) >= len(m.regions) {
			m.regions = append(m.regions, nil)
		}
		m.regions[e.Number] = r
		r.blob = m.sealRegion(&regionBlob{Member: uint32(m.me), Instance: m.instance, ID: r.id, Len: n})
		return nil
	})
	if err != nil {
		return nil, &shmerr.Error{Op: "register", Object: fmt.Sprintf("%d bytes at %p", n, base), Cause: err}
	}
	return r, nil
}

// Describe returns the blob with which members import the region.
func (r *Region) Describe() []byte { return r.blob }

// KeepWords says that from now on only signals change the words of a region of GPU memory, and no
// kernel does, for as long as it is a region. The owner then remembers their values, and stores them
// without reading them first. It is called before the region is described to others.
func (r *Region) KeepWords() error {
	return r.m.locked(func() error {
		if r.e.GPU && !r.closing {
			r.m.e.KeepWords(r.e)
		}
		return nil
	})
}

// OnGPU reports whether the region is GPU memory.
func (r *Region) OnGPU() bool { return r.e.GPU }

// Close ends a region. When the request is done no member uses the memory any more, and nothing of
// it is registered. Until then members may still read and write it.
func (r *Region) Close() (req *Request, err error) {
	m := r.m
	err = m.locked(func() error {
		if r.closing {
			return shmerr.Causef(ErrClosed, "it is closed already")
		}
		r.closing = true
		req = &Request{m: m, op: "close", on: fmt.Sprintf("region %d", r.id.Number)}
		req.settle = func() { m.unregister(r, req) }
		if r.e.GPU {
			req.copied = m.copied()
		}
		for number := range r.users {
			p := m.members[number]
			if p.state != here {
				continue
			}
			if p.closing == nil {
				p.closing = map[*Region]*Request{}
			}
			p.closing[r] = req
			req.answers++
			m.say(p, message{kind: revoke, id: r.id})
		}
		m.ending = append(m.ending, req)
		m.advance()
		return nil
	})
	if err != nil {
		return nil, &shmerr.Error{Op: "close", Object: fmt.Sprintf("region %d", r.id.Number), Cause: err}
	}
	return req, nil
}

// copied returns a function that reports whether the copies are complete that the GPU's streams had
// at its first call. A member that is lost may have left some.
func (m *Mesh) copied() func() bool {
	var marks *gpustage.Marks
	return func() bool {
		if marks == nil {
			marks = m.stage.Marks()
		}
		return m.stage.Passed(marks)
	}
}

// unregister ends a region that no member uses.
func (m *Mesh) unregister(r *Region, req *Request) {
	if r.closed {
		return
	}
	r.closed = true
	m.regions[r.id.Number] = nil
	if err := m.e.RemoveRegion(r.e); err != nil {
		req.fail(err)
	}
}

// Import asks a member for a region of its, which blob describes. When the request is done,
// operations may name the Remote.
func (m *Mesh) Import(blob []byte) (*Remote, *Request, error) {
	b, err := m.readRegion(blob)
	var remote *Remote
	var req *Request
	if err == nil {
		err = m.locked(func() error {
			p, err := m.find(int(b.Member))
			switch {
			case err != nil:
				return err
			case m.closing:
				return errClosing
			case p.instance != b.Instance:
				return shmerr.Causef(shmerr.ErrArgument, "the blob is of another process, which had the number of member %d before", b.Member)
			}
			remote = &Remote{Member: int(b.Member), Len: b.Len, id: b.ID}
			req = m.begin(p, "import", b.String())
			req.answers = 1
			if p.awaited == nil {
				p.awaited = map[uint32]*Request{}
			}
			p.asked++
			p.awaited[p.asked] = req
			m.say(p, message{kind: ask, id: b.ID, question: p.asked})
			m.advance()
			return nil
		})
	}
	if err != nil {
		return nil, nil, &shmerr.Error{Op: "import", Object: b.String(), Cause: err}
	}
	return remote, req, nil
}

// reach returns the offset by which the engine names n bytes of a region, and the member.
func (m *Mesh) reach(r *Remote, offset, n uint64) (*member, libshmem.Offset, error) {
	p, err := m.find(r.Member)
	if err != nil {
		return nil, 0, err
	}
	of := p.imports[r.id.Number]
	switch {
	case of == nil:
		return nil, 0, shmerr.Causef(shmerr.ErrArgument, "region %d of member %d is not imported yet (wait for the request of its import)", r.id.Number, r.Member)
	case of.id != r.id || of.closed:
		return nil, 0, closedBy(r.Member, r.id)
	case offset > of.len || n > of.len-offset:
		return nil, 0, shmerr.Causef(shmerr.ErrRange, "%d bytes at %d leave region %d of member %d, which has %d", n, offset, r.id.Number, r.Member, of.len)
	}
	return p, mem.InRegion(r.id.Number, offset), nil
}

// closedBy is the error of operations on a region that its member has closed.
func closedBy(number int, id regionID) error {
	return shmerr.Causef(ErrClosed, "member %d has closed region %d", number, id.Number)
}

// drain is a region that its member closes: this one answers when its operations on it are
// complete there.
type drain struct {
	id   regionID
	rest []*Request
}

// empty reports whether all operations have ended.
func (d *drain) empty() bool {
	kept := d.rest[:0]
	for _, r := range d.rest {
		if !r.settled() {
			kept = append(kept, r)
		}
	}
	d.rest = kept
	return len(d.rest) == 0
}

// release begins to let go a region that its member closes. Operations that were not posted end
// with an error. Those under way go on, and flushes in all contexts tell when they are complete.
func (m *Mesh) release(p *member, id regionID) {
	of := p.imports[id.Number]
	if of == nil || of.id != id || of.closed {
		m.say(p, message{kind: released, id: id}) // it was answered already, or is not known
		return
	}
	of.closed = true
	kept := p.queue[:0]
	for _, o := range p.queue {
		if o.kind != doFlush && o.region == id.Number {
			o.req.fail(closedBy(p.number, id))
			o.req.unposted--
			continue
		}
		kept = append(kept, o)
	}
	p.queue = kept
	d := &drain{id: id}
	for _, r := range p.open {
		if r.touches(id.Number) {
			d.rest = append(d.rest, r)
		}
	}
	for context := range m.contexts {
		if context > 0 && m.contexts[context] == m.contexts[0] {
			break // all of them share the first one
		}
		r := m.begin(p, "flush", fmt.Sprintf("member %d", p.number))
		m.enqueue(p, &operation{req: r, kind: doFlush, context: context})
		d.rest = append(d.rest, r)
	}
	p.drains = append(p.drains, d)
}
