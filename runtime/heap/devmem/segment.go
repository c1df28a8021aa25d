package devmem

import (
	"errors"
	"fmt"
	"slices"

	"libshmem/runtime/gpu"
	"libshmem/runtime/heap/fdpass"
	"libshmem/runtime/shmerr"
)

// Listener is the socket at which other PEs of the node find this one.
type Listener = fdpass.Listener

// Listen opens it, before the names are exchanged.
func Listen(peers int) (*Listener, error) { return fdpass.Listen(fdpass.User(), peers) }

// Segment is this PE's heap in GPU memory and its paths to those of the others.
type Segment struct {
	dev       Device
	plan      Plan
	share     Path
	links     *links
	heaps     []gpu.Address // by index; 0 where there is no way
	why       []error       // why there is no way
	reach     []bool        // whether the driver says that there is one
	committed uint64

	chunks  *chunks // VMM
	granule uint64
	blocks  []Extent // that Lend has filled
	block   block    // IPC
}

// Open meets the other PEs and reserves the heap. It commits little or nothing
// by VMM, all of it by IPC. On an error nothing is left, and each PE has one.
func Open(dev Device, l *Listener, p Plan) (*Segment, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	mine := hello{Size: p.Size, Align: p.Align, Share: p.Share, UUID: dev.Facts().UUID}
	if p.Share != IPC {
		granule, err := vmmGranule(dev)
		if mine.Granule = granule; err != nil {
			mine.NoVMM = shmerr.OneLine(err)
		}
	}
	k, hellos, err := meet(l, p, mine)
	if err != nil {
		return nil, err
	}
	s := &Segment{
		dev: dev, plan: p, links: k, heaps: make([]gpu.Address, len(p.PEs)),
		why: make([]error, len(p.PEs)), reach: make([]bool, len(p.PEs)),
	}
	if err := s.open(hellos); err != nil {
		return nil, errors.Join(err, s.links.close())
	}
	return s, nil
}

// vmmGranule is the unit of chunks, or why the GPU has none.
func vmmGranule(dev Device) (uint64, error) {
	switch f := dev.Facts(); {
	case !f.VMM:
		return 0, closed(dev, "it does not have memory and addresses apart")
	case !f.PosixFD:
		return 0, closed(dev, "its memory cannot be given to other processes as a descriptor")
	}
	return dev.Granularity()
}

func closed(dev Device, why string) error {
	return &shmerr.Error{Op: "share memory of", Object: dev.Name(), Cause: shmerr.Causef(shmerr.ErrUnsupported, "%s", why)}
}

// open takes the path that all PEs can use. They have the same notes, so that they decide alike,
// without another round.
func (s *Segment) open(hellos []hello) error {
	if err := s.compare(hellos); err != nil {
		return err
	}
	err := s.findPeers(hellos)
	var noVMM error
	for i, h := range hellos {
		s.granule = max(s.granule, h.Granule)
		if h.NoVMM != "" {
			noVMM = errors.Join(noVMM, &PeerError{PE: s.plan.PEs[i].PE, Text: h.NoVMM, Status: shmerr.Unsupported})
		}
	}
	why := slices.Clone(s.why)
	if s.plan.Share != IPC && noVMM == nil {
		noVMM = s.openChunks(err)
		if noVMM == nil {
			s.share = VMM
			return nil
		}
	}
	if s.plan.Share == VMM || s.links.broken != nil {
		return s.refuse(noVMM, "%s", shmerr.OneLine(noVMM))
	}
	s.why = why // the result of a trial counts for its path only
	noIPC := s.openBlock(err)
	switch {
	case noIPC == nil:
		s.share = IPC
		return nil
	case s.plan.Share == IPC:
		return s.refuse(noIPC, "%s", shmerr.OneLine(noIPC))
	}
	return s.refuse(errors.Join(noVMM, noIPC), "by VMM: %s; by IPC: %s", shmerr.OneLine(noVMM), shmerr.OneLine(noIPC))
}

// refuse is the error of Open.
func (s *Segment) refuse(kind error, format string, args ...any) error {
	remedy := "set SHMEM_HEAP to host or pinned"
	if errors.Is(kind, shmerr.ErrNoMemory) {
		remedy = "lower SHMEM_SYMMETRIC_SIZE or run fewer PEs on the GPU, or " + remedy
	}
	return s.plan.refuse(shmerr.Causef(kind, format, args...), remedy)
}

// compare refuses PEs that were set otherwise.
func (s *Segment) compare(hellos []hello) error {
	for i, h := range hellos {
		if h.Size != s.plan.Size || h.Align != s.plan.Align || h.Share != s.plan.Share {
			return s.plan.refuse(shmerr.Causef(shmerr.ErrSetting, "PE %d has %s, aligned to %s, way %s; this one %s, %s, %s",
				s.plan.PEs[i].PE, amount(h.Size), amount(h.Align), h.Share, amount(s.plan.Size), amount(s.plan.Align), s.plan.Share),
				"set SHMEM_SYMMETRIC_SIZE alike for all PEs")
		}
	}
	return nil
}

// findPeers asks the driver which PEs' memory this GPU's loads and stores reach.
func (s *Segment) findPeers(hellos []hello) error {
	for i, h := range hellos {
		yes, known, err := s.dev.Reaches(h.UUID)
		if err != nil {
			return err
		}
		s.reach[i] = yes && known
		if known && !yes {
			s.why[i] = &shmerr.Error{
				Op: "map", Object: fmt.Sprintf("the heap of PE %d", s.plan.PEs[i].PE),
				Cause: shmerr.Causef(shmerr.ErrUnsupported, "%s has no way to memory of %s", s.dev.Name(), h.UUID),
			}
		}
	}
	return nil
}

// Heap is the user heap of PEs[i] as the GPU of this PE, and a copy engine,
// addresses it; 0 where there is no way for loads and stores.
func (s *Segment) Heap(i int) gpu.Address { return s.heaps[i] }

// Why returns the reason why Heap(i) is 0.
func (s *Segment) Why(i int) error { return s.why[i] }

// Path returns the chosen path.
func (s *Segment) Path() Path { return s.share }

// Committed is the part of each heap that memory is behind.
func (s *Segment) Committed() uint64 { return s.committed }

// Extent is a part of the own heap that is one allocation.
type Extent struct{ Offset, Size uint64 }

// has reports whether x, which is wholly inside or outside, is inside.
func (e Extent) has(x Extent) bool {
	return x.Offset >= e.Offset && x.Offset-e.Offset < e.Size
}

// Extents are the parts in order: a NIC can be given each of them.
func (s *Segment) Extents() []Extent {
	if s.share == IPC {
		return []Extent{{0, s.plan.Size}}
	}
	return s.chunks.own.extents
}

// Close gives everything back. By IPC it first waits, up to the plan's timeout, until the other PEs
// have closed the mappings of this heap. Further calls do nothing.
func (s *Segment) Close() error {
	if s.links == nil {
		return nil
	}
	var err error
	if s.share == IPC {
		err = s.closeBlock()
	} else {
		err = s.chunks.close()
	}
	err = errors.Join(err, s.links.close())
	s.links = nil
	if err != nil {
		return &shmerr.Error{Op: "release", Object: "the symmetric heap in GPU memory", Cause: shmerr.Causef(err, "%s", shmerr.OneLine(err))}
	}
	return nil
}
