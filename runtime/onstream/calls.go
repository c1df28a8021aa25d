package onstream

import (
	"libshmem"
	"libshmem/queue"
	"libshmem/runtime/gpu"
)

// Comparisons and operations on signals, with the numbers of shmem.h.
const (
	cmpEQ     = 0
	cmpGE     = 5
	signalSet = 9
)

// Device is the GPU whose streams are used.
type Device interface {
	Facts() gpu.Facts
	CopyAsync(s gpu.Stream, to, from gpu.Address, n uint64) error
	Write64(s gpu.Stream, a gpu.Address, value uint64) error
	Write32(s gpu.Stream, a gpu.Address, value uint32) error
	Wait64(s gpu.Stream, a gpu.Address, value uint64, until gpu.Condition) error
	SyncStream(s gpu.Stream) error
	Pointer(a gpu.Address) (gpu.Pointer, error)
	// Load loads the library's kernels.
	Load(image []byte) (Code, error)
}

// Code is the loaded module with the library's kernels.
type Code interface {
	// SetJob copies the n bytes of the job's description to the variable that kernels read it from.
	SetJob(job gpu.Address, n uint64) error
	// Kernel finds a kernel by its name.
	Kernel(name string) (Kernel, error)
	// Launch launches a kernel on a stream, with the call as its argument.
	Launch(k Kernel, blocks, threads uint32, s gpu.Stream, c *queue.StreamCall) error
	Close() error
}

// Kernel is the driver's handle of a kernel of the library.
type Kernel uintptr

// Job describes the job for Calls.
type Job struct {
	NPEs     int
	User     uint64        // the program's address of its user heap
	Heap     gpu.Address   // this GPU's address of this PE's user heap
	Direct   []gpu.Address // this GPU's address of each PE's user heap; 0: the PE is reached through a ring
	Rings    bool          // some PE is reached through a ring, or the job has a proxy channel
	Survives bool          // the job continues when a PE is lost
	Image    gpu.Address   // the job's description, which Code.SetJob copies to the kernels' module
	Bytes    uint64        // size of the description

	// Bounce is BounceBytes of zeroed memory that no context owns, through which kernels copy
	// operands that the driver ties to the program's context; 0 if proxies copy in that context
	// themselves.
	Bounce gpu.Address
	GPU    int // the number of this PE's GPU

	// Issue, QuietIssue and QuietAck are the words of the proxy channel through which quiets wait
	// for the operations of kernels of NVIDIA's device archive (queue/channel); 0: there is no
	// channel.
	Issue, QuietIssue, QuietAck gpu.Address
}

// Calls queues a program's calls at CUDA streams, for one job.
type Calls struct {
	dev     Device
	job     Job
	kernels // launch takes a kernel, the number of blocks and the number of threads in a block
}

// Open returns the Calls of a job and loads the library's kernels from a file. If they cannot be
// loaded, calls that need a kernel return the reason, and the others work.
func Open(dev Device, job Job, file string) *Calls {
	c := &Calls{dev: dev, job: job}
	c.missing = c.load(dev, job, file)
	return c
}

// Direct returns this GPU's addresses of the user heaps of all PEs (Job.Direct), and the program's
// address of its own user heap.
func (c *Calls) Direct() ([]gpu.Address, uint64) { return c.job.Direct, c.job.User }

// symmetric returns this GPU's address of a symmetric address of the program.
func (c *Calls) symmetric(a uint64) gpu.Address { return c.job.Heap + gpu.Address(a-c.job.User) }

// at returns this GPU's address of the symmetric object at a on PE pe, or 0 if the GPU does not
// reach that PE's heap directly.
func (c *Calls) at(a uint64, pe libshmem.PE) gpu.Address {
	if c.job.Direct[pe] == 0 {
		return 0
	}
	return c.job.Direct[pe] + gpu.Address(a-c.job.User)
}

// put queues a put on a CUDA stream: a copy by the copy engine if the GPU reaches the PE's heap,
// else a kernel that requests the put from the proxy.
func (c *Calls) put(call *queue.StreamCall, s gpu.Stream) error {
	if to := c.at(call.Dest, libshmem.PE(call.PE)); to != 0 {
		return c.dev.CopyAsync(s, to, gpu.Address(call.Source), call.Count)
	}
	k := *call
	k.Dest = uint64(c.symmetric(call.Dest))
	return c.launchRemote(kernelPut, kernelPutBounced, k.Source, s, &k)
}

// get queues a get on a CUDA stream: a copy by the copy engine if the GPU reaches the PE's heap,
// else a kernel that requests the get from the proxy.
func (c *Calls) get(call *queue.StreamCall, s gpu.Stream) error {
	if from := c.at(call.Source, libshmem.PE(call.PE)); from != 0 {
		return c.dev.CopyAsync(s, gpu.Address(call.Dest), from, call.Count)
	}
	k := *call
	k.Source = uint64(c.symmetric(call.Source))
	return c.launchRemote(kernelGet, kernelGetBounced, k.Dest, s, &k)
}

// p queues the store of one element: by the stream itself if possible, which needs no free
// multiprocessor, else by a kernel.
func (c *Calls) p(call *queue.StreamCall, s gpu.Stream) error {
	if to := c.at(call.Dest, libshmem.PE(call.PE)); to != 0 && c.dev.Facts().StreamOps {
		switch call.Width {
		case 8:
			return c.dev.Write64(s, to, call.Value)
		case 4:
			return c.dev.Write32(s, to, uint32(call.Value))
		}
	}
	k := *call
	k.Dest = uint64(c.symmetric(call.Dest))
	return c.launch(kernelP, 1, 1, s, &k) // here and below: the number of blocks, then of threads in each
}

