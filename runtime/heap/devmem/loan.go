package devmem

import (
	"errors"
	"fmt"
	"slices"

	"libshmem/runtime/gpu"
	"libshmem/runtime/heap/fdpass"
	"libshmem/runtime/shmerr"
)

// Loan is memory of this PE's GPU that the program lends to the symmetric heap: the
// whole chunks in which a buffer of the program lies. The program has them mapped at
// other addresses.
type Loan struct {
	Before uint64 // bytes of the first chunk in front of the buffer
	Size   uint64 // of the chunks
	pieces []piece
}

// piece is one chunk of a Loan.
type piece struct {
	chunk gpu.Chunk
	size  uint64
}

// FindChunks finds the chunks of GPU memory that the n bytes from `at` on lie in, and gets a handle
// of each. Return or Lend releases the handles. The error is only a cause: it does not name the
// memory, which the caller does.
func (s *Segment) FindChunks(at gpu.Address, n uint64) (*Loan, error) {
	l := &Loan{}
	err := s.findChunks(l, at, n)
	if err != nil {
		return nil, errors.Join(err, s.Return(l))
	}
	return l, nil
}

// findChunks adds to l the chunks of GPU memory in which the n bytes from `at` on lie. A chunk is
// lent as a whole, so l.Before is the distance from the first chunk's beginning to `at`.
func (s *Segment) findChunks(l *Loan, at gpu.Address, n uint64) error {
	if s.share != VMM {
		return shmerr.Causef(shmerr.ErrUnsupported, "the symmetric heap is one block, got by CUDA's IPC, into which nothing can be mapped (set SHMEM_GPU_SHARE=vmm)")
	}
	begin, end := at&^gpu.Address(s.granule-1), at+gpu.Address(n)
	for next := begin; next < end; {
		c, ok, err := s.dev.ChunkAt(next)
		switch {
		case err != nil:
			return err
		case !ok:
			return shmerr.Causef(shmerr.ErrUnsupported, "the memory at %#x was not mapped by cuMemMap, and the driver does not let other code map it "+
				"(allocate it by cuMemCreate; of torch's: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)", uint64(next))
		}
		l.pieces = append(l.pieces, piece{chunk: c})
		if err := s.allows(c); err != nil {
			return err
		}
		before := uint64(0)
		if next == begin {
			if before, err = s.run(c, next, false); err != nil {
				return err
			}
			l.Before = before + uint64(at-begin)
		}
		after, err := s.run(c, next, true)
		if err != nil {
			return err
		}
		size := before + after + s.granule
		l.pieces[len(l.pieces)-1].size = size
		l.Size += size
		next += gpu.Address(after + s.granule)
	}
	return nil
}

// allows returns nil if chunk c can be mapped into the symmetric heap, or why not: it is of another
// GPU, or it cannot be passed to other processes.
func (s *Segment) allows(c gpu.Chunk) error {
	switch l, err := s.dev.Lendable(c); {
	case err != nil:
		return err
	case l.Device != s.dev.Number():
		return shmerr.Causef(shmerr.ErrArgument, "it is not memory of %s, which the symmetric heap of this PE is in (copy it there)", s.dev.Name())
	case !l.Shared && len(s.plan.PEs) > 1:
		return shmerr.Causef(shmerr.ErrUnsupported, "it was made for its own process only "+
			"(create it with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR among its requestedHandleTypes)")
	}
	return nil
}

// run returns how many bytes of chunk c follow the granule of c at from, or precede that granule if
// up is false. The driver does not report the size of a chunk, but returns the same handle for each
// address in it. So run doubles its steps until it leaves the chunk, and then halves them.
func (s *Segment) run(c gpu.Chunk, from gpu.Address, up bool) (uint64, error) {
	// inChunk reports whether the address n bytes from `from` is in c.
	inChunk := func(n uint64) (bool, error) {
		at := from + gpu.Address(n)
		if !up {
			if at = from - gpu.Address(n); at > from { // below address 0
				return false, nil
			}
		}
		other, ok, err := s.dev.ChunkAt(at)
		if ok {
			err = errors.Join(err, s.dev.ReleaseChunk(other))
		}
		return ok && other == c, err
	}
	n, step := uint64(0), s.granule
	for growing := true; step >= s.granule; {
		inside, err := inChunk(n + step)
		if err != nil {
			return 0, err
		}
		if inside {
			n += step
		}
		if growing = growing && inside; growing {
			step *= 2
		} else {
			step /= 2
		}
	}
	return n, nil
}

