package job

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu/amo"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/job/area"
	"libshmem/runtime/job/codec"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/staging"
	"libshmem/runtime/proxy/wake"
)

// openNetwork opens the endpoints, exchanges their addresses and starts the proxies. All endpoints
// are opened now, whether rings come or not: to open one later, every PE would have to take part.
func (j *Job) openNetwork(o Options) error {
	files, err := countFiles()
	if err != nil {
		return err
	}
	if err := j.checkFiles(files, 1); err != nil {
		return err
	}
	nics, err := j.chooseNICs()
	if err != nil {
		return err
	}
	defer nics.Close()
	if err := j.checkFiles(files, len(nics.NICs())); err != nil {
		return err
	}
	j.warnOfFiles(files, len(nics.NICs()))
	for i := range j.proxies {
		if err := j.openEngine(o, nics, i); err != nil {
			return err
		}
	}
	all, err := j.exchangeEndpoints()
	if err != nil {
		return err
	}
	for i, e := range j.Engines {
		ends, err := j.connect(i, all)
		if err != nil {
			return err
		}
		j.log.Printf("fabric", config.LogDebug, "endpoint %d: %s", i, windows(j.NPEs, e, ends))
	}
	for i, e := range j.Engines {
		l := loop.New(e)
		j.loops = append(j.loops, l)
		j.Place.BindProxy(l, firstNIC(e), i)
		go l.Run()
	}
	// No PE sends before all PEs receive.
	return j.boot.Barrier()
}

// windows says, as a text, how many numbered writes each PE may have under way to another, and
// which PE's queue sets that bound.
func windows(npes int, e *proxy.Engine, all []proxy.Endpoint) string {
	least := -1
	for pe := range all {
		if len(all[pe].Addr) > 0 && (least < 0 || all[pe].Window < all[least].Window) {
			least = pe
		}
	}
	if w := e.WriteWindow(); w > 0 {
		return fmt.Sprintf("each of %d PEs may have %d writes with numbers under way to each other one, the room for arrivals at PE %d", npes, w, least)
	}
	if c := e.Caps(); c.SendAfterWrite || c.Data < 4 {
		return "writes need no numbers, or can have none"
	}
	return fmt.Sprintf("writes have no numbers: the queue of PE %d has no room for one of each of %d PEs", least, npes)
}

// openEngine opens the next endpoint. Callers in C use the first, under the lock that the front
// gave. Each of the others has its own lock and words, and wakes the same sleepers.
func (j *Job) openEngine(o Options, nics *nics, i int) error {
	track := j.trace.Track(i)
	j.tracks = append(j.tracks, track)
	prov, err := j.openProvider(nics, i, track)
	if err != nil {
		return err
	}
	j.log.Printf("fabric", config.LogDebug, "endpoint %d: %+v", i, prov.Caps())
	if c := prov.Caps(); j.apart && c.Domain == "lo" {
		return errors.Join(fmt.Errorf("open network %s on lo: PEs of other hosts cannot reach it (bring a network interface up, or name one by SHMEM_NIC_LIST)",
			providerName(j.Config.Provider, c.Provider)), prov.Close())
	}
	plan := j.segment.Plan()
	user := j.Heaps.Of(j.Me)
	segment := mem.Segment{
		Base: unsafe.Add(user, -int(plan.Internal)), Internal: plan.Internal, Size: plan.Internal + plan.Heap,
	}
	if j.heap == config.HeapDevice {
		segment.Heap = j.Heaps.Own()
	}
	sleepers, wakes := area.Words(user)
	wakers := wake.Words{Lock: o.Lock, Pollers: o.Pollers, Napping: o.Napping, Wanted: o.Wanted, Sleepers: sleepers, Wakes: wakes}
	if i > 0 {
		own := new([3]uint32)
		wakers.Lock, wakers.Pollers, wakers.Napping, wakers.Wanted = &own[0], &own[1], &own[2], nil
	}
	e, err := proxy.New(prov, int(j.Me), j.NPEs, segment, wakers, o.Fatal)
	if err != nil {
		return err
	}
	e.Report.NameProvider(providerName(j.Config.Provider, prov.Caps().Provider))
	e.Report.ReportTo(func(err error) { j.Report(err.Error()) })
	j.stages = append(j.stages, nil)
	if j.Engines = append(j.Engines, e); i == 0 {
		j.Engine, j.Watch.Network = e, engineOfPeers{e}
	}
	j.keepRegistered(e)
	e.OnLost(j.Watch.Unreachable)
	e.Report.OnAsked(j.Watch.Says, j.Watch.Hears)
	if err := j.stage(e); err != nil || !j.registers() {
		return err
	}
	return j.register(nicEnd{e, j.stages[i]})
}

