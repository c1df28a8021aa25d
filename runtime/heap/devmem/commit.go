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

// space is a heap's range of addresses and the chunks in it.
type space struct {
	dev     Device
	at      gpu.Address
	size    uint64 // reserved
	extents []Extent
	loans   []Extent // chunks of the program's
}

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

// grow maps a chunk behind the others. It then releases the chunk's handle, which the mapping does
// not need.
func (p *space) grow(c gpu.Chunk, e Extent) error {
	err := p.dev.MapChunk(p.at+gpu.Address(e.Offset), e.Size, c)
	if err == nil {
		p.extents = append(p.extents, e)
	}
	return errors.Join(err, p.dev.ReleaseChunk(c))
}

// shrink unmaps the chunks from an offset on.
func (p *space) shrink(from uint64) error {
	var errs []error
	for n := len(p.extents); n > 0 && p.extents[n-1].Offset >= from; n-- {
		e := p.extents[n-1]
		errs = append(errs, p.dev.UnmapChunk(p.at+gpu.Address(e.Offset), e.Size))
		p.extents = p.extents[:n-1]
	}
	return errors.Join(errs...)
}

// lend maps a chunk that another owner has named.
func (p *space) lend(c gpu.Chunk, e Extent) error {
	err := p.dev.MapChunk(p.at+gpu.Address(e.Offset), e.Size, c)
	if err == nil {
		p.loans = append(p.loans, e)
	}
	return err
}

// takeBack unmaps lent memory within a block.
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

func (p *space) close() error {
	if p.at == 0 {
		return nil
	}
	err := errors.Join(p.shrink(0), p.takeBack(Extent{0, p.size}))
	err = errors.Join(err, p.dev.Unreserve(p.at, p.size))
	p.at = 0
	return err
}

// chunks are heaps that are shared by VMM.
type chunks struct {
	own   space
	peers []space // by index; of this PE it stays empty
}

func (c *chunks) close() error {
	var errs []error
	for i := range c.peers {
		errs = append(errs, c.peers[i].close())
	}
	return errors.Join(append(errs, c.own.close())...)
}

// openChunks reserves the heaps and maps a first chunk of each, which shows whether sharing by VMM
// works: a driver may have all the functions, and a container still refuse to pass a descriptor.
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

// Commit makes sure that memory is behind the first end bytes of each heap of the node. All PEs
// call it with the same end, and all return nil or all an error; where it fails, the heaps are as
// they were. A PE that does not come within the plan's timeout, or ends, fails this call and every
// later one: callers come together first. Committed memory stays so.
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
	// All PEs know that it failed, so all try again.
	if err != nil && most > least && s.links.broken == nil {
		err = s.grow(least, nil)
	}
	if err != nil {
		return s.commitError(end, shmerr.Causef(err, "%s", shmerr.OneLine(err)))
	}
	return nil
}

func (s *Segment) commitError(end uint64, cause error) error {
	return &shmerr.Error{
		Op: "commit", Object: fmt.Sprintf("%s of the symmetric heap of each of %d PEs in GPU memory", amount(end), len(s.plan.PEs)),
		Cause: cause, Remedy: "allocate less, run fewer PEs on the GPU or free its memory",
	}
}

// grow adds a chunk to each heap, from the committed end up to an offset. The other PEs learn of an
// error that the caller already has.
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
			news = s.takeChunk(i, e, &replies[i])
		}
		fdpass.CloseAll(replies[i].files)
	}
	if err = s.links.agree(errors.Join(err, news), news); err != nil {
		return errors.Join(err, s.undo())
	}
	s.committed = to
	return nil
}

// undo takes back memory that is not committed.
func (s *Segment) undo() error {
	errs := []error{s.chunks.own.shrink(s.committed)}
	for i := range s.chunks.peers {
		errs = append(errs, s.chunks.peers[i].shrink(s.committed))
	}
	return errors.Join(errs...)
}

// makeChunk adds memory to the own heap and gives a descriptor of it.
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

// takeChunk maps the chunk that PEs[i] offers, if there is a path to it.
func (s *Segment) takeChunk(i int, e Extent, r *reply) error {
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
	c, err := s.dev.TakeChunk(r.files[0])
	if err == nil {
		err = s.chunks.peers[i].grow(c, e)
	}
	// Where only a trial shows whether there is a path, or no other is wanted, the first chunk may
	// show that the peer cannot be reached.
	if err != nil && e.Offset == 0 && (!s.reach[i] || s.plan.Share == VMM) {
		s.why[i] = s.noPath(i, err)
		err = s.chunks.peers[i].close()
	}
	return err
}

func (s *Segment) noPath(i int, err error) error {
	return &shmerr.Error{Op: "map", Object: fmt.Sprintf("the heap of PE %d", s.plan.PEs[i].PE), Cause: err}
}

func closeFiles(files []int) error {
	var errs []error
	for _, fd := range files {
		errs = append(errs, closeFile(fd))
	}
	return errors.Join(errs...)
}

func closeFile(fd int) error {
	if err := unix.Close(fd); err != nil {
		return &shmerr.Error{Op: "close", Object: "a descriptor of GPU memory", Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err)}
	}
	return nil
}
