package mesh

import (
	"errors"
	"fmt"

	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/shmerr"
)

// GPU is the GPU of a member.
type GPU struct {
	Memory  stream.Memory
	Release func() error // called after Memory was closed and has unpinned all memory; may be nil
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

// OpenGPU opens the GPU that the calling thread of the operating system uses. Copies are made in a
// CUDA context of their own, so that none waits for a kernel of the program. Copies of memory from
// cudaMalloc are the exception: that memory belongs to the program's context.
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
	own, err := dev.OwnContext("the proxy of a mesh")
	if err == nil {
		var memory *gpustage.Memory
		if memory, err = gpustage.NewMemory(own, nil, nil); err == nil {
			return &GPU{memory, dev.Close}, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("%s: %w", dev.Name(), err), dev.Close())
}
