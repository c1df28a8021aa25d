package mesh

import (
	"errors"
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/gpu/gpudirect"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/shmerr"
)

// GPU is the GPU of a member.
type GPU struct {
	Memory  stream.Memory      // copies its bytes
	Release func() error       // called after Memory was closed and has unpinned all memory; may be nil
	NICs    gpudirect.Exporter // gives NICs access to GPU memory; nil: no NIC has access, and all bytes are copied
	// Paths are the paths by which NICs may reach its memory: memory that none of these reaches is
	// refused. nil: all paths are tried, and bytes that no NIC reaches are copied.
	Paths []gpudirect.Path
	PCI   string // its PCI address, from which the nearest NIC is found; "": not known
}

// Address returns the PCI address of g; "" if it is not known or g is nil.
func (g *GPU) Address() string {
	if g == nil {
		return ""
	}
	return g.PCI
}

// Close closes a GPU that was not passed to Open of a mesh. g may be nil.
func (g *GPU) Close() error {
	if g == nil {
		return nil
	}
	return errors.Join(g.Memory.Close(), g.release())
}

// release calls Release, once the GPU stage has closed Memory. g may be nil.
func (g *GPU) release() error {
	if g == nil || g.Release == nil {
		return nil
	}
	return g.Release()
}

// OpenGPU opens the GPU that the calling thread of the operating system uses. The library makes
// copies in a CUDA context of its own, so that none waits for a kernel of the program. Copies of
// memory from cudaMalloc are the exception: that memory belongs to the program's context.
func OpenGPU() (g *GPU, err error) {
	defer func() {
		if err != nil {
			err = &shmerr.Error{Op: "open", Object: "the GPU of a mesh", Cause: err}
		}
	}()
	driver, err := cuda.Open()
	if err != nil {
		return nil, err
	}
	number, current, err := driver.Current()
	if err != nil {
		return nil, err
	}
	if !current {
		return nil, shmerr.Causef(shmerr.ErrArgument, "this thread uses no GPU yet (call cudaSetDevice and cudaFree(0) first, in this thread)")
	}
	dev, err := driver.Device(number)
	if err != nil {
		return nil, err
	}
	ownContext, err := dev.OwnContext("the proxy of a mesh")
	if err == nil {
		var memory *gpustage.Memory
		// Without kernels, and so without the program's context for them: the stage does signals in steps.
		if memory, err = gpustage.NewMemory(ownContext, nil, nil); err == nil {
			return &GPU{Memory: memory, Release: dev.Close, NICs: dev.For("the proxy of a mesh"), PCI: dev.Facts().PCI}, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("%s: %w", dev.Name(), err), dev.Close())
}

// prepareNICs lets NICs reach regions of GPU memory if both the provider and the GPU can do that.
// It is called before the GPU stage is connected.
func (m *Mesh) prepareNICs() {
	if m.gpu == nil || m.gpu.NICs == nil {
		return
	}
	m.access = &gpudirect.Access{GPU: m.gpu.NICs, Only: m.gpu.Paths, Log: m.log}
	if flush := m.access.Flush(); flush != nil && m.e.Caps().GPU {
		m.stage.FlushBy(func() error {
			if m.stage.Regions() == 0 {
				return nil // no NIC has written to GPU memory
			}
			return flush()
		})
	}
}

// reach registers a region of this member in GPU memory with the network, if NICs can reach it.
// Otherwise its bytes are copied to and from pinned memory; if GPU.Paths lists the paths that the
// program accepts, reach returns an error instead. A line of the log says how the bytes travel, and
// is not repeated while the answer stays the same. The program may use the memory already, so a
// path must be tried without writes to it: Attempt gets true as its argument live.
func (m *Mesh) reach(r *proxy.Region, base unsafe.Pointer, n uint64) error {
	if m.access == nil {
		return nil
	}
	path, err := m.access.Attempt(m.e.Caps(), gpu.Address(uintptr(base)), n, true, func(x fabric.GPUMemory) error { return m.e.RegisterGPU(r, base, x) })
	text := fmt.Sprintf("NICs reach GPU memory by %s", path)
	if err != nil {
		text = "no NIC reaches GPU memory, so its bytes are copied to and from pinned memory: " + shmerr.OneLine(err)
	}
	switch {
	case err != nil && m.access.Only != nil:
		return err
	case m.noted != text:
		m.noted = text
		m.log(text)
	}
	return nil
}
