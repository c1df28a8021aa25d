package hostmem

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/shmerr"
)

// Segment is the memory file of a node and this process's mapping of it.
type Segment struct {
	plan      Plan
	fd        int
	base      unsafe.Pointer
	machine   machine
	committed uint64 // bytes of each user heap that Commit has promised
}

// mfdNoExecSeal is MFD_NOEXEC_SEAL, of Linux 6.3: without it such a kernel
// logs a complaint about every memory file.
const mfdNoExecSeal = 0x8

// Create makes the memory file of the node at its full size. The file takes no memory yet.
func Create(p Plan) (*Segment, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	// A file that would exceed this limit raises SIGXFSZ, which ends the process.
	if limit, ok := softLimit(unix.RLIMIT_FSIZE); ok && p.Total() > limit {
		return nil, p.refuse(shmerr.Causef(shmerr.ErrNoMemory, "they need a memory file of %s and RLIMIT_FSIZE is %s", amount(p.Total()), amount(limit)),
			"raise the limit with ulimit -f, or "+lowerSize)
	}
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("shmem", flags|mfdNoExecSeal)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("shmem", flags)
	}
	if err != nil {
		return nil, p.refuse(shmerr.Causef(shmerr.ErrSystem, "memfd_create: %w", err),
			shmerr.FileRemedy(err, "let the container or its seccomp profile allow memfd_create"))
	}
	s := &Segment{plan: p, fd: fd, machine: machine{}}
	if err := unix.Ftruncate(fd, int64(p.Total())); err != nil {
		_ = s.Close()
		return nil, p.refuse(shmerr.Causef(shmerr.ErrSystem, "ftruncate to %s: %w", amount(p.Total()), err), lowerSize)
	}
	// Seal the size: otherwise a PE that shrinks the file makes the accesses of
	// the others raise SIGBUS.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sizeSeals|unix.F_SEAL_SEAL); err != nil {
		_ = s.Close()
		return nil, p.refuse(shmerr.Causef(shmerr.ErrSystem, "seal the memory file: %w", err), "")
	}
	return s, nil
}

// sizeSeals are the seals by which the size of the memory file stays as it is.
const sizeSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// Map maps the whole file at an address that is a multiple of Plan.Align.
func (s *Segment) Map() error {
	p := s.plan
	// Reserve more than is needed, map at an aligned address within that, and release the rest.
	space := p.Total() + p.Align
	reserved, err := unix.MmapPtr(-1, 0, nil, uintptr(space), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return s.mapError(err)
	}
	before := -uint64(uintptr(reserved)) & (p.Align - 1) // bytes up to the next multiple of Align
	base := unsafe.Add(reserved, before)
	if _, err := unix.MmapPtr(s.fd, 0, base, uintptr(p.Total()), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_NORESERVE|unix.MAP_FIXED); err != nil {
		return errors.Join(s.mapError(err), unmap(reserved, space))
	}
	s.base = base
	s.adviseHugePages()
	return errors.Join(unmap(reserved, before), unmap(unsafe.Add(base, p.Total()), p.Align-before))
}

// adviseHugePages lets the kernel back user heaps with huge pages, where its setting shmem_enabled
// is advise or more. The internal areas, of which most is never touched, keep small pages: a huge
// page takes 2 MiB of memory with the first byte that is touched. Without that setting the kernel
// ignores the advice, and without huge pages it refuses the advice; in both cases the pages stay
// small.
func (s *Segment) adviseHugePages() {
	n := s.plan.Heap / HugePage * HugePage // whole huge pages
	for rank := 0; rank < s.plan.PEs && n > 0; rank++ {
		_ = unix.Madvise(unsafe.Slice((*byte)(s.Heap(rank)), n), unix.MADV_HUGEPAGE)
	}
}

// mapError returns the error of a segment that cannot be mapped, with the limit that it exceeds.
func (s *Segment) mapError(err error) error {
	p := s.plan
	cause := shmerr.Causef(shmerr.ErrSystem, "mmap of %s: %w", amount(p.Total()), err)
	if errors.Is(err, unix.ENOMEM) {
		cause = shmerr.Causef(shmerr.ErrNoMemory, "they need %s of address space and the kernel has no such range: %w", amount(p.Total()), err)
		if limit, ok := softLimit(unix.RLIMIT_AS); ok {
			return p.refuse(shmerr.Causef(shmerr.ErrNoMemory, "they need %s of address space and RLIMIT_AS is %s", amount(p.Total()), amount(limit)),
				"raise the limit with ulimit -v, or "+lowerSize)
		}
	}
	return p.refuse(cause, lowerSize)
}

// unmap unmaps n bytes at p. With n = 0 it does nothing.
func unmap(p unsafe.Pointer, n uint64) error {
	if n == 0 {
		return nil
	}
	return unix.MunmapPtr(p, uintptr(n))
}

// softLimit returns the soft limit of a resource, or false if there is none.
func softLimit(resource int) (uint64, bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return l.Cur, true
}

// Plan returns how the file is divided among the PEs.
func (s *Segment) Plan() Plan { return s.plan }

// Heap returns the start of the user heap (Plan.Heap bytes) of the PE with this rank on the node.
// The internal area of the PE (Plan.Internal bytes) is directly before it. The address is valid
// only after Map.
func (s *Segment) Heap(rank int) unsafe.Pointer {
	return unsafe.Add(s.base, uint64(rank)*s.plan.PartSize()+s.plan.HeapOffset())
}

// Base returns the start of the mapping of the whole file, Plan.Total bytes. The address is valid
// only after Map.
func (s *Segment) Base() unsafe.Pointer { return s.base }

// Place returns the file's descriptor, and the offset in it at which the user heap of
// the PE with this rank on the node begins.
func (s *Segment) Place(rank int) (fd int, at uint64) {
	return s.fd, uint64(rank)*s.plan.PartSize() + s.plan.HeapOffset()
}

// Empty returns the memory of a PE's user heap to the kernel; no PE may use that heap any more.
// Without Empty the memory would stay allocated as long as the file, which outlives Close where the
// program's statics stay mapped in the sparse parts.
func (s *Segment) Empty(rank int) error {
	_, at := s.Place(rank)
	err := unix.Fallocate(s.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(at), int64(s.plan.Heap))
	if err != nil {
		return &shmerr.Error{Op: "empty", Object: "the symmetric heap", Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err)}
	}
	return nil
}

// Close unmaps the file and closes it. The memory is freed when every PE has
// done so.
func (s *Segment) Close() error {
	var errs []error
	if s.base != nil {
		errs = append(errs, unmap(s.base, s.plan.Total()))
		s.base = nil
	}
	if s.fd >= 0 {
		errs = append(errs, unix.Close(s.fd))
		s.fd = -1
	}
	if err := errors.Join(errs...); err != nil {
		return &shmerr.Error{Op: "release", Object: "the symmetric heap", Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err)}
	}
	return nil
}
