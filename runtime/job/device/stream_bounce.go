package device

import (
	"errors"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/onstream"
)

// bounce is memory of the GPU through which calls on CUDA streams copy operands that are tied to
// the program's context (onstream.Job.Bounce). No context owns it, as none owns the heap.
type bounce struct {
	dev   *cuda.Device
	at    gpu.Address
	size  uint64
	chunk gpu.Chunk
}

// newBounce allocates the bounce memory, zeroed, without waiting for kernels of the program.
func newBounce(dev *cuda.Device) (*bounce, error) {
	unit, err := dev.Granularity()
	if err != nil {
		return nil, err
	}
	m := &bounce{dev: dev, size: (onstream.BounceBytes + unit - 1) / unit * unit}
	if m.at, err = dev.Reserve(m.size, unit); err != nil {
		return nil, err
	}
	if m.chunk, err = dev.CreateChunk(m.size); err != nil {
		return nil, errors.Join(err, dev.Unreserve(m.at, m.size))
	}
	if err = dev.MapChunk(m.at, m.size, m.chunk); err != nil {
		return nil, errors.Join(err, dev.ReleaseChunk(m.chunk), dev.Unreserve(m.at, m.size))
	}
	// A context of the library's own: the first call on a stream may be made while a kernel waits.
	own, err := dev.OwnContext("a call on a stream")
	if err == nil {
		err = own.Zero(m.at, m.size)
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// close frees the memory. No kernel of the library may use it any more. A nil m has no memory.
func (m *bounce) close() error {
	if m == nil {
		return nil
	}
	return errors.Join(m.dev.UnmapChunk(m.at, m.size), m.dev.ReleaseChunk(m.chunk), m.dev.Unreserve(m.at, m.size))
}
