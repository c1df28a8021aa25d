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

// flusher is what reports call those that flush what NICs have written.
const flusher = "a proxy that acts on what a NIC wrote"

// nicGPU is a GPU whose flushes are known as such.
type nicGPU struct {
	*cuda.Device
	flushes *cuda.Device
}

func (g nicGPU) FlushWrites(all bool) error { return g.flushes.FlushWrites(all) }

// registrant is what a heap is registered with: a nicEnd.
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
	want config.GPUNet // auto, or the one way
	vmm  bool          // the heap grows
	all  bool          // other GPUs load from it, too
	log  func(level config.LogLevel, format string, args ...any)

	ends     []registration
	unsynced bool // the log says that copies are not made synchronous
}

// registration is of one endpoint.
type registration struct {
	with registrant
	way  config.GPUNet // stage: none
	done int           // parts of the heap that are registered, or are not going to be
}

// nicPaths are those by which a NIC may reach GPU memory, the best first: a dma-buf
// needs no kernel module beside the driver's own.
var nicPaths = []config.GPUNet{config.GPUNetDMABuf, config.GPUNetPeerMem}

// nicPathNames are for people.
var nicPathNames = map[config.GPUNet]string{config.GPUNetDMABuf: "dma-buf", config.GPUNetPeerMem: "peer memory"}

// open registers what there is of the heap with an endpoint that nobody is
// connected to, by the first way that works.
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

// try leaves nothing where it fails.
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

// Values of gpu.Facts.WritesOrdering, for whom a NIC's writes are in order.
const (
	orderedForOwner = 100
	orderedForAll   = 200
)

// flush is what has to be called before anybody acts on what a NIC has written, or
// nil.
func (r *registry) flush() func() error {
	order := r.dev.Facts().WritesOrdering
	if order >= orderedForAll || order >= orderedForOwner && !r.all {
		return nil
	}
	return func() error { return r.dev.FlushWrites(r.all) }
}

// allows tells why a way cannot be gone, as far as that is known before a try.
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
	return nil // whether the provider takes it, the provider says
}

// register registers one part of the heap, which may be of a loan.
func (r *registry) register(with registrant, way config.GPUNet, loan gpustage.Loan, x devmem.Extent) error {
	at := r.heap + gpu.Address(x.Offset)
	m := fabric.GPUMemory{Base: pointer(at), Len: x.Size, Device: r.dev.Number(), File: -1, Live: loan != 0}
	if way == config.GPUNetDMABuf {
		fd, err := r.dev.ExportDMABuf(at, x.Size)
		if err != nil {
			return err
		}
		// What is registered holds the memory.
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

// grow registers what is new of the heap.
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

// lend registers chunks in a row that are lent to the heap: together, and where the driver
// or the provider does not take them so, one by one.
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

// add registers a part of the heap with an endpoint that others are connected to.
func (r *registry) add(e *registration, loan gpustage.Loan, x devmem.Extent) (err error) {
	e.with.Locked(func() { err = r.register(e.with, e.way, loan, x) })
	return err
}

// judge is about a part that may not be registered: it is staged, unless the user has
// named the way.
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

// registers tells whether NICs may be asked to reach this PE's heap.
func (j *Job) registers() bool { return j.heap == config.HeapDevice && reaches(j.Config.GPUNet) }

// reaches tells whether a way to the network is by NICs that reach memory of GPUs.
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

// staged tells whether bytes of this PE's heap get to the network by way of main
// memory. Where NICs or copies between GPUs take them from where they are, that is
// sooner than by a cell of a ring.
func (j *Job) staged() bool {
	if j.heap != config.HeapDevice || j.Config.GPUNet == config.GPUNetCopy {
		return false
	}
	nics := j.gpu.nics
	return nics == nil || !slices.ContainsFunc(nics.ends, func(e registration) bool { return e.way != config.GPUNetStage })
}

// gpuNet is what the banner says of how the network gets to this PE's GPU memory.
func (j *Job) gpuNet() string {
	if way := j.gpuPath(); way != "" {
		return ", GPU memory " + way
	}
	return ""
}

// gpuPath is how it does; "" where the heap is in main memory.
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
