package job

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/shmerr"
)

// exporter is the GPU that the heap is on: a *cuda.Device.
type exporter interface {
	Name() string
	Number() int
	Facts() gpu.Facts
	ExportDMABuf(a gpu.Address, n uint64) (fd int, err error)
	SyncMemops(a gpu.Address) error
	FlushWrites(all bool) error
}

// flusher names the proxy in reports about flushes of what NICs have written.
const flusher = "a proxy that acts on what a NIC wrote"

// nicGPU is a GPU whose flushes are reported as those of the flusher.
type nicGPU struct {
	*cuda.Device
	flushes *cuda.Device
}

func (g nicGPU) FlushWrites(all bool) error { return g.flushes.FlushWrites(all) }

// registrant is the endpoint that a heap is registered with: a nicEnd.
type registrant interface {
	Caps() fabric.Caps
	FlushBy(f func() error)
	RegisterHeap(offset uint64, loan gpustage.Loan, m fabric.GPUMemory) error
	UnregisterHeap() error
	Locked(f func())
}

// registry lets NICs reach the user heap of this PE in GPU memory.
type registry struct {
	dev  exporter
	heap gpu.Address
	want config.GPUNet // auto, or one path
	vmm  bool          // the heap grows
	all  bool          // other GPUs load from it, too
	log  func(level config.LogLevel, format string, args ...any)

	ends     []registration
	unsynced bool // the log says that copies are not made synchronous
}

// registration is the registration with one endpoint.
type registration struct {
	with registrant
	way  config.GPUNet // stage: none
	done int           // parts of the heap that are registered, or will not be
}

// nicPaths are the paths by which a NIC may reach GPU memory, the best first: a dma-buf needs no
// kernel module besides the driver's own.
var nicPaths = []config.GPUNet{config.GPUNetDMABuf, config.GPUNetPeerMem}

// nicPathNames has their names for messages.
var nicPathNames = map[config.GPUNet]string{config.GPUNetDMABuf: "dma-buf", config.GPUNetPeerMem: "peer memory"}

// open registers all of the heap so far with an endpoint before it is connected, by the first path
// that works.
func (r *registry) open(with registrant, parts []devmem.Extent) error {
	way := config.GPUNetStage
	for _, w := range nicPaths {
		if r.want != config.GPUNetAuto && r.want != w {
			continue
		}
		err := r.try(with, w, parts)
		if err == nil {
			r.log(config.LogInfo, "the NIC reaches the heap by %s, flushes: %v", nicPathNames[w], r.flush() != nil)
			way = w
			break
		}
		if r.want == w {
			return fmt.Errorf("SHMEM_GPU_NET=%s: %w (set it to auto to take what works)", w, err)
		}
		r.log(config.LogInfo, "the NIC does not reach the heap by %s: %v", nicPathNames[w], err)
	}
	r.ends = append(r.ends, registration{with, way, len(parts)})
	return nil
}

// try undoes everything if it fails.
func (r *registry) try(with registrant, way config.GPUNet, parts []devmem.Extent) error {
	if err := r.allows(way, with.Caps()); err != nil {
		return err
	}
	for _, x := range parts {
		if err := r.register(with, way, 0, x); err != nil {
			return errors.Join(err, with.UnregisterHeap())
		}
	}
	if f := r.flush(); f != nil {
		with.FlushBy(f)
	}
	return nil
}

// Values of gpu.Facts.WritesOrdering: the readers for which a NIC's writes are in order.
const (
	orderedForOwner = 100
	orderedForAll   = 200
)

// flush returns the function that has to be called before anything acts on what a NIC has written,
// or nil.
func (r *registry) flush() func() error {
	order := r.dev.Facts().WritesOrdering
	if order >= orderedForAll || order >= orderedForOwner && !r.all {
		return nil
	}
	return func() error { return r.dev.FlushWrites(r.all) }
}

// allows says why a path cannot be used, as far as that is known before a try.
func (r *registry) allows(way config.GPUNet, c fabric.Caps) error {
	f := r.dev.Facts()
	no := func(format string, args ...any) error {
		return &shmerr.Error{Op: "register", Object: "memory of " + r.dev.Name(), Cause: shmerr.Causef(shmerr.ErrUnsupported, format, args...)}
	}
	switch {
	case r.flush() != nil && f.FlushWrites&1 == 0:
		return no("what a NIC writes there is not in order, and the driver, of CUDA %s, has no call to flush it", f.Driver)
	case way == config.GPUNetDMABuf && !f.DMABuf:
		return no("the driver, of CUDA %s, exports no dma-buf of it", f.Driver)
	case way == config.GPUNetDMABuf && c.GPU && !c.DMABuf:
		return no("the provider takes no dma-bufs (efa and verbs do, of libfabric 1.20 and later)")
	case way == config.GPUNetPeerMem && (!f.RDMA || r.vmm && !f.RDMAVMM):
		return no("the driver gives NICs no access to it")
	}
	return nil // only the provider knows whether it takes it
}

