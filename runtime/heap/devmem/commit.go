package devmem

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"libshmem/runtime/gpu"
	"libshmem/runtime/heap/fdpass"
	"libshmem/runtime/shmerr"
)

// space is a heap's range of addresses and the chunks of GPU memory that are mapped there.
type space struct {
	dev     Device
	at      gpu.Address // of the range; 0: none is reserved
	size    uint64      // bytes of the range
	extents []Extent    // chunks that Commit has mapped
	loans   []Extent    // chunks of the program that Lend has mapped
}

// reserve reserves size bytes of addresses on the GPU, without memory, at a multiple of align
// unless that is 0.
func (p *space) reserve(dev Device, size, align uint64) error {
	at, err := dev.Reserve(size, align)
	if err != nil {
		return err
	}
	p.dev, p.at, p.size = dev, at, size
	if align != 0 && uint64(at)%align != 0 {
		return errors.Join(&shmerr.Error{
			Op: "reserve", Object: "addresses on " + dev.Name(), Cause: shmerr.Causef(shmerr.ErrSystem, "%#x is no multiple of %#x", uint64(at), align),
		}, p.close())
	}
	return nil
}

// grow maps a chunk of GPU memory after the others. It releases the chunk's handle in any case: the
// mapping does not need it.
func (p *space) grow(c gpu.Chunk, e Extent) error {
	err := p.dev.MapChunk(p.at+gpu.Address(e.Offset), e.Size, c)
	if err == nil {
		p.extents = append(p.extents, e)
	}
	return errors.Join(err, p.dev.ReleaseChunk(c))
}

// shrink unmaps the chunks that Commit has mapped at the offset `from` or beyond.
func (p *space) shrink(from uint64) error {
	var errs []error
	for n := len(p.extents); n > 0 && p.extents[n-1].Offset >= from; n-- {
		e := p.extents[n-1]
		errs = append(errs, p.dev.UnmapChunk(p.at+gpu.Address(e.Offset), e.Size))
		p.extents = p.extents[:n-1]
	}
	return errors.Join(errs...)
}

// lend maps a chunk that the program owns, at the extent e. It does not release the chunk's handle,
// which the Loan has.
func (p *space) lend(c gpu.Chunk, e Extent) error {
	err := p.dev.MapChunk(p.at+gpu.Address(e.Offset), e.Size, c)
	if err == nil {
		p.loans = append(p.loans, e)
	}
	return err
}

// takeBack unmaps the chunks of the program that lie within a block of the heap.
func (p *space) takeBack(block Extent) error {
	var errs []error
	p.loans = slices.DeleteFunc(p.loans, func(e Extent) bool {
		inside := block.has(e)
		if inside {
			errs = append(errs, p.dev.UnmapChunk(p.at+gpu.Address(e.Offset), e.Size))
		}
		return inside
	})
	return errors.Join(errs...)
}

// close unmaps all memory, and releases the range of addresses.
func (p *space) close() error {
	if p.at == 0 {
		return nil
	}
	err := errors.Join(p.shrink(0), p.takeBack(Extent{0, p.size}))
	err = errors.Join(err, p.dev.Unreserve(p.at, p.size))
	p.at = 0
	return err
}

// chunks has the heaps of a node, if they are shared by VMM.
type chunks struct {
	own   space
	peers []space // by index; this PE's entry stays empty
}

// close unmaps the chunks of the other PEs, and then this PE's own.
func (c *chunks) close() error {
	var errs []error
	for i := range c.peers {
		errs = append(errs, c.peers[i].close())
	}
	return errors.Join(append(errs, c.own.close())...)
}

// openChunks reserves the heaps and maps a first chunk of each, which shows whether sharing by VMM
// works: a driver may have all the functions, and a container still refuse to pass a descriptor.
// err is an error that this PE already has: it then reserves nothing, and sends the error.
func (s *Segment) openChunks(err error) error {
	s.chunks = &chunks{peers: make([]space, len(s.plan.PEs))}
	size := roundUp(s.plan.Size, s.granule)
	if err == nil {
		err = s.chunks.own.reserve(s.dev, size, max(s.plan.Align, s.granule))
	}
	for i := range s.plan.PEs {
		if err == nil && i != s.plan.Me && s.why[i] == nil {
			err = s.chunks.peers[i].reserve(s.dev, size, 0)
		}
	}
	if err = s.grow(s.granule, err); err != nil {
		err = errors.Join(err, s.chunks.close())
		s.chunks = nil
		return err
	}
	s.heaps[s.plan.Me] = s.chunks.own.at
	for i := range s.chunks.peers {
		if i != s.plan.Me {
			s.heaps[i] = s.chunks.peers[i].at
		}
	}
	return nil
}

