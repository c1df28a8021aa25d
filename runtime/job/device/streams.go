package device

// StreamCalls joins package onstream with the driver's GPU: it loads the library's kernels for
// calls on CUDA streams, and owns the bounce memory of their operands. Threads of the program call
// it; the order of their work is that of their streams.

import (
	"errors"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/onstream"
)

// StreamCalls are the calls on CUDA streams of this PE's GPU.
type StreamCalls struct {
	calls  *onstream.Calls
	bounce *bounce // nil if proxies copy in the program's context
}

// openStreams prepares calls on the program's CUDA streams, and loads the library's kernels for
// them from a file. ownContext: proxies copy in a context of their own, so that operands need
// bounce buffers.
func openStreams(dev *cuda.Device, job onstream.Job, ownContext bool, file string) (*StreamCalls, error) {
	s := &StreamCalls{}
	if ownContext {
		memory, err := newBounce(dev)
		if err != nil {
			return nil, err
		}
		s.bounce, job.Bounce, job.GPU = memory, memory.at, dev.Number()
	}
	s.calls = onstream.Open(&streamDevice{dev}, job, file)
	return s, nil
}

// Missing returns why the calls that need a kernel of the library do not work.
func (s *StreamCalls) Missing() error { return s.calls.Missing() }

// Direct returns where the copy engine of a stream reaches the user heap of each PE, 0 where it
// does not, and where the program has the user heap.
func (s *StreamCalls) Direct() (peers []gpu.Address, user uint64) { return s.calls.Direct() }

// Queue puts the call what, with the arguments c, into a stream of the program.
func (s *StreamCalls) Queue(what onstream.What, c *queue.StreamCall, stream uintptr) error {
	return s.calls.Queue(what, c, gpu.Stream(stream))
}

// Close unloads the kernels and frees the bounce memory. No call may be in a stream any more. On a
// nil s it does nothing.
func (s *StreamCalls) Close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.calls.Close(), s.bounce.close())
}

// streamDevice implements the GPU interface of package onstream with a cuda.Device.
type streamDevice struct{ dev *cuda.Device }

// Facts returns what the GPU and its driver can do.
func (d *streamDevice) Facts() gpu.Facts { return d.dev.Facts() }

// SyncStream waits until the work in a stream is complete.
func (d *streamDevice) SyncStream(s gpu.Stream) error { return d.dev.SyncStream(s) }

// Pointer asks the driver in what memory an address is.
func (d *streamDevice) Pointer(a gpu.Address) (gpu.Pointer, error) { return d.dev.Pointer(a) }

// CopyAsync puts a copy into a stream.
func (d *streamDevice) CopyAsync(s gpu.Stream, to, from gpu.Address, n uint64) error {
	return d.dev.CopyAsync(s, to, from, n)
}

// Write64 puts a store of 8 bytes into a stream.
func (d *streamDevice) Write64(s gpu.Stream, a gpu.Address, value uint64) error {
	return d.dev.Write64(s, a, value)
}

// Write32 puts a store of 4 bytes into a stream.
func (d *streamDevice) Write32(s gpu.Stream, a gpu.Address, value uint32) error {
	return d.dev.Write32(s, a, value)
}

// Wait64 makes a stream wait until a word of 8 bytes fulfils a condition.
func (d *streamDevice) Wait64(s gpu.Stream, a gpu.Address, value uint64, until gpu.Condition) error {
	return d.dev.Wait64(s, a, value, until)
}

// Load loads the module with the kernels of the library's operations on streams.
func (d *streamDevice) Load(image []byte) (onstream.Code, error) {
	m, err := d.dev.LoadModule(image)
	if err != nil {
		return nil, err
	}
	return &streamCode{m, d.dev}, nil
}

// streamCode is a loaded module with the library's kernels for calls on streams (onstream.Code).
type streamCode struct {
	m   *cuda.Module
	dev *cuda.Device
}

// Close unloads the kernels.
func (c *streamCode) Close() error { return c.m.Close() }

// SetJob copies the job's state, n bytes, into the module's variable for it. It fails if the file
// is of another release than the library.
func (c *streamCode) SetJob(job gpu.Address, n uint64) error {
	at, have, err := c.m.Global("shmemi_job")
	if err == nil && have != n {
		err = errors.New("its state has another size (install it with the library, from one build)")
	}
	if err != nil {
		return err
	}
	return c.dev.Copy(at, job, n)
}

// Kernel finds a kernel by its name.
func (c *streamCode) Kernel(name string) (onstream.Kernel, error) {
	f, err := c.m.Function(name)
	return onstream.Kernel(f), err
}

// Launch puts a kernel with one argument, the call, into a stream.
func (c *streamCode) Launch(k onstream.Kernel, blocks, threads uint32, s gpu.Stream, call *queue.StreamCall) error {
	return c.dev.LaunchOne(cuda.Function(k), blocks, threads, s, unsafe.Pointer(call))
}
