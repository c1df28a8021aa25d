package onstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"libshmem/queue"
	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// kernel is a kernel of device/kernels.
type kernel int

// prefix is the common prefix of all kernel names.
const prefix = "shmemi_stream_"

// kernels are the library's kernels, or the reason why there are none.
type kernels struct {
	code    Code                // nil: no kernels are loaded
	all     [kernelCount]Kernel // by number
	missing error               // why there are no kernels; nil: they are loaded
}

// load loads all kernels from a file. If the driver loaded a kernel only at its first
// launch, that launch would wait until the whole GPU is idle.
func (k *kernels) load(dev Device, job Job, file string) error {
	image, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &shmerr.Error{
			Op: "load", Object: file, Cause: shmerr.Causef(shmerr.ErrUnsupported, "the file with the library's own kernels is not there"),
			Remedy: "build the library with KERNELS=yes, or install it by make install",
		}
	case err != nil:
		return fmt.Errorf("load the library's kernels: %w", err)
	}
	code, err := dev.Load(image)
	if err != nil {
		return fmt.Errorf("load %s: %w", file, err)
	}
	err = code.SetJob(job.Image, job.Bytes)
	for i := range k.all {
		if err == nil {
			k.all[i], err = code.Kernel(prefix + names[i])
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("load %s: %w", file, err), code.Close())
	}
	k.code = code
	return nil
}

// launch launches a kernel of that many blocks, each of that many threads, on a stream, or returns
// why there are no kernels.
func (k *kernels) launch(which kernel, blocks, threads uint32, s gpu.Stream, c *queue.StreamCall) error {
	if k.missing != nil {
		return k.missing
	}
	return k.code.Launch(k.all[which], blocks, threads, s, c)
}

// Close unloads the kernels. No kernel may run any more.
func (k *kernels) Close() error {
	if k.code == nil {
		return nil
	}
	code := k.code
	k.code = nil
	return code.Close()
}

// Missing returns why there are no kernels for operations on streams, or nil if there are.
func (k *kernels) Missing() error { return k.missing }
