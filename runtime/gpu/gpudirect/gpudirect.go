// Package gpudirect gives NICs access to memory of a GPU (GPUDirect RDMA): it knows by which paths
// a NIC may reach the memory, what the GPU and the provider say about each path, and which flush
// has to precede the use of bytes that a NIC has written. It owns no memory and no registration:
// the caller registers what Register hands it.
package gpudirect

import (
	"errors"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// Path is how a NIC reaches memory of a GPU; 0 if it does not.
type Path int

// Values of Path, best first: a dma-buf needs no kernel module but the driver's own.
const (
	DMABuf Path = iota + 1
	PeerMemory
)

// String returns the name of the path for messages.
func (p Path) String() string { return [...]string{"none", "dma-buf", "peer memory"}[p] }

// Paths returns the paths that a value of SHMEM_GPU_NET allows, in the order in which to try them.
func Paths(setting config.GPUNet) []Path {
	switch setting {
	case config.GPUNetAuto:
		return []Path{DMABuf, PeerMemory}
	case config.GPUNetDMABuf:
		return []Path{DMABuf}
	case config.GPUNetPeerMem:
		return []Path{PeerMemory}
	}
	return nil
}

// Exporter is a GPU, as this package needs it. *cuda.Device implements it.
type Exporter interface {
	Name() string
	Number() int
	Facts() gpu.Facts
	ExportDMABuf(a gpu.Address, n uint64) (fd int, err error)
	SyncMemops(a gpu.Address) error
	// FlushWrites makes bytes that NICs have written visible, to the GPU alone or to all readers.
	FlushWrites(all bool) error
}

// Access is the access of NICs to memory of one GPU. Calls of Register must not overlap.
type Access struct {
	GPU  Exporter
	VMM  bool              // the memory is mapped chunk by chunk (cuMemMap)
	All  bool              // other GPUs load from the memory, too
	Only []Path            // the paths that Attempt tries; nil: all
	Log  func(text string) // logs problems that are not errors of a call

	// unsynced: the driver has refused to make the program's copies synchronous, so a NIC may read
	// memory before a copy of the program has arrived there.
	unsynced bool
}

// Values of gpu.Facts.WritesOrdering: the readers for which a NIC's writes are in order.
const (
	orderedForOwner = 100
	orderedForAll   = 200
)

// flushByCall is the bit of gpu.Facts.FlushWrites that says that the driver can flush by a call.
const flushByCall = 1

// Flush returns the function to call before anything uses bytes that a NIC has written, or nil if
// the GPU makes a NIC's writes visible in order to all readers of the memory (All).
func (a *Access) Flush() func() error {
	order := a.GPU.Facts().WritesOrdering
	if order >= orderedForAll || order >= orderedForOwner && !a.All {
		return nil
	}
	return func() error { return a.GPU.FlushWrites(a.All) }
}

// firstInOrder is the first major compute capability whose memory shows what a NIC writes in order
// to a kernel that runs.
const firstInOrder = 9

// InOrder reports whether running kernels of this GPU see bytes that a NIC writes in the order in
// which they arrive, without a flush.
func (a *Access) InOrder() bool {
	f := a.GPU.Facts()
	return !a.unsynced && f.Major >= firstInOrder && f.WritesOrdering >= orderedForOwner
}

// Allows returns why a path cannot be used with an endpoint, or nil if only an attempt will show.
func (a *Access) Allows(path Path, c fabric.Caps) error {
	f := a.GPU.Facts()
	no := func(format string, args ...any) error {
		return &shmerr.Error{Op: "register", Object: "memory of " + a.GPU.Name(), Cause: shmerr.Causef(shmerr.ErrUnsupported, format, args...)}
	}
	switch {
	case a.Flush() != nil && f.FlushWrites&flushByCall == 0:
		return no("a NIC's writes there are not in order, and the driver, of CUDA %s, has no call to flush it", f.Driver)
	case path == DMABuf && !f.DMABuf:
		return no("the driver, of CUDA %s, exports no dma-buf of it", f.Driver)
	case path == DMABuf && c.GPU && !c.DMABuf:
		return no("the provider takes no dma-bufs (efa and verbs do, of libfabric 1.20 and later)")
	case path == PeerMemory && (!f.RDMA || a.VMM && !f.RDMAVMM):
		return no("the driver does not give NICs access to it")
	}
	return nil // only the provider knows whether it accepts the memory
}

// page is the unit of a dma-buf: the driver exports whole pages, and efa wants them to begin at
// one.
const page = 4096

// Register calls register with n bytes at an address of the GPU, described for one path. A dma-buf
// has whole pages, so that the memory has an offset in it; the rest of its first and last page is
// not registered, and no peer reaches it. live says that the program uses the memory already, so
// that a provider must not write to it to try it out. The caller's registration keeps the dma-buf,
// so Register closes its descriptor afterwards. If register succeeds, Register also makes the
// program's synchronous copies to the memory wait until the bytes are there (SyncMemops), and logs
// the first failure.
func (a *Access) Register(path Path, at gpu.Address, n uint64, live bool, register func(fabric.GPUMemory) error) (err error) {
	m := a.describe(at, n, live)
	if path == DMABuf {
		begin, end := at&^(page-1), (at+gpu.Address(n)+page-1)&^(page-1)
		fd, err := a.GPU.ExportDMABuf(begin, uint64(end-begin))
		if err != nil {
			return err
		}
		defer func() {
			if e := unix.Close(fd); e != nil {
				a.Log("close a dma-buf: " + e.Error())
			}
		}()
		m.File, m.Offset = fd, uint64(at-begin)
	}
	if err := register(m); err != nil {
		return err
	}
	if e := a.GPU.SyncMemops(at); e != nil && !a.unsynced {
		a.unsynced = true
		a.Log("a NIC may read before a synchronous copy by the program has arrived: " + e.Error())
	}
	return nil
}

// describe returns the description of memory that a provider registers by its address (File is -1).
func (a *Access) describe(at gpu.Address, n uint64, live bool) fabric.GPUMemory {
	return fabric.GPUMemory{Base: at.Pointer(), Len: n, Device: a.GPU.Number(), File: -1, Live: live}
}

// Attempt calls register by each path that the GPU and an endpoint allow, until one succeeds, and
// returns that path. The error says of each path why it does not work.
func (a *Access) Attempt(c fabric.Caps, at gpu.Address, n uint64, live bool, register func(fabric.GPUMemory) error) (Path, error) {
	if !c.GPU {
		return 0, register(a.describe(at, n, live)) // fails with the reason why there is no GPU support
	}
	paths, causes := a.Only, []error(nil)
	if paths == nil {
		paths = Paths(config.GPUNetAuto)
	}
	for _, path := range paths {
		err := a.Allows(path, c)
		if err == nil {
			err = a.Register(path, at, n, live, register)
		}
		if err == nil {
			return path, nil
		}
		causes = append(causes, err)
	}
	return 0, errors.Join(causes...)
}