// Granule returns the unit in which VMM maps memory into the heaps.
func (s *Segment) Granule() uint64 { return s.granule }

// Return releases the handles of a Loan's chunks. A second call does nothing.
func (s *Segment) Return(l *Loan) error {
	var errs []error
	for _, p := range l.pieces {
		errs = append(errs, s.dev.ReleaseChunk(p.chunk))
	}
	l.pieces = nil
	return errors.Join(errs...)
}

// lent describes memory that the sender's program lends to its heap: chunks whose descriptors are
// sent with the note.
type lent struct {
	Block Extent   // the part of the heaps to which all PEs lend
	At    uint64   // offset in the sender's heap of the first of these chunks
	Sizes []uint64 // bytes of each chunk
	Left  int      // how many chunks the sender sends in further rounds
}

// Lend maps the Loan of each PE into that PE's heap, on all PEs of the node. block is the part of
// the heaps for the loans, the same on all PEs and beyond what Commit has mapped; at is the offset
// in this PE's heap, within block, at which its Loan begins. All PEs call Lend together; a PE that
// has failed before passes its error as err. All return nil or all an error; if Lend fails, the
// heaps are as they were. Lend releases the handles of l in any case: a mapping does not need them.
func (s *Segment) Lend(l *Loan, block Extent, at uint64, err error) error {
	if s.links == nil || s.links.broken != nil {
		return errors.Join(err, s.lendError(block, shmerr.Causef(shmerr.ErrInternal, "the heap is closed, or an earlier call failed")), s.Return(l))
	}
	if err == nil && (block.Offset < s.committed || block.Offset%s.granule != 0 || at%s.granule != 0 ||
		at < block.Offset || at+l.Size > block.Offset+block.Size || block.Offset+block.Size > s.plan.Size) {
		err = shmerr.Causef(shmerr.ErrInternal, "it is committed, or not in granules, or too small")
	}
	if failed := s.lend(l, block, at, err); failed != nil {
		failed = errors.Join(s.lendError(block, failed), s.Return(l))
		if err == nil { // otherwise nothing was mapped, and block may overlap others
			failed = errors.Join(failed, s.TakeBack(block))
		}
		return failed
	}
	s.blocks = append(s.blocks, block)
	return s.Return(l)
}

// lendError returns the error of a block that cannot get the program's memory.
func (s *Segment) lendError(block Extent, err error) error {
	return &shmerr.Error{Op: "lend", Object: fmt.Sprintf("%s at offset %#x of the symmetric heap in GPU memory", amount(block.Size), block.Offset), Cause: shmerr.Causef(err, "%s", shmerr.OneLine(err))}
}