// putSignal queues a put on a CUDA stream and, after it, the update of a signal word. For a PE that
// the GPU does not reach, one kernel requests both.
func (c *Calls) putSignal(call *queue.StreamCall, s gpu.Stream) error {
	if c.at(call.Dest, libshmem.PE(call.PE)) != 0 {
		if err := c.put(call, s); err != nil {
			return err
		}
		return c.signal(call, s)
	}
	k := *call
	k.Dest, k.Signal = uint64(c.symmetric(call.Dest)), uint64(c.symmetric(call.Signal))
	return c.launchRemote(kernelPutSignal, kernelPutSignalBounced, k.Source, s, &k)
}

// signal queues the update of a signal word: as a store by the stream itself, if the signal is set
// and the GPU reaches it, else by a kernel. Both run after the stream's earlier work.
func (c *Calls) signal(call *queue.StreamCall, s gpu.Stream) error {
	if at := c.at(call.Signal, libshmem.PE(call.PE)); at != 0 && call.Op == signalSet && c.dev.Facts().StreamOps {
		return c.dev.Write64(s, at, call.Value)
	}
	k := *call
	k.Signal = uint64(c.symmetric(call.Signal))
	return c.launch(kernelSignal, 1, 1, s, &k)
}

// putNotify queues a put and, after it, an addition to a notification counter. The addition needs a
// kernel: not all drivers have an operation of streams that adds to a word.
func (c *Calls) putNotify(call *queue.StreamCall, s gpu.Stream) error {
	k := *call
	k.Dest = uint64(c.symmetric(call.Dest))
	if c.at(call.Dest, libshmem.PE(call.PE)) == 0 {
		return c.launchRemote(kernelPutNotify, kernelPutNotifyBounced, k.Source, s, &k)
	}
	if call.Count > 0 {
		if err := c.put(call, s); err != nil {
			return err
		}
	}
	k.Count = 0
	return c.launch(kernelPutNotify, 1, 1, s, &k)
}

// streamMayWait reports whether the stream may wait for a word by itself. Nothing can end such a
// wait, so if the job is to continue when a PE is lost, a kernel must wait instead.
func (c *Calls) streamMayWait() bool { return c.dev.Facts().StreamOps && !c.job.Survives }

// count queues a wait until a counter has reached a value. A stream compares by the signed
// difference, which is right for counters but not for all values of other words: for those, wait
// uses a kernel for >=.
func (c *Calls) count(call *queue.StreamCall, s gpu.Stream) error {
	if call.Op == cmpGE && c.streamMayWait() {
		return c.dev.Wait64(s, c.symmetric(call.Dest), call.Value, gpu.AtLeast)
	}
	return c.wait(call, s)
}

// wait queues a wait for one or more words: by the stream itself for one word of 64 bits that is to
// be equal to a value, else by a kernel. call.Source is the address of a value for each word (0:
// all are compared with call.Value), and call.Signal that of an int for each word, not 0 for words
// that do not count (0: all count).
func (c *Calls) wait(call *queue.StreamCall, s gpu.Stream) error {
	is64Bits := call.Width&^queue.Signed == 8
	if is64Bits && call.Op == cmpEQ && call.Count == 1 && call.Signal == 0 && call.Source == 0 && c.streamMayWait() {
		return c.dev.Wait64(s, c.symmetric(call.Dest), call.Value, gpu.Equal)
	}
	k := *call
	k.Dest = uint64(c.symmetric(call.Dest))
	return c.launch(kernelWait, 1, threadsFor(call.Count), s, &k)
}

// quiet queues a wait until earlier operations of the stream are complete. The stream's own
// operations and the stores of its kernels are complete anyway when the next work begins, so only
// operations in rings need a kernel that waits.
func (c *Calls) quiet(call *queue.StreamCall, s gpu.Stream) error {
	if !c.job.Rings {
		return nil
	}
	return c.launch(kernelQuiet, 1, 1, s, c.withChannel(call))
}

// withChannel returns a call whose kernel also does a quiet of the proxy channel, by the addresses
// in Dest, Source and Signal. All are 0 if there is no channel.
func (c *Calls) withChannel(call *queue.StreamCall) *queue.StreamCall {
	k := *call
	k.Dest, k.Source, k.Signal = uint64(c.job.Issue), uint64(c.job.QuietIssue), uint64(c.job.QuietAck)
	return &k
}

// barrier queues a barrier of a team. If the job uses no rings, a sync is enough: earlier work of
// the stream is complete when the kernel begins.
func (c *Calls) barrier(call *queue.StreamCall, s gpu.Stream) error {
	if !c.job.Rings {
		return c.sync(kernelSync, call, s)
	}
	return c.sync(kernelBarrier, c.withChannel(call), s)
}

// sync queues kernel k, which synchronizes a team; for a team of one PE only a quiet.
func (c *Calls) sync(k kernel, call *queue.StreamCall, s gpu.Stream) error {
	if call.TeamPEs == 1 {
		return c.quiet(call, s)
	}
	return c.launch(k, 1, threadsFor(uint64(call.TeamPEs)), s, call)
}

// launchOneThread launches kernel k with one block of one thread.
func (c *Calls) launchOneThread(k kernel, call *queue.StreamCall, s gpu.Stream) error {
	return c.launch(k, 1, 1, s, call)
}

// drain waits on the CPU until all work of the stream is complete.
func (c *Calls) drain(_ *queue.StreamCall, s gpu.Stream) error { return c.dev.SyncStream(s) }
