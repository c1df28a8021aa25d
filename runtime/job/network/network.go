// Package network owns the engines of a PE and their loops. It chooses the NICs and their fabric
// with the other PEs, opens a provider for each endpoint, makes the engines with their GPU stages
// and registration caches, connects them, and starts and ends the loops. It lets NICs reach a heap
// in GPU memory, and spreads rings over the engines. The engines' work is in runtime/proxy.
//
// One thread opens and closes it. Any goroutine may call the methods about other PEs: they take the
// lock of an engine, and the methods of Peers, and Flight, give up after lockTimeout.
package network

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/chaos"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu/amo"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/guard"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/heap/hostmem"
	"libshmem/runtime/job/area"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/job/place"
	"libshmem/runtime/job/watch"
	"libshmem/runtime/nvtx"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
	"libshmem/runtime/trace"
)

// Config has the inputs of a network, and the parts that it connects.
type Config struct {
	*meet.Self
	JobInfo *meet.JobInfo
	Plan    hostmem.Plan // of the memory of the node
	Layout  *area.Layout // of the internal area
	Heaps   *meet.Heaps
	Place   *place.Place
	GPU     GPU
	// Front has the lock of the first engine and the words of its threads, which callers in C use,
	// too. The words on which callers sleep are in this PE's control page.
	Front wake.Words

	Chaos       *chaos.Plan  // nil: the network is as it is
	Trace       *trace.File  // nil: nothing is traced
	Show        nvtx.Show    // ranges of proxies; nil: they are not shown
	Watch       *watch.Watch // the engines call it with reports on other PEs, and hold their lock meanwhile
	DriverWatch *watch.DriverWatch
}

// GPU is this PE's GPU, as a network uses it.
type GPU struct {
	Device *cuda.Device    // nil: this PE uses none
	Heap   *devmem.Segment // nil: this PE's heap is in main memory
	NICs   *Registry       // lets NICs reach that heap; nil: none may
	// Unit returns the kernels that apply atomic operations to GPU memory, loaded in the CUDA context
	// of a device.
	Unit func(*cuda.Device) (*amo.Unit, error)
}

// Network has the engines of this PE, with their loops.
type Network struct {
	Config

	// Engine serves the callers in C. Engines begins with it, and has one for each thread that
	// serves rings.
	Engine  *proxy.Engine
	Engines []*proxy.Engine
	// RegistersBuffers reports whether each operation registers its own buffer.
	RegistersBuffers bool

	stages     []*gpustage.Stage // of the engines; nil: no PE has GPU memory
	loops      []*loop.Loop      // of the engines, as they run
	tracks     []*trace.Track    // of each engine; nil: nothing is traced
	cache      string            // describes the registration cache for the banner; "": none is needed
	notes      []string          // options that the NICs accepted or refused when they were opened, for the banner
	tiles      []int             // for each PE, the largest tile that writes to its heap keep
	fabric     string            // of the NICs; "": the provider has no names for fabrics
	ownContext bool              // proxies copy in a context of the library's own
}

// New returns a network without engines.
func New(c Config) *Network { return &Network{Config: c} }

// inGPU reports whether this PE's heap is in GPU memory.
func (nw *Network) inGPU() bool { return nw.Heaps.Kinds[nw.Me] == config.HeapDevice }

