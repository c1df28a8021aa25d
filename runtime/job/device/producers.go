package device

// Producers has the producers of a PE's operations other than the calls of the program: kernels,
// threads with rings, and CUDA streams. It reserves the memory for collectives of kernels, and
// decides which producers the proxies serve.
//
// One thread at a time creates and closes kernels, rings and streams. Any goroutine may end waits
// by the Stopper, use Teams and call Quiet.

import (
	"errors"
	"unsafe"

	"libshmem"
	"libshmem/queue"
	"libshmem/queue/channel"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/heap"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/job/network"
	"libshmem/runtime/job/watch"
	"libshmem/runtime/onstream"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/call"
)

// ProducersConfig has the inputs of the producers, and the parts of the PE that they use.
type ProducersConfig struct {
	*meet.Self
	Internal uint64 // bytes of the internal area below each heap
	Size     uint64 // of a user heap
	Areas    uint64 // number of teams that can exist
	Notify   uint64 // bytes from the notification counters in main memory to the user heap

	Heap        *heap.Heap
	Commit      func() error // maps memory into the blocks of the heap
	Heaps       *meet.Heaps
	GPU         *GPU        // nil: this PE uses none
	Staged      func() bool // bytes of this PE's heap reach the network through main memory
	DriverWatch *watch.DriverWatch
}

// Producers are the kernels, threads with rings and CUDA streams of this PE.
type Producers struct {
	ProducersConfig

	// Network is nil if all PEs share memory. The job sets it before any other use of the
	// producers.
	Network *network.Network
	// Stopper ends the waits of kernels.
	Stopper Stopper
	// Streams has the calls on CUDA streams; it is made with the kernels.
	Streams *StreamCalls
	// Teams is the table of teams for kernels. nil: no kernels will run.
	Teams *TeamTable

	kernels *Kernels       // nil until the first call of Kernels
	rings   *queue.Host    // nil until the first call of Rings
	served  *network.Rings // nil: no rings are served
	// work is the memory in each heap for collectives of kernels; teams is the number of teams that
	// share it.
	work   struct{ offset, size, teams uint64 }
	counts notifyCounters
}

// NewProducers returns the producers of a PE, without rings and kernels so far.
func NewProducers(c ProducersConfig) *Producers { return &Producers{ProducersConfig: c} }

// inGPU reports whether this PE's heap is in GPU memory.
func (p *Producers) inGPU() bool { return p.Heaps.Kinds[p.Me] == config.HeapDevice }

// engines returns the engines of this PE; none if all PEs share memory.
func (p *Producers) engines() []*proxy.Engine {
	if p.Network == nil {
		return nil
	}
	return p.Network.Engines
}

// Close unloads the kernels of calls on streams and releases the memory of kernels. It is called
// after CloseRings. On a nil p it does nothing.
func (p *Producers) Close() error {
	if p == nil {
		return nil
	}
	return errors.Join(p.Streams.Close(), p.kernels.Close(p.Fatal), p.closeCounters())
}

// Waker is a C function that ends the sleep of a proxy, and its argument.
type Waker struct{ Function, Argument unsafe.Pointer }

// Rings returns a struct shmemi_device_state in C's memory, in which threads of this process find
// the rings and the other PEs. The first call makes the rings and has the proxies serve them; it is
// not safe for concurrent use. waker returns the function that producers call when the proxy of the
// i-th engine sleeps.
func (p *Producers) Rings(waker func(i int, e *proxy.Engine) Waker) (unsafe.Pointer, error) {
	if p.rings != nil {
		return unsafe.Pointer(p.rings.State), nil
	}
	if p.kernels.HasRings() {
		return nil, errors.New("make rings of threads: the proxies serve rings of this process's kernels already (use one of the two)")
	}
	count := p.Settings.RingCount
	if len(p.engines()) == 0 {
		count = 0 // every PE is reached directly
	}
	// Each engine serves one ring at least.
	h, err := queue.NewHost(max(count, len(p.engines())), p.Settings.RingSize, p.NPEs)
	if err != nil {
		return nil, err
	}
	user := p.Heaps.Own()
	s := h.State
	s.Me = int32(p.Me)
	s.Segment = uint64(uintptr(user)) - p.Internal
	s.Heap, s.HeapSize = uint64(uintptr(user)), p.Size
	s.RingMap = uint32(p.Settings.RingMapBy)
	// Threads of the host increment the notification counters in main memory.
	s.NotifyCount = uint32(p.Settings.NotifyCount)
	s.Notify, s.NotifyAt = uint64(uintptr(p.mainCounters())), p.Internal-p.Notify
	for _, pe := range p.Nodes.Peers(p.Me) {
		if at := p.Heaps.Near(pe); at != nil {
			h.Peers[pe].Direct = unsafe.Add(at, -int(p.Internal))
		}
	}
	p.rings = h
	for i := range h.Rings {
		if e := len(p.engines()); e > 0 {
			w := waker(i%e, p.engines()[i%e])
			h.Wake(i, w.Function, w.Argument)
		}
	}
	p.served = p.Network.Serve(h.Rings, false) // false: threads are the producers
	return unsafe.Pointer(s), nil
}

