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

// Listen opens the socket, before the PEs exchange the names of their sockets.
func Listen(peers int) (*Listener, error) { return fdpass.Listen(fdpass.User(), peers) }

// Segment is this PE's heap in GPU memory and its paths to those of the others.
type Segment struct {
	dev       Device
	plan      Plan
	share     Path
	links     *links
	heaps     []gpu.Address // by index in plan.PEs; 0 where this GPU has no path to the heap
	why       []error       // why there is no path
	reach     []bool        // whether the driver says that there is a path; false if it does not know
	committed uint64        // bytes of each heap that have memory

	chunks  *chunks  // for VMM
	granule uint64   // unit of VMM: the largest of all PEs
	blocks  []Extent // the parts of the heaps into which Lend has mapped memory of the program
	block   block    // for IPC
}

// Open connects to the other PEs and reserves the heap. With VMM it commits one granule, with IPC
// the whole heap. If it fails, it fails on each PE, and nothing stays allocated.
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
	k, hellos, err := connectAll(l, p, mine)
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

// vmmGranule returns the granularity of the GPU's memory in CUDA's virtual memory management (VMM),
// or an error that says why the GPU cannot share memory by VMM.
func vmmGranule(dev Device) (uint64, error) {
	switch f := dev.Facts(); {
	case !f.VMM:
		return 0, cannotShare(dev, "it lacks CUDA's virtual memory management")
	case !f.PosixFD:
		return 0, cannotShare(dev, "its memory cannot be exported as a file descriptor")
	}
	return dev.Granularity()
}

// cannotShare returns the error of a GPU whose memory cannot be shared by VMM.
func cannotShare(dev Device, why string) error {
	return &shmerr.Error{Op: "share memory of", Object: dev.Name(), Cause: shmerr.Causef(shmerr.ErrUnsupported, "%s", why)}
}

// open chooses VMM or IPC, whichever all PEs can use, and opens the heaps. All PEs have the same
// hellos, so they choose alike without another message.
func (s *Segment) open(hellos []hello) error {
	if err := s.compare(hellos); err != nil {
		return err
	}
	err := s.findPeers(hellos) // openChunks and openBlock send it to the other PEs
	var noVMM error
	for i, h := range hellos {
		s.granule = max(s.granule, h.Granule)
		if h.NoVMM != "" {
			noVMM = errors.Join(noVMM, &PeerError{PE: s.plan.PEs[i].PE, Text: h.NoVMM, Status: shmerr.Unsupported})
		}
	}
	why := slices.Clone(s.why) // before VMM adds its own reasons
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
	s.why = why // IPC may reach heaps that VMM could not
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

// refuse returns the error of Open with the text of format, which is of the kinds of the error
// kind. The remedy depends on kind.
func (s *Segment) refuse(kind error, format string, args ...any) error {
	remedy := "set SHMEM_HEAP to host or pinned"
	if errors.Is(kind, shmerr.ErrNoMemory) {
		remedy = "lower SHMEM_SYMMETRIC_SIZE or run fewer PEs on the GPU, or " + remedy
	}
	return s.plan.refuse(shmerr.Causef(kind, format, args...), remedy)
}

// compare returns an error if another PE's heap has another size, alignment or method to share it.
func (s *Segment) compare(hellos []hello) error {
	for i, h := range hellos {
		if h.Size != s.plan.Size || h.Align != s.plan.Align || h.Share != s.plan.Share {
			return s.plan.refuse(shmerr.Causef(shmerr.ErrSetting, "PE %d has %s, aligned to %s, way %s; this one %s, %s, %s",
				s.plan.PEs[i].PE, amount(h.Size), amount(h.Align), h.Share, amount(s.plan.Size), amount(s.plan.Align), s.plan.Share),
				"set SHMEM_SYMMETRIC_SIZE to the same value on all PEs")
		}
	}
	return nil
}

// findPeers asks the driver which PEs' GPUs the loads and stores of this GPU reach. Where they do
// not, it records why in s.why. Of a GPU that is hidden from this process the driver knows nothing:
// then s.why stays nil, and an attempt to map the heap shows whether there is a path.
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
				Cause: shmerr.Causef(shmerr.ErrUnsupported, "%s cannot reach memory of %s", s.dev.Name(), h.UUID),
			}
		}
	}
	return nil
}

// Heap returns the address of the user heap of PEs[i] for kernels and copy engines of
// this PE's GPU; 0 where the GPU has no path to it for loads and stores.
func (s *Segment) Heap(i int) gpu.Address { return s.heaps[i] }

// Why returns the reason why Heap(i) is 0.
func (s *Segment) Why(i int) error { return s.why[i] }

// Path returns the method by which the heaps are shared.
func (s *Segment) Path() Path { return s.share }

// Committed returns how many bytes of each heap have memory.
func (s *Segment) Committed() uint64 { return s.committed }

// Extent is a part of a heap, in bytes: one allocation, or a block of several.
type Extent struct{ Offset, Size uint64 }

// has reports whether the extent x lies in e. x must not lie partly outside of e.
func (e Extent) has(x Extent) bool {
	return x.Offset >= e.Offset && x.Offset-e.Offset < e.Size
}

// Extents returns the allocations that make up this PE's heap, in order. Each can be registered
// with a NIC.
func (s *Segment) Extents() []Extent {
	if s.share == IPC {
		return []Extent{{0, s.plan.Size}}
	}
	return s.chunks.own.extents
}

// Close frees the memory and the mappings. With IPC it first waits, up to the plan's timeout, until
// the other PEs have closed their mappings of this heap. Further calls do nothing.
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