// Close ends the loops and closes the engines. On a nil nw it does nothing.
func (nw *Network) Close() error {
	if nw == nil {
		return nil
	}
	for _, l := range nw.loops {
		l.Stop()
	}
	nw.loops = nil
	var errs []error
	for i, e := range nw.Engines {
		if n := e.Report.Belated(); n > 0 {
			nw.Log.Printf("fabric", config.LogDebug, "endpoint %d: dropped %d requests and words of PEs that came after others had taken their place", i, n)
		}
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}

// Open opens the endpoints, exchanges their addresses and starts the proxies. All endpoints are
// opened now, even if no rings are made later: opening one later would be collective.
func (nw *Network) Open() error {
	files, err := countFiles()
	if err != nil {
		return err
	}
	if err := nw.checkFiles(files, 1); err != nil { // before the NICs are known: it needs one at least
		return err
	}
	nics, err := nw.chooseNICs()
	if err != nil {
		return err
	}
	defer nics.Close()
	if err := nw.checkFiles(files, len(nics.NICs())); err != nil {
		return err
	}
	nw.warnOfFiles(files, len(nics.NICs()))
	for i := range nw.JobInfo.Proxies {
		if err := nw.openEngine(nics, i); err != nil {
			return err
		}
	}
	all, err := nw.exchangeEndpoints()
	if err != nil {
		return err
	}
	nw.agreeTiles(all)
	for i, e := range nw.Engines {
		ends, err := nw.connect(i, all)
		if err != nil {
			return err
		}
		nw.Log.Printf("fabric", config.LogDebug, "endpoint %d: %s", i, windows(nw.NPEs, e, ends))
	}
	if err := nw.checkAddresses(all); err != nil {
		return err
	}
	for i, e := range nw.Engines {
		l := loop.New(e)
		nw.loops = append(nw.loops, l)
		nw.Place.BindProxy(l, firstNIC(e), i)
		guard.GoPolling(fmt.Sprintf("the proxy of endpoint %d", i), l.Run)
	}
	// No PE sends before all PEs receive.
	if err := nw.Boot.Barrier(); err != nil {
		return err
	}
	return nw.contact(all)
}

// windows returns a text for the log: how many numbered writes each PE may have under way to
// another, and which PE's queue sets that bound.
func windows(npes int, e *proxy.Engine, all []proxy.Endpoint) string {
	least := -1
	for pe := range all {
		if len(all[pe].Addr) > 0 && (least < 0 || all[pe].Window < all[least].Window) {
			least = pe
		}
	}
	if w := e.WriteWindow(); w > 0 {
		return fmt.Sprintf("each of %d PEs may have %d numbered writes in flight to each other PE: that is the room at PE %d", npes, w, least)
	}
	const number = 4 // bytes of the immediate data in which a write carries its number
	if c := e.Caps(); c.SendAfterWrite || c.Data < number {
		return "writes need no numbers, or cannot have any"
	}
	return fmt.Sprintf("writes have no numbers: the queue of PE %d has no room for one write of each of %d PEs", least, npes)
}

// openEngine opens the provider of endpoint i and makes the engine on it. Callers in C use the
// first engine, under the lock of the front. Each of the others has its own lock and words, and
// wakes the same sleepers.
func (nw *Network) openEngine(nics *nics, i int) error {
	track := nw.Trace.Track(i)
	nw.tracks = append(nw.tracks, track)
	prov, err := nw.openProvider(nics, i, track)
	if err != nil {
		return err
	}
	nw.Log.Printf("fabric", config.LogDebug, "endpoint %d: %+v", i, prov.Caps())
	if c := prov.Caps(); nw.JobInfo.SeveralNetworks && c.Domain == "lo" {
		return errors.Join(fmt.Errorf("open network %s on lo: PEs of other hosts cannot reach it (bring a network interface up, or name one in SHMEM_NIC_LIST)",
			providerName(nw.Settings.Provider, c.Provider)), prov.Close())
	}
	plan := nw.Plan
	user := nw.Heaps.Of(nw.Me)
	segment := mem.Segment{
		Base: unsafe.Add(user, -int(plan.Internal)), Internal: plan.Internal, Size: plan.Internal + plan.Heap,
	}
	segment.RoundsOffset, segment.RoundsSize = nw.Layout.Rounds()
	if nw.inGPU() {
		segment.Heap = nw.Heaps.Own()
	}
	wakers := nw.Front
	wakers.Sleepers, wakers.Wakes = area.Words(user)
	if i > 0 {
		words := new([3]uint32)
		wakers.Lock, wakers.Pollers, wakers.Napping, wakers.Wanted = &words[0], &words[1], &words[2], nil
	}
	e, err := proxy.New(prov, int(nw.Me), nw.NPEs, segment, wakers, nw.Fatal)
	if err != nil {
		return err
	}
	e.CountNotifications(-libshmem.Offset(nw.Layout.NotifyOffset), nw.Settings.NotifyCount+area.EagerCounters(nw.Settings.NotifyCount))
	e.Report.NameProvider(providerName(nw.Settings.Provider, prov.Caps().Provider))
	e.Report.ReportTo(func(err error) { nw.Report(err.Error()) })
	nw.stages = append(nw.stages, nil)
	if nw.Engines = append(nw.Engines, e); i == 0 {
		nw.Engine = e
	}
	nw.keepRegistered(e)
	e.OnLost(nw.Watch.Unreachable)
	e.Report.OnActivityRequest(nw.Watch.OwnActivity, nw.Watch.StoreActivity)
	if err := nw.stage(e); err != nil || nw.GPU.NICs == nil {
		return err
	}
	return nw.GPU.NICs.Open(&nicEndpoint{e, nw.stages[i]}, nw.GPU.Heap.Extents())
}

// stage makes the GPU stage of the last engine, if this PE has a GPU: in a context of the library's
// own if needsOwnContext says so, else in the program's. With a context of its own, atomic
// operations are tried in the program's context, too (gpustage.Quick), where they start at once
// beside the program's kernels.
func (nw *Network) stage(e *proxy.Engine) error {
	if nw.GPU.Device == nil {
		return nil
	}
	name := fmt.Sprintf("the proxy of endpoint %d", len(nw.Engines)-1)
	dev := nw.GPU.Device.For(name)
	var quick *gpustage.Quick
	ownContext := nw.needsOwnContext(e.Caps())
	// CopiesInOwnContext is true only if all engines have a context of the library's own.
	nw.ownContext = ownContext && (len(nw.Engines) == 1 || nw.ownContext)
	if ownContext {
		inProgram, err := nw.atomicsOf(nw.GPU.Device.For(name))
		if err != nil {
			return err
		}
		quick = &gpustage.Quick{Dev: inProgram.Dev, Kernels: inProgram}
		if dev, err = nw.GPU.Device.OwnContext(name); err != nil {
			return err
		}
	}
	atomics, err := nw.atomicsOf(dev)
	if err != nil {
		return err
	}
	last := len(nw.Engines) - 1
	memory, err := gpustage.NewMemory(dev, atomics, quick)
	if err != nil {
		return err
	}
	memory.TraceTo(nw.tracks[last])
	if err := nw.useStage(last, memory); err != nil {
		return err
	}
	s := nw.stages[last]
	nw.DriverWatch.DriverCall(name, s.DriverCall)
	nw.DriverWatch.Streams(name, ownContext, s.Undone)
	return nil
}

// atomicsOf returns the unit for atomic operations in the context of a device.
func (nw *Network) atomicsOf(dev *cuda.Device) (amo.DeviceUnit, error) {
	u, err := nw.GPU.Unit(dev)
	return amo.DeviceUnit{Unit: u, Dev: dev}, err
}

// needsOwnContext reports whether proxies move bytes of this PE's heap in a context of the
// library's own, so that the program may load kernels while others wait for another PE. Such a
// context costs memory of the GPU. It is left out where it helps little: where the NIC reaches the
// heap, so that only small messages use streams, and where the heap belongs to the program's
// context, to which the driver ties copies of the heap's memory (SHMEM_GPU_SHARE=ipc).
func (nw *Network) needsOwnContext(c fabric.Caps) bool {
	return nw.inGPU() && nw.GPU.Heap.Path() == devmem.VMM && !(nw.GPU.NICs != nil && c.GPU)
}

// CopiesInOwnContext reports whether the proxies copy bytes of this PE in a context of the
// library's own, so that no copy waits for a kernel of the program. Calls on CUDA streams then use
// bounce buffers for operands that are tied to the program's context. A nil network has no proxies.
func (nw *Network) CopiesInOwnContext() bool { return nw != nil && nw.ownContext }

// providerName returns the name of the opened provider for messages. wanted is SHMEM_PROVIDER,
// which may name a family that has another name: libfabric up to 1.17 calls tcp net.
func providerName(wanted, opened string) string {
	base := fabric.Base(opened)
	if first := fabric.Base(wanted); first == "" || strings.EqualFold(first, base) {
		return opened
	}
	return wanted + " by " + opened
}

// exchangeEndpoints sends this PE's endpoints to every PE, and returns those of all.
func (nw *Network) exchangeEndpoints() ([][]meet.EndpointInfo, error) {
	var mine []meet.EndpointInfo
	for i, e := range nw.Engines {
		end := e.Endpoint()
		c := meet.EndpointInfo{Addr: end.Addr, Base: end.Base, Key: end.Key, Window: end.Window, Provider: e.Caps().Provider, Tile: nw.ownTile(i)}
		if s := nw.stages[i]; s != nil {
			gpu := s.Endpoint()
			c.Device, c.Atomics, c.Extents, c.Flushes = gpu.Device, gpu.Atomics, gpu.Extents, gpu.Flushes
		}
		if i == 0 && nw.Nodes.Leader(nw.Me) == nw.Me { // messages name a host by its first PE's entry
			c.Host = nw.hostName()
		}
		mine = append(mine, c)
	}
	b, err := meet.Encode(mine)
	if err != nil {
		return nil, err
	}
	encoded, err := nw.Boot.Allgather(b)
	if err != nil {
		return nil, err
	}
	all, err := meet.DecodeAll[[]meet.EndpointInfo](encoded)
	if err != nil {
		return nil, err
	}
	return all, meet.MatchEndpoints(all, len(mine))
}