// Quiet completes the operations in rings for a quiet of the host. It does not wait: the caller
// repeats it, with the same ticket, while it returns Pending (network.Rings).
//
// Requests of a proxy channel that kernels have stored come into a ring first.
func (p *Producers) Quiet(ticket *uint64) call.Status {
	if p.kernels != nil && !p.kernels.channel.drained(ticket) {
		return call.Pending
	}
	return p.served.Quiet(ticket)
}

// CloseRings waits until the pushed operations are complete, and closes the rings of GPU threads
// and of host threads.
func (p *Producers) CloseRings() error {
	if p.kernels != nil {
		p.kernels.channel.finish()
	}
	p.served.Finish()
	p.DriverWatch.Serve(nil) // it reads the rings, whose memory is freed next
	p.served.Close()
	p.served = nil
	if p.rings == nil {
		return nil
	}
	err := p.rings.Close()
	p.rings = nil
	return err
}

// Kernels returns the memory for kernels of this process, or nil if this PE has no GPU. The first
// call makes the rings and lets the proxies serve them; it is not safe for concurrent use. archive:
// kernels of NVIDIA's device archive may run, which need a proxy channel if this PE has a network.
func (p *Producers) Kernels(archive bool) (*Kernels, error) {
	switch {
	case p.GPU == nil || p.kernels != nil:
		return p.kernels, nil
	case p.rings != nil && p.served != nil:
		return nil, errors.New("make rings of kernels: the proxies serve rings of this process's threads already (use one of the two)")
	}
	p.openCounters()
	k, err := p.newKernels(archive)
	if err != nil {
		return nil, err
	}
	p.kernels = k
	k.Watch(p.Fatal, p.Boot.Over)
	p.served = p.Network.Serve(k.Rings(), true) // true: kernels are the producers
	p.Log.Printf("gpu", config.LogDebug, "kernels reach %d PEs by loads and stores, %d by ring", p.NPEs-p.Heaps.ByRing(), p.Heaps.ByRing())
	return k, nil
}

// ExitWords returns the address, for kernels, of the words by which device code of NVIDIA's archive
// ends the job; 0 if this PE runs no kernels.
func (p *Producers) ExitWords() gpu.Address {
	if p.kernels == nil {
		return 0
	}
	return p.kernels.exitAt
}

// Channel returns the parts of the proxy channel for device code of NVIDIA's archive, by their
// addresses for kernels, or why there is none.
func (p *Producers) Channel() (channel.Addresses, error) {
	switch {
	case p.kernels == nil:
		return channel.Addresses{}, errors.New("open a proxy channel: this PE runs no kernels")
	case p.kernels.channel == nil && p.kernels.channelErr == nil:
		return channel.Addresses{}, errors.New("open a proxy channel: the PE has no network, or has made its rings without a channel")
	case p.kernels.channel == nil:
		return channel.Addresses{}, p.kernels.channelErr
	}
	return p.kernels.channel.addresses, nil
}

// BeginChannel has the requests of the proxy channel served: kernels may store some from now on.
// Without a channel it does nothing. One thread at a time calls it.
func (p *Producers) BeginChannel() {
	if p.kernels != nil {
		p.kernels.channel.begin(p.Fatal)
	}
}

// ringsOfKernels returns how many rings kernels need: at least one for each engine, or none if
// there is no network or kernels reach all heaps by loads and stores.
func (p *Producers) ringsOfKernels() int {
	if len(p.engines()) == 0 || p.Heaps.ByRing() == 0 {
		return 0
	}
	return max(p.Settings.RingCount, len(p.engines()))
}

// OpenStreams prepares calls on CUDA streams, and loads the library's kernels for them from a file.
// It is called after Kernels and is not safe for concurrent use. If the file is missing or cannot
// be used, it returns no error: the calls that need a kernel report it.
func (p *Producers) OpenStreams(file string) error {
	switch {
	case p.Streams != nil:
		return nil
	case p.kernels == nil:
		return errors.New("queue work on a stream: this PE runs no kernels")
	}
	s := p.kernels.State
	c := onstream.Job{
		NPEs: p.NPEs, User: uint64(uintptr(p.Heaps.Own())), Heap: gpu.Address(s.Heap),
		Rings: s.RingCount != 0 || p.kernels.channel != nil, Survives: p.Settings.OnFailure == config.ReturnOnFailure, Image: p.kernels.At, Bytes: imageBytes,
	}
	if k := p.kernels.channel; k != nil {
		c.Issue, c.QuietIssue, c.QuietAck = gpu.Address(k.addresses.Issue), gpu.Address(k.addresses.QuietIssue), gpu.Address(k.addresses.QuietAck)
	}
	for pe := range libshmem.PE(p.NPEs) {
		c.Direct = append(c.Direct, p.Heaps.Direct(pe))
	}
	var err error
	if p.Streams, err = openStreams(p.GPU.Device(), c, p.Network.CopiesInOwnContext(), file); err != nil {
		return err
	}
	if err := p.Streams.Missing(); err != nil {
		p.Log.Printf("gpu", config.LogInfo, "calls on streams that need a kernel of the library do not work: %v", err)
	}
	return nil
}
