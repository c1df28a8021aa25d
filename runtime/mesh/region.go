package mesh

import (
	"errors"
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/shmerr"
)

// regionID names a region of a member. After a region was closed, another one may get its Number,
// but none gets its Use.
type regionID struct{ Number, Use uint32 }

// Region is memory of this member that it has registered.
type Region struct {
	m       *Mesh
	id      regionID
	len     uint64
	e       *proxy.Region // the engine's region
	users   map[int]bool  // members that have imported it
	closing bool          // Close was called
	closed  bool          // the engine has removed it
	blob    []byte        // which Describe returns
}

// Remote is a region of another member that this one has imported, or is importing.
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
	closed bool // its owner closes it: no operation may begin on it
}

// MaxRegion is the most bytes of a region.
const MaxRegion = mem.MaxRegion

// Register makes n bytes at base a region, which members may import. The memory has to stay mapped
// until the region is closed. GPU memory needs Options.GPU. While it is a region, its owner's
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
		if e.GPU {
			if err := m.reach(e, base, n); err != nil {
				return errors.Join(err, m.e.RemoveRegion(e))
			}
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

// KeepWords makes this member remember the values of the words of a region of GPU memory, so that
// it applies a signal by a store and need not read the word first. The caller promises that only
// signals change these words, and no kernel does, for as long as it is a region. KeepWords must be
// called before the region is described to others.
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

// Direct reports whether the region is GPU memory that NICs reach.
func (r *Region) Direct() bool { return r.e.Direct }

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
			req.copiesEnded = m.copiesEnded()
		}
		for number := range r.users {
			p := m.members[number]
			if p.state != present {
				continue
			}
			if p.closing == nil {
				p.closing = map[*Region]*Request{}
			}
			p.closing[r] = req
			req.replies++
			m.queueMessage(p, message{kind: revoke, id: r.id})
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

// copiesEnded returns a function that reports whether the GPU's streams have carried out the copies
// that they had at its first call. A region of GPU memory is not closed before that: operations of
// a member that is lost may have left copies.
func (m *Mesh) copiesEnded() func() bool {
	var marks *gpustage.Marks
	return func() bool {
		if marks == nil {
			marks = m.stage.Marks()
		}
		return m.stage.Passed(marks)
	}
}

// unregister removes a region that no member uses from the engine. An error ends req.
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

// Import requests the use of another member's region, which blob describes, from that member. When
// the request is done, operations may name the Remote.
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
			req = m.newRequest(p, "import", b.String())
			req.replies = 1
			if p.awaited == nil {
				p.awaited = map[uint32]*Request{}
			}
			p.requests++
			p.awaited[p.requests] = req
			m.queueMessage(p, message{kind: importRequest, id: b.ID, number: p.requests})
			m.advance()
			return nil
		})
	}
	if err != nil {
		return nil, nil, &shmerr.Error{Op: "import", Object: b.String(), Cause: err}
	}
	return remote, req, nil
}

// locate returns the member that owns n bytes of an imported region, and the offset by which the
// engine names them. The error says that the region is not imported, is closed, or is too short.
func (m *Mesh) locate(r *Remote, offset, n uint64) (*member, libshmem.Offset, error) {
	p, err := m.find(r.Member)
	if err != nil {
		return nil, 0, err
	}
	known := p.imports[r.id.Number]
	switch {
	case known == nil:
		return nil, 0, shmerr.Causef(shmerr.ErrArgument, "region %d of member %d is not imported yet (wait for the request of its import)", r.id.Number, r.Member)
	case known.id != r.id || known.closed:
		return nil, 0, closedBy(r.Member, r.id)
	case offset > known.len || n > known.len-offset:
		return nil, 0, shmerr.Causef(shmerr.ErrRange, "%d bytes at %d leave region %d of member %d, which has %d", n, offset, r.id.Number, r.Member, known.len)
	}
	return p, mem.InRegion(r.id.Number, offset), nil
}

// closedBy returns the error of operations on a region that member `number` has closed.
func closedBy(number int, id regionID) error {
	return shmerr.Causef(ErrClosed, "member %d has closed region %d", number, id.Number)
}

// drain is a region that its owner, another member, closes. This member sends the owner the message
// `released` when all requests in rest have ended: they use the region, or flush operations on it.
type drain struct {
	id   regionID
	rest []*Request
}

// advance removes the requests that have ended from rest, and reports whether none is left.
func (d *drain) advance() bool {
	kept := d.rest[:0]
	for _, r := range d.rest {
		if !r.tryEnd() {
			kept = append(kept, r)
		}
	}
	d.rest = kept
	return len(d.rest) == 0
}

// beginRelease stops the use of a region that its owner p closes. Operations on it that were not
// posted end with an error. Those under way go on; a flush in each context shows when they are
// complete, and then serve sends p the message that the region is released.
func (m *Mesh) beginRelease(p *member, id regionID) {
	known := p.imports[id.Number]
	if known == nil || known.id != id || known.closed {
		m.queueMessage(p, message{kind: released, id: id}) // this member does not use it, or has released it
		return
	}
	known.closed = true
	kept := p.queue[:0]
	for _, o := range p.queue {
		if o.kind.moves() && o.region == id.Number {
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
			break // all contexts are the first one's engine, so one flush is enough
		}
		r := m.newRequest(p, "flush", fmt.Sprintf("member %d", p.number))
		m.enqueue(p, &operation{req: r, kind: doFlush, context: context})
		d.rest = append(d.rest, r)
	}
	p.drains = append(p.drains, d)
}