// stage gives an engine its GPU stage, if this PE has a GPU.
func (j *Job) stage(e *proxy.Engine) error {
	if j.GPU == nil {
		return nil
	}
	name := fmt.Sprintf("the proxy of endpoint %d", len(j.Engines)-1)
	dev := j.GPU.Device().For(name)
	var quick *staging.Quick
	apart := j.needsApart(e.Caps())
	// NICs of one job may differ: all or none.
	j.GPU.CopiesApart = apart && (len(j.Engines) == 1 || j.GPU.CopiesApart)
	if apart {
		own, err := j.atomicsOf(j.GPU.Device().For(name))
		if err != nil {
			return err
		}
		quick = &staging.Quick{Dev: own.Dev, Kernels: own}
		if dev, err = j.GPU.Device().Apart(name); err != nil {
			return err
		}
	}
	by, err := j.atomicsOf(dev)
	if err != nil {
		return err
	}
	last := len(j.Engines) - 1
	m, err := staging.New(dev, by, quick)
	if err != nil {
		return err
	}
	if err := j.useStage(last, m); err != nil {
		return err
	}
	s := j.stages[last]
	j.driverWatch.DriverCall(name, s.DriverCall)
	j.driverWatch.Streams(name, apart, s.Undone)
	return nil
}

// atomicsOf returns the unit for atomic operations in the context of a device.
func (j *Job) atomicsOf(dev *cuda.Device) (amo.By, error) {
	u, err := j.GPU.Unit(dev)
	return amo.By{Unit: u, Dev: dev}, err
}

// needsApart reports whether proxies move bytes of this PE's heap in a context of the library's
// own, so that the program may load kernels while others wait for another PE. It costs memory of
// the GPU. It is left out where it helps little: where the NIC reaches the heap, so that only small
// messages use streams, and where the heap belongs to the program's context, to which the driver
// ties copies of its memory (SHMEM_GPU_SHARE=ipc).
func (j *Job) needsApart(c fabric.Caps) bool {
	return j.heap == config.HeapDevice && j.GPU.Heap().Path() == devmem.VMM && !(j.registers() && c.GPU)
}

// providerName returns the name of an open provider for messages. SHMEM_PROVIDER may have asked for
// a family, which can have another name: libfabric up to 1.17 calls tcp net.
func providerName(asked, opened string) string {
	base, _, _ := strings.Cut(opened, ";")
	if first, _, _ := strings.Cut(asked, ";"); first == "" || strings.EqualFold(first, base) {
		return opened
	}
	return asked + " by " + opened
}

// exchangeEndpoints sends this PE's endpoints to every PE, and returns those of all.
func (j *Job) exchangeEndpoints() ([][]endpointInfo, error) {
	var mine []endpointInfo
	for i, e := range j.Engines {
		end := e.Endpoint()
		c := endpointInfo{Addr: end.Addr, Base: end.Base, Key: end.Key, Window: end.Window, Provider: e.Caps().Provider}
		if s := j.stages[i]; s != nil {
			gpu := s.Endpoint()
			c.Device, c.Atomics, c.Extents, c.Flushes = gpu.Device, gpu.Atomics, gpu.Extents, gpu.Flushes
		}
		mine = append(mine, c)
	}
	b, err := codec.Encode(mine)
	if err != nil {
		return nil, err
	}
	everybody, err := j.boot.Allgather(b)
	if err != nil {
		return nil, err
	}
	all, err := codec.DecodeAll[[]endpointInfo](everybody)
	if err != nil {
		return nil, err
	}
	return all, match(all, len(mine))
}

// match refuses endpoints that cannot talk to each other.
func match(all [][]endpointInfo, n int) error {
	for pe, infos := range all {
		if len(infos) != n {
			return fmt.Errorf("PE %d opened %d endpoints and another %d (start every PE with the same version of the library)", pe, len(infos), n)
		}
		for _, c := range infos {
			if first := all[0][0]; c.Provider != first.Provider {
				return fmt.Errorf("PE 0 has provider %s and PE %d has %s (name one that all have by SHMEM_PROVIDER)",
					first.Provider, pe, c.Provider)
			}
		}
	}
	return nil
}
