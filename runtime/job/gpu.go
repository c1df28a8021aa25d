package job

import (
	"errors"
	"fmt"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/job/device"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/job/network"
	"libshmem/runtime/job/watch"
)

// growingHeap is the address space, in bytes, reserved for a heap that grows to the size of the
// GPU's memory. Addresses cost nothing, and all PEs reserve the same.
const growingHeap = 384 << 30

// mostGPUMemory is the memory, in bytes, of the GPU that has most, a B300. An H200 has 141 GB.
const mostGPUMemory = 288_000_000_000

// A heap that grows reaches all of it: the compiler refuses a negative number.
const _ = uint64(growingHeap - mostGPUMemory)

// chooseHeap decides whether this PE's heap is in main memory or in GPU memory, and opens the
// driver for a GPU. kernels says that the program has kernels that use the library.
func (j *Job) chooseHeap(kernels bool) error {
	want := j.Settings.Heap
	if want == config.HeapHost || want == config.HeapAuto && !kernels {
		j.heap = config.HeapHost
		return nil
	}
	g, err := device.NewGPU()
	switch {
	case err == nil:
		j.GPU = g
		if j.heap = want; want == config.HeapAuto {
			j.heap = config.HeapDevice
		}
	case want != config.HeapAuto:
		return fmt.Errorf("SHMEM_HEAP=%s: %w", want, err)
	default:
		j.heap = config.HeapHost
		j.Log.Printf("gpu", config.LogInfo, "the heap is in main memory and kernels cannot run: %v", err)
	}
	return nil
}

// openGPU opens this PE's GPU and maps the heaps of the node's other PEs for it. listener passes
// memory of this PE's heap to them.
func (j *Job) openGPU(listener *devmem.Listener, infos []meet.Info) error {
	if err := j.GPU.Open(&j.Self, infos, j.segment, listener); err != nil {
		return err
	}
	j.Heaps.GPU = j.GPU
	j.Place.GPU = j.GPU.Device().Facts().PCI
	return nil
}

// flusher names the proxy in reports about driver calls that flush bytes written by NICs.
const flusher = "a proxy that acts on what a NIC wrote"

// nics returns the registry by which NICs reach this PE's heap in GPU memory; nil if the heap is in
// main memory, or if the settings ask for another path.
func (j *Job) nics() *network.Registry {
	if j.heap != config.HeapDevice || !j.Settings.GPUNet.Reaches() {
		return nil
	}
	// The GPUs of the other PEs load from this heap (All) if their heaps are in GPU memory, too, and
	// SHMEM_DISABLE_P2P does not forbid that.
	gpuHeaps := 0 // of the node, this PE's included
	for _, pe := range j.Nodes.Peers(j.Me) {
		if j.Heaps.Kinds[pe] == config.HeapDevice {
			gpuHeaps++
		}
	}
	return network.NewRegistry(network.RegistryConfig{
		GPU: j.GPU.Exporter(flusher), Heap: j.GPU.Address(j.Nodes.Rank(j.Me)), Want: j.Settings.GPUNet,
		VMM: j.GPU.Heap().Path() == devmem.VMM, All: gpuHeaps > 1 && !j.Settings.DisableP2P,
		Log: func(level config.LogLevel, format string, args ...any) { j.Log.Printf("gpu", level, format, args...) },
	})
}

// watchDriver watches the driver calls, if this PE has a GPU. requests returns how many reports the
// user has requested by a signal so far.
func (j *Job) watchDriver(requests func() uint32) {
	if dev := j.GPU.Device(); dev != nil {
		j.driverWatch.Begin(watch.DriverConfig{Facts: dev.Facts(), Limit: j.Settings.Timeout, Say: j.Report, Requests: requests, Calls: dev.Calls})
	}
}

// closeGPU unmaps the heaps and closes the GPU. The driver watch ends after the calls that unmap
// them, and before the GPU is closed.
func (j *Job) closeGPU() error {
	err := j.GPU.Release()
	j.driverWatch.End()
	err = errors.Join(err, j.GPU.Close())
	j.GPU, j.Heaps.GPU = nil, nil
	return err
}

// GPUReset reports, and logs, whether the program has reset this PE's GPU while the job used it.
// The rest of shmem_finalize then makes no call in the context, which has ended.
func (j *Job) GPUReset() bool {
	if j.GPU.Device() == nil || !j.GPU.Device().WasReset() {
		return false
	}
	j.Report("shmem_finalize: " + j.GPU.Device().ResetText())
	return true
}

// needsNetwork reports whether PEs of the job need the network; the result is the same on all PEs.
// The PEs of one host need it, too, if one of them cannot copy to the heap of another (Mapped), or
// if its kernels cannot load from that heap (Direct). It is collective if a heap is in GPU memory.
func (j *Job) needsNetwork() (bool, error) {
	if len(j.Nodes.Members) > 1 {
		return true, nil
	}
	if !j.Heaps.SomeGPU() {
		return false, nil
	}
	mine := []byte{0}
	for pe := range libshmem.PE(j.NPEs) {
		if j.Heaps.Mapped(pe) == nil || j.GPU != nil && j.Heaps.Direct(pe) == 0 {
			mine[0] = 1
		}
	}
	all, err := j.Boot.Allgather(mine)
	for _, b := range all {
		if len(b) == 1 && b[0] == 1 {
			return true, err
		}
	}
	return false, err
}

// Lend lends memory of the program to the heap: it reserves a block of size bytes of the heap's
// address space and maps the chunks that GPU.FindChunks has found there, offset bytes from the
// block's start. It returns the start. The other PEs of the node do so at the same time. After it
// has failed on one PE, the others have to take the memory back (GPU.Lend).
func (j *Job) Lend(size, offset uint64) (libshmem.Offset, error) {
	return j.GPU.Lend(j.Heap, j.Network.Loans(), size, offset)
}

// TakeBack ends the loan whose block of the heap contains an offset: the memory is the program's
// alone again.
func (j *Job) TakeBack(off libshmem.Offset) error {
	return j.GPU.TakeBack(j.Heap, j.Network.Loans(), off)
}

// staged reports whether bytes of this PE's heap reach the network through main memory. Only then
// do rings get cells, main memory to which kernels copy the bytes of puts: NICs and copies between
// GPUs are faster if they read the bytes where they are.
func (j *Job) staged() bool {
	return j.heap == config.HeapDevice && j.Settings.GPUNet != config.GPUNetCopy && !j.GPU.NICs.Direct()
}