// lend maps the chunks of l into this PE's heap, sends them to the other PEs, and maps theirs. A
// message carries few descriptors, so it takes rounds until all PEs have sent all chunks, or one
// has failed.
func (s *Segment) lend(l *Loan, block Extent, at uint64, err error) error {
	e := Extent{Offset: at}
	for _, p := range l.pieces {
		if e.Size = p.size; err == nil {
			err = s.chunks.own.lend(p.chunk, e)
		}
		e.Offset += p.size
	}
	for rest := l.pieces; ; {
		sent := rest[:min(len(rest), fdpass.MaxFiles)] // in this round
		rest = rest[len(sent):]
		n := note{Lent: &lent{Block: block, At: at, Left: len(rest)}}
		files, shareErr := s.shareAll(sent, err)
		err = errors.Join(err, shareErr)
		for _, p := range sent {
			n.Lent.Sizes = append(n.Lent.Sizes, p.size)
			at += p.size
		}
		n.fail(err)
		replies, news := s.links.exchange(n, files)
		err = errors.Join(err, news, closeFiles(files))
		left := len(rest)
		for i := range replies {
			err = errors.Join(err, s.links.fault(i, replies[i].note))
			if o := replies[i].Lent; o != nil {
				left = max(left, o.Left)
			}
		}
		known := err != nil // the other PEs know of the error, by a note of this round
		for i := range replies {
			if i != s.plan.Me && err == nil {
				err = s.mapPeerLoan(i, block, &replies[i])
			}
			fdpass.CloseAll(replies[i].files)
		}
		switch { // agree gets the error, and the part of it that the other PEs do not know yet
		case known:
			return s.links.agree(err, nil)
		case left == 0:
			return s.links.agree(err, err)
		}
	}
}

// shareAll makes a file descriptor of each chunk for the other PEs. It makes none if err, an
// earlier error, is not nil, or if there are no other PEs.
func (s *Segment) shareAll(chunks []piece, err error) (files []int, _ error) {
	if err != nil || len(s.plan.PEs) == 1 {
		return nil, nil
	}
	for _, p := range chunks {
		fd, err := s.dev.ShareChunk(p.chunk)
		if err != nil {
			return files, err
		}
		files = append(files, fd)
	}
	return files, nil
}

// mapPeerLoan maps the chunks that PEs[i] lends to its heap and has sent in r, if this GPU has a
// path to that PE.
func (s *Segment) mapPeerLoan(i int, block Extent, r *reply) error {
	o := r.Lent
	if o == nil || o.Block != block || len(r.files) != len(o.Sizes) {
		return &shmerr.Error{
			Op: "lend", Object: "a block of the symmetric heap",
			Cause:  shmerr.Causef(shmerr.ErrArgument, "this PE %+v, PE %d %+v with %d descriptors", block, s.plan.PEs[i].PE, o, len(r.files)),
			Remedy: "register the same buffers on every PE",
		}
	}
	if s.why[i] != nil {
		return nil
	}
	e := Extent{Offset: o.At}
	for k, fd := range r.files {
		e.Size = o.Sizes[k]
		if e.Offset < block.Offset || e.Size > block.Size || e.Offset-block.Offset > block.Size-e.Size {
			return s.noPath(i, shmerr.Causef(shmerr.ErrArgument, "it lends %+v, which is not within %+v", e, block))
		}
		c, err := s.dev.ImportChunk(fd)
		if err == nil {
			err = errors.Join(s.chunks.peers[i].lend(c, e), s.dev.ReleaseChunk(c))
		}
		if err != nil {
			return s.noPath(i, err)
		}
		e.Offset += e.Size
	}
	return nil
}

// TakeBack unmaps, in this process, the memory that Lend has mapped into a block. No PE may use it
// any more.
func (s *Segment) TakeBack(block Extent) error {
	s.blocks = slices.DeleteFunc(s.blocks, func(b Extent) bool { return b == block })
	if s.chunks == nil {
		return nil
	}
	errs := []error{s.chunks.own.takeBack(block)}
	for i := range s.chunks.peers {
		errs = append(errs, s.chunks.peers[i].takeBack(block))
	}
	return errors.Join(errs...)
}

// Lent lists the chunks that Lend has mapped into a block of this PE's heap, in order.
func (s *Segment) Lent(block Extent) []Extent {
	var parts []Extent
	for _, e := range s.chunks.own.loans {
		if block.has(e) {
			parts = append(parts, e)
		}
	}
	return parts
}

// ceiling returns the offset up to which Commit may grow the heaps: where the first lent block
// begins.
func (s *Segment) ceiling() uint64 {
	end := roundUp(s.plan.Size, s.granule)
	for _, b := range s.blocks {
		end = min(end, b.Offset)
	}
	return end
}