// register registers one part of the heap, which may belong to a loan.
func (r *registry) register(with registrant, way config.GPUNet, loan gpustage.Loan, x devmem.Extent) error {
	at := r.heap + gpu.Address(x.Offset)
	m := fabric.GPUMemory{Base: pointer(at), Len: x.Size, Device: r.dev.Number(), File: -1, Live: loan != 0}
	if way == config.GPUNetDMABuf {
		fd, err := r.dev.ExportDMABuf(at, x.Size)
		if err != nil {
			return err
		}
		// The registration holds the memory.
		defer func() {
			if err := unix.Close(fd); err != nil {
				r.log(config.LogError, "close a dma-buf: %v", err)
			}
		}()
		m.File = fd
	}
	if err := with.RegisterHeap(x.Offset, loan, m); err != nil {
		return err
	}
	if err := r.dev.SyncMemops(at); err != nil && !r.unsynced {
		r.unsynced = true
		r.log(config.LogInfo, "a NIC may read before a synchronous copy of the program's has arrived: %v", err)
	}
	return nil
}

// grow registers the new part of the heap.
func (r *registry) grow(parts []devmem.Extent) error {
	for i := range r.ends {
		e := &r.ends[i]
		for ; e.way != config.GPUNetStage && e.done < len(parts); e.done++ {
			if err := r.judge(e, parts[e.done], r.add(e, 0, parts[e.done])); err != nil {
				return err
			}
		}
	}
	return nil
}

// lend registers consecutive chunks that are lent to the heap: together, or one by one if the
// driver or the provider does not take them together.
func (r *registry) lend(loan gpustage.Loan, chunks []devmem.Extent) error {
	last := chunks[len(chunks)-1]
	all := devmem.Extent{Offset: chunks[0].Offset, Size: last.Offset + last.Size - chunks[0].Offset}
	for i := range r.ends {
		e := &r.ends[i]
		if e.way == config.GPUNetStage {
			continue
		}
		err := r.add(e, loan, all)
		if err == nil || len(chunks) == 1 {
			if err := r.judge(e, all, err); err != nil {
				return err
			}
			continue
		}
		r.log(config.LogInfo, "%d bytes that are lent to the heap are registered in %d parts: %v", all.Size, len(chunks), err)
		for _, x := range chunks {
			if err := r.judge(e, x, r.add(e, loan, x)); err != nil {
				return err
			}
		}
	}
	return nil
}

// add registers a part of the heap with a connected endpoint.
func (r *registry) add(e *registration, loan gpustage.Loan, x devmem.Extent) (err error) {
	e.with.Locked(func() { err = r.register(e.with, e.way, loan, x) })
	return err
}

// judge handles a part that could not be registered: it is staged, unless the user has named the
// path.
func (r *registry) judge(e *registration, x devmem.Extent, err error) error {
	switch {
	case err == nil:
	case r.want == e.way:
		return fmt.Errorf("SHMEM_GPU_NET=%s: %w", e.way, err)
	default:
		r.log(config.LogWarn, "%d bytes of the heap at offset %#x are staged: %v", x.Size, x.Offset, err)
	}
	return nil
}

// registers reports whether NICs may be asked to reach this PE's heap.
func (j *Job) registers() bool { return j.heap == config.HeapDevice && reaches(j.Config.GPUNet) }

// reaches reports whether a setting lets NICs reach GPU memory.
func reaches(way config.GPUNet) bool { return way != config.GPUNetStage && way != config.GPUNetCopy }

// register lets the NIC of an engine reach the heap.
func (j *Job) register(e nicEnd) error {
	g := j.gpu
	if g.nics == nil {
		neighbours := 0
		for _, pe := range j.Nodes.Peers(j.Me) {
			if j.kinds[pe] == config.HeapDevice {
				neighbours++
			}
		}
		g.nics = &registry{
			dev: nicGPU{g.dev, g.dev.For(flusher)}, heap: g.address(j.Nodes.Rank(j.Me)), want: j.Config.GPUNet, vmm: g.device.Path() == devmem.VMM,
			all: neighbours > 1 && !j.Config.DisableP2P,
			log: func(level config.LogLevel, format string, args ...any) { j.log.Printf("gpu", level, format, args...) },
		}
	}
	return g.nics.open(e, g.device.Extents())
}

// staged reports whether bytes of this PE's heap reach the network through main memory. If NICs or
// copies between GPUs take them from where they are, that is sooner than through a cell of a ring.
func (j *Job) staged() bool {
	if j.heap != config.HeapDevice || j.Config.GPUNet == config.GPUNetCopy {
		return false
	}
	nics := j.gpu.nics
	return nics == nil || !slices.ContainsFunc(nics.ends, func(e registration) bool { return e.way != config.GPUNetStage })
}

// gpuNet says, for the banner, how the network reaches this PE's GPU memory.
func (j *Job) gpuNet() string {
	if way := j.gpuPath(); way != "" {
		return ", GPU memory " + way
	}
	return ""
}

// gpuPath returns the path; "" if the heap is in main memory.
func (j *Job) gpuPath() string {
	switch {
	case j.heap != config.HeapDevice:
		return ""
	case j.gpu.nics != nil && nicPathNames[j.gpu.nics.ends[0].way] != "":
		return "by " + nicPathNames[j.gpu.nics.ends[0].way]
	case j.Config.GPUNet == config.GPUNetCopy:
		return "staged, and copied within hosts"
	}
	return "staged"
}