// Commit makes sure that the first end bytes of each heap of the node have memory. All PEs call it
// with the same end, and all return nil or all an error; if it fails, the heaps are as they were.
// If a PE ends, or does not call it within the plan's timeout, this call and every later one fail:
// the PEs synchronize first. Committed memory stays so.
func (s *Segment) Commit(end uint64) error {
	if end <= s.committed {
		return nil
	}
	if s.links == nil || end > s.plan.Size {
		return s.commitError(end, shmerr.Causef(shmerr.ErrInternal, "the heap has %d bytes, or is closed", s.plan.Size))
	}
	if s.links.broken != nil {
		return s.commitError(end, shmerr.Causef(s.links.broken, "an earlier call failed: %s", shmerr.OneLine(s.links.broken)))
	}
	least := roundUp(end, s.granule)
	most := min(max(least, roundUp(s.committed+Step, s.granule)), s.ceiling())
	err := s.grow(most, nil)
	// If grow fails, it fails on all PEs, so all of them try again with less.
	if err != nil && most > least && s.links.broken == nil {
		err = s.grow(least, nil)
	}
	if err != nil {
		return s.commitError(end, shmerr.Causef(err, "%s", shmerr.OneLine(err)))
	}
	return nil
}

// commitError returns the error of a commit of memory up to `end` in each heap.
func (s *Segment) commitError(end uint64, cause error) error {
	return &shmerr.Error{
		Op: "commit", Object: fmt.Sprintf("%s of the symmetric heap of each of %d PEs in GPU memory", amount(end), len(s.plan.PEs)),
		Cause: cause, Remedy: "allocate less, run fewer PEs on the GPU or free its memory",
	}
}

// grow adds a chunk to each heap, from s.committed up to the offset `to`. err is an error that this
// PE already has: it then adds nothing, and sends the error to the other PEs. news is the part of
// the errors that the other PEs do not know yet (agree).
func (s *Segment) grow(to uint64, err error) error {
	e := Extent{s.committed, to - s.committed}
	var files []int
	if err == nil {
		var fd int
		if fd, err = s.makeChunk(e); err == nil {
			files = []int{fd}
		}
	}
	n := note{Growth: &growth{From: s.committed, To: to}}
	n.fail(err)
	replies, news := s.links.exchange(n, files)
	news = errors.Join(news, closeFiles(files))
	for i := range replies {
		err = errors.Join(err, s.links.fault(i, replies[i].note))
	}
	for i := range replies {
		if i != s.plan.Me && err == nil && news == nil {
			news = s.mapPeerChunk(i, e, &replies[i])
		}
		fdpass.CloseAll(replies[i].files)
	}
	if err = s.links.agree(errors.Join(err, news), news); err != nil {
		return errors.Join(err, s.undo())
	}
	s.committed = to
	return nil
}

// undo unmaps, from all heaps in this process, the chunks after the committed part: those of a
// growth that failed.
func (s *Segment) undo() error {
	errs := []error{s.chunks.own.shrink(s.committed)}
	for i := range s.chunks.peers {
		errs = append(errs, s.chunks.peers[i].shrink(s.committed))
	}
	return errors.Join(errs...)
}

// makeChunk creates a chunk of GPU memory for the extent e, maps it into this PE's heap, and
// returns a file descriptor by which the other PEs import it.
func (s *Segment) makeChunk(e Extent) (int, error) {
	c, err := s.dev.CreateChunk(e.Size)
	if err != nil {
		return -1, err
	}
	fd, err := s.dev.ShareChunk(c)
	if err != nil {
		return -1, errors.Join(err, s.dev.ReleaseChunk(c))
	}
	if err := s.chunks.own.grow(c, e); err != nil {
		return -1, errors.Join(err, closeFile(fd))
	}
	return fd, nil
}

// mapPeerChunk maps the chunk that PEs[i] has added to its heap, and whose descriptor it has sent
// in r, if this GPU has a path to that PE.
func (s *Segment) mapPeerChunk(i int, e Extent, r *reply) error {
	if g := r.Growth; g == nil || *g != (growth{e.Offset, e.Offset + e.Size}) || len(r.files) != 1 {
		return &shmerr.Error{
			Op: "grow", Object: "the symmetric heap",
			Cause:  shmerr.Causef(shmerr.ErrArgument, "this PE from %d to %d, PE %d %+v with %d descriptors", e.Offset, e.Offset+e.Size, s.plan.PEs[i].PE, g, len(r.files)),
			Remedy: "make the same allocations on every PE",
		}
	}
	if s.why[i] != nil {
		return nil
	}
	c, err := s.dev.ImportChunk(r.files[0])
	if err == nil {
		err = s.chunks.peers[i].grow(c, e)
	}
	// If only a trial shows whether there is a path, or the user wants VMM alone, a failure of the
	// first chunk means that this GPU cannot reach the peer.
	if err != nil && e.Offset == 0 && (!s.reach[i] || s.plan.Share == VMM) {
		s.why[i] = s.noPath(i, err)
		err = s.chunks.peers[i].close()
	}
	return err
}

// noPath returns the error that says why this GPU cannot map the heap of PEs[i].
func (s *Segment) noPath(i int, err error) error {
	return &shmerr.Error{Op: "map", Object: fmt.Sprintf("the heap of PE %d", s.plan.PEs[i].PE), Cause: err}
}

// closeFiles closes the descriptors of chunks.
func closeFiles(files []int) error {
	var errs []error
	for _, fd := range files {
		errs = append(errs, closeFile(fd))
	}
	return errors.Join(errs...)
}

// closeFile closes the descriptor of a chunk.
func closeFile(fd int) error {
	if err := unix.Close(fd); err != nil {
		return &shmerr.Error{Op: "close", Object: "a descriptor of GPU memory", Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err)}
	}
	return nil
}
