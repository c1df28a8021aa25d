package job

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"libshmem"
	"libshmem/fabric/chaos"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/config"
	"libshmem/runtime/heap"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/heap/hostmem"
	"libshmem/runtime/job/area"
	"libshmem/runtime/job/device"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/job/network"
	"libshmem/runtime/job/place"
	"libshmem/runtime/job/watch"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmerr"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/statuspage"
	"libshmem/runtime/topo"
	"libshmem/runtime/trace"
)

// Options is what the C code passes to Start.
type Options struct {
	Environ []string     // "NAME=value", the environment of C at this moment
	Lock    *uint32      // the lock of the first engine
	Pollers *uint32      // number of callers that poll the network by themselves
	Napping *uint32      // 1 while the first engine's proxy thread sleeps because callers poll
	Wanted  *uint32      // number of threads that wait for the lock
	Kernels bool         // the program has kernels that use the library
	Statics meet.Statics // the program's, as the front has found them
	Given   place.Given  // the arguments of shmemx_init_attr
	// Nvshmem reports that the program has used the names of NVSHMEM to initialise. If so,
	// NVSHMEM's variables are settings, too, the program has kernels of its own, and its heap grows
	// to the size of the GPU's memory.
	Nvshmem bool
	Ranges  Ranges // shows ranges to a profiler
	// Activity returns the activity of a PE of this node, as the end of a sentence whose subject is
	// the PE, or "". The bits of area.How select what else the text says. Any goroutine may call it
	// until Close returns.
	Activity  func(libshmem.PE, area.How) string
	Finalized func()      // called when this PE needs no other PE to finalize
	Fatal     func(error) // ends the job
	Stderr    io.Writer
}

// Job is what one PE keeps about a running job.
type Job struct {
	meet.Self
	Layout area.Layout
	Heap   *heap.Heap
	Heaps  meet.Heaps // of every PE, as this one reaches them
	// Network is nil if all PEs share memory.
	Network *network.Network
	// Engine serves the callers in C; it is nil if all PEs share memory. Engines begins with it,
	// and has one for each thread that serves rings.
	Engine  *proxy.Engine
	Engines []*proxy.Engine
	Place   place.Place // where this PE runs
	// GPUFirst has, for each PE, the first PE with the same GPU.
	GPUFirst []libshmem.PE
	// GPU is nil if this PE uses no GPU.
	GPU *device.GPU

	heap config.HeapKind // of this PE
	// Producers are the kernels, threads with rings and CUDA streams of this PE.
	Producers *device.Producers
	JobInfo   *meet.JobInfo // what follows from the peer info of all PEs

	loaded func() // waits until libfabric is loaded; nil: it is not being loaded

	// Watch knows the other PEs and watches them.
	Watch       *watch.Watch
	driverWatch watch.DriverWatch
	finalized   func()  // Options.Finalized; nil: not called
	leaving     leaving // the progress of Leave

	Ranges   Ranges      // shown to a profiler
	trace    *trace.File // nil: nothing is traced
	segment  *hostmem.Segment
	Counters Counters
	// Live is the part of the status page that shows this PE to other processes.
	Live *statuspage.PE
	page *statuspage.Page // the page that contains Live
}

// otherFirst is how long a PE that failed because it lost another one waits before it reports that.
// The launcher ends the job with the first reason that it receives, and the other PE has the better
// one.
const otherFirst = time.Second

// Start brings this PE into its job. It returns when every PE can be reached. After an error
// everything is undone.
func Start(o Options) (*Job, error) {
	read := config.Parse
	if o.Nvshmem {
		read = config.ParseNvshmem
	}
	cfg, warnings, err := read(o.Environ)
	if err != nil {
		return nil, err
	}
	if _, err := place.ReadSettings(cfg); err != nil {
		return nil, err // even if no network is needed
	}
	j := &Job{Self: meet.Self{Settings: cfg, Fatal: o.Fatal}, Ranges: o.Ranges, finalized: o.Finalized}
	if err := j.Ranges.open(cfg.Ranges); err != nil {
		return nil, err
	}
	if err := j.start(o, warnings); err != nil {
		if errors.Is(err, shmerr.ErrPeerLost) {
			// The launcher ends the job with the first reason that it receives,
			// and the PE that was lost has the better one.
			time.Sleep(otherFirst)
		}
		if f, ok := j.Boot.(bootstrap.Failer); ok {
			f.Fail() // reports the failure to the launcher and the other PEs
		}
		return nil, errors.Join(err, j.release())
	}
	return j, nil
}

// start brings this PE into its job, like Start, but does not clean up after an error.
func (j *Job) start(o Options, warnings []config.Warning) error {
	var err error
	if j.Log, err = shmlog.Open(j.Settings, o.Stderr); err != nil {
		return err
	}
	if j.Settings.Ranges != 0 && j.Ranges.live == 0 {
		j.Log.Printf("pe", config.LogInfo, "SHMEM_NVTX: no profiler listens, nothing is shown (one sets NVTX_INJECTION64_PATH)")
	}
	if place.SeveralHosts(j.Settings, o.Environ, o.Given) {
		j.loadNetwork()
	}
	// Libraries that are being loaded replace signal handlers for a time, so Start does not return
	// before they are loaded.
	defer func() { j.awaitNetwork() }()
	if j.Boot, err = place.OpenBootstrap(j.Settings, o.Environ, o.Given, j.Log); err != nil {
		return err
	}
	j.Me, j.NPEs = j.Boot.Rank(), j.Boot.Size()
	j.Log.SetPE(j.Me)
	launched, err := place.ReadLaunched(&j.Settings.Launcher)
	if err != nil {
		return err
	}
	j.Place = place.Place{Me: j.Me, Bind: j.Settings.Bind, Launched: launched, Log: j.Log}
	plan, err := chaos.Read(j.Settings.Chaos, j.NPEs)
	if err != nil {
		return err
	}
	if j.trace, err = openTrace(j.Settings.Trace, j.Me); err != nil {
		return err
	}
	if err := j.chooseHeap(o.Kernels || o.Nvshmem); err != nil {
		return err
	}
	// A heap grows only if the driver maps it chunk by chunk, which it does not with CUDA IPC.
	if o.Nvshmem && j.heap == config.HeapDevice && j.Settings.GPUShare != config.GPUShareIPC && j.GPU.Maps() {
		j.Settings.Reserve(growingHeap)
	}
	if j.Me == 0 {
		for _, w := range warnings {
			j.Log.Say("config", config.LogWarn, w.String())
		}
		if err := inform(j.Settings, o.Stderr); err != nil {
			return err
		}
	}
	if err := j.shareMemory(&o, o.Statics.Allowed(j.Settings.Statics)); err != nil {
		return err
	}
	if err := j.openPage(); err != nil {
		return err
	}
	needed, err := j.needsNetwork()
	if err != nil {
		return err
	}
	j.awaitNetwork()
	if needed {
		if err := j.openNetwork(&o, plan); err != nil {
			return err
		}
	}
	j.Counters = Counters{PEs: j.NPEs, Live: j.Live, StatusPages: j.Network.StatusPages, CountOf: j.Network.CountOf}
	if err := require(j.Settings.Require, j.facts()); err != nil {
		return err
	}
	j.Place.BindHelpers()
	j.Place.BindPE(j.Network.FirstNIC())
	if j.Me == 0 && j.Network != nil && j.Network.ForTests() {
		j.Log.Say("fabric", config.LogWarn, j.Network.Warning())
	}
	if j.Me == 0 && j.Settings.Banner() {
		j.Log.Say("pe", config.LogInfo, j.banner())
		if names := nvshmemLibraries(); o.Nvshmem && names != "" {
			j.Log.Say("pe", config.LogInfo, names)
		}
		if how := j.Settings.Launcher.Binding; how != "" {
			j.Log.Say("pe", config.LogInfo, "PEs are "+how)
		}
	}
	if j.Me == 0 && j.Network != nil && j.Log.Enabled("coll", config.LogDebug) {
		j.Log.Say("coll", config.LogDebug, fmt.Sprintf("collective calls between hosts: SHMEM_COLLECTIVES=%v, %s: %v",
			j.JobInfo.Collectives, j.Network.Provider(), j.Network.Wire()))
	}
	return j.printMap()
}

// openTrace creates the trace file that SHMEM_TRACE names; it returns nil if that is not set.
func openTrace(name string, me libshmem.PE) (*trace.File, error) {
	if name == "" {
		return nil, nil
	}
	host, _ := os.Hostname() // "" if it is not known
	return trace.Create(trace.Name(shmlog.Expand(name), me), me, host)
}

// inform prints the version if SHMEM_VERSION is set, and the settings if SHMEM_INFO is.
func inform(cfg *config.Config, w io.Writer) error {
	if cfg.Version {
		fmt.Fprintf(w, "shmem: libshmem %s, OpenSHMEM 1.6\n", libshmem.Version)
	}
	if cfg.Info {
		return cfg.Print(w)
	}
	return nil
}

// shareMemory exchanges peer info with all PEs, from which it learns where each of them runs, and
// maps the symmetric memory of this node.
func (j *Job) shareMemory(o *Options, found meet.Statics) error {
	host, err := topo.HostID(j.Settings.HostID)
	if err != nil {
		return err
	}
	if j.Settings.Chaos != "" {
		// Faults are injected into the network, so each PE counts as a host of its own and uses it.
		host = fmt.Sprintf("%s, PE %d alone", host, j.Boot.Rank())
	}
	network, err := topo.HostID("") // without SHMEM_HOST_ID, which can simulate several hosts
	if err != nil {
		return err
	}
	// Whether this PE is the first of its node is known only after the
	// exchange; having the socket by then saves a second exchange.
	listener, err := hostmem.Listen(j.NPEs)
	if err != nil {
		return err
	}
	defer listener.Close()
	listener.Guard(j.Boot.Secret(), j.warn)
	own := meet.Info{
		Version: libshmem.Version, Host: host, Machine: topo.MachineID(), Network: network,
		Heap: j.Settings.SymmetricSize, Kind: j.heap, Socket: listener.Name(), Proxies: j.Settings.ProxyThreads,
		Counters:  j.Settings.NotifyCount,
		Messages:  j.Settings.MessageMemory,
		Statics:   found,
		OnFailure: j.Settings.OnFailure, Process: meet.OwnProcess(),
		Stats: j.Settings.Stats != config.StatsOff, Map: j.wantsMap(), CPUs: topo.Allowed(),
		Collectives: j.Settings.Collectives,
	}
	var deviceListener *devmem.Listener
	if j.heap == config.HeapDevice {
		if deviceListener, err = devmem.Listen(j.NPEs); err != nil {
			return err
		}
		defer deviceListener.Close()
		deviceListener.Guard(j.Boot.Secret(), j.warn)
		own.Device = deviceListener.Name()
	}
	mine, err := meet.Encode(own)
	if err != nil {
		return err
	}
	all, err := j.Boot.Allgather(mine)
	if err != nil {
		return err
	}
	infos, err := meet.DecodeAll[meet.Info](all)
	if err != nil {
		return err
	}
	if j.JobInfo, err = meet.Meet(infos, j.Me, j.Settings.Statics); err != nil {
		return err
	}
	j.Layout, j.Nodes = area.New(j.NPEs, j.JobInfo.Statics.Size, j.Settings.NotifyCount, j.Settings.MessageMemory), j.JobInfo.Nodes
	if len(j.Nodes.Members) > 1 {
		j.loadNetwork()
	}
	j.Place.Sharing, j.Place.Neighbours = j.JobInfo.Sharing, j.JobInfo.Neighbours
	j.Watch = j.newWatch(o)
	if err := j.mapSegment(listener, infos); err != nil {
		return err
	}
	j.Heaps = meet.Heaps{
		Me: j.Me, Nodes: j.Nodes, Kinds: j.JobInfo.Kinds, Segment: j.segment, DisableP2P: j.Settings.DisableP2P, Copy: j.Settings.GPUNet == config.GPUNetCopy,
	}
	if j.GPU != nil {
		if err := j.openGPU(deviceListener, infos); err != nil {
			return err
		}
	}
	if j.GPUFirst, err = j.sharers(); err != nil {
		return err
	}
	j.Producers = j.newProducers()
	if err := j.Producers.Reserve(); err != nil {
		return err
	}
	j.Producers.OpenTeams()
	return nil
}

// newProducers returns the producers of this PE, without rings and kernels so far.
func (j *Job) newProducers() *device.Producers {
	return device.NewProducers(device.ProducersConfig{
		Self:     &j.Self,
		Internal: j.segment.Plan().Internal, Size: j.segment.Plan().Heap, Areas: j.Layout.Teams, Notify: j.Layout.NotifyOffset,
		Heap: j.Heap, Commit: j.Commit, Heaps: &j.Heaps, GPU: j.GPU, Staged: j.staged, DriverWatch: &j.driverWatch,
	})
}

// warn logs a problem of the bootstrap while the PEs join the job, such as a connection from a
// process that is not a PE.
func (j *Job) warn(text string) { j.Log.Printf("bootstrap", config.LogWarn, "%s", text) }

// mapSegment maps the segment with the internal areas and main-memory heaps of this node. The first
// PE of the node creates the segment's file and hands the descriptor to the others.
func (j *Job) mapSegment(listener *hostmem.Listener, infos []meet.Info) error {
	peers := j.Nodes.Peers(j.Me)
	plan := hostmem.NewPlan(j.Layout.Internal, j.Settings.SymmetricSize, len(peers))
	plan.Sparse = area.RoundUp(j.JobInfo.Statics.Size, area.Page)
	var err error
	if leader := j.Nodes.Leader(j.Me); leader == j.Me {
		j.segment, err = hostmem.Create(plan)
		if err == nil {
			var others []libshmem.PE
			for _, pe := range peers {
				if pe != j.Me {
					others = append(others, pe)
				}
			}
			err = listener.Serve(j.segment, others, j.Settings.BootstrapTimeout)
		}
	} else {
		from := hostmem.Source{Name: infos[leader].Socket, Owner: leader, Me: j.Me, Secret: j.Boot.Secret()}
		j.segment, err = hostmem.Receive(from, plan, j.Settings.BootstrapTimeout)
	}
	if err == nil {
		err = j.segment.Map()
	}
	if err != nil {
		return err
	}
	if j.JobInfo.Statics.Size == 0 {
		j.Log.Printf("heap", config.LogInfo, "the program's globals and statics are not symmetric: %s", j.JobInfo.Statics.Cause)
	}
	j.Log.Printf("heap", config.LogDebug, "%d PEs of host %d share %s of address space, %d bytes of each PE are the library's own",
		len(peers), j.Nodes.Node(j.Me), config.FormatSize(plan.Total()), plan.Internal-plan.Sparse)
	j.Heap, err = heap.New(plan.Heap, plan.Align)
	return err
}

// Explain logs the reason why an allocation of the program returns NULL.
func (j *Job) Explain(err error) { j.Log.Printf("heap", config.LogInfo, "%v", err) }

// Statics returns the program's statics and the place to which the front moves them, so that they
// are symmetric. It returns false if they stay where they are; the first result has the reason.
func (j *Job) Statics() (meet.Statics, meet.StaticsPlace, bool) {
	if j.JobInfo.Statics.Size == 0 {
		return j.JobInfo.Statics, meet.StaticsPlace{}, false
	}
	fd, heapAt := j.segment.Place(j.Nodes.Rank(j.Me))
	return j.JobInfo.Statics, meet.StaticsPlace{File: fd, At: heapAt - j.Layout.StaticsOffset, Offset: -libshmem.Offset(j.Layout.StaticsOffset)}, true
}

// Commit maps memory into all live blocks of the heap. It is collective among the PEs of the node
// with heaps in GPU memory, so the collective step comes first: no earlier step may fail on one PE.
func (j *Job) Commit() error {
	end := j.Heap.End()
	err := j.GPU.Commit(end)
	if err == nil && j.Heaps.InMain() {
		err = j.segment.Commit(end)
	}
	if err == nil {
		err = j.GPU.Reach(end)
	}
	return err
}

// Abort requests the launcher to end the job, and ends the waits of this PE's kernels.
func (j *Job) Abort(status int, reason string) {
	j.Producers.Stopper.End()
	j.Boot.Abort(status, reason)
}

// Exit requests the launcher to end every PE with the status, and ends the waits of this PE's
// kernels.
func (j *Job) Exit(status int) {
	j.Producers.Stopper.End()
	j.Boot.Exit(status)
}

// Close leaves the job in good order, after a barrier of all PEs. This PE serves the network until
// each of the others has come to finalize, because a PE may still wait for a reply from this one.
func (j *Job) Close() error {
	err := errors.Join(j.Producers.CloseRings(), j.printStats())
	j.Watch.Stop()
	// Without a network, too, a PE waits if others watch its process (FromStart): they would take a
	// PE that ends first for lost.
	if j.Network != nil || j.Watch.FromStart() {
		err = errors.Join(err, j.Watch.LeaveBarrier())
	}
	if j.finalized != nil {
		j.finalized()
	}
	return errors.Join(err, j.release())
}

// release undoes Start, at the end of the job or after an error in Start. What Start has not opened
// is nil, and closing that does nothing.
func (j *Job) release() error {
	var errs []error
	j.Place.Unbind()
	j.Watch.Stop()
	errs = append(errs, j.Network.Close(), j.Producers.Close(), j.closeGPU())
	if j.segment != nil {
		if j.JobInfo.Statics.Size > 0 {
			// The statics stay mapped, and keep the segment's file; the heap's memory is freed.
			errs = append(errs, j.segment.Empty(j.Nodes.Rank(j.Me)))
		}
		errs = append(errs, j.segment.Close())
	}
	if j.page != nil {
		errs = append(errs, j.page.Close())
		j.page, j.Live = nil, nil
	}
	if j.Boot != nil {
		errs = append(errs, j.Boot.Close())
	}
	errs = append(errs, j.trace.Close(), j.Log.Close())
	return errors.Join(errs...)
}

// plural returns a count with its word, such as "2 PEs".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// banner returns the line that PE 0 prints at init: version, size of the job, bootstrap, heap and
// network.
func (j *Job) banner() string {
	host, _ := os.Hostname()
	network := "none needed, all PEs share memory"
	if j.Network != nil {
		network = j.Network.Text()
	}
	return fmt.Sprintf("libshmem %s: %s on %s, PE 0 on %s; bootstrap %s; heap %s; network %s",
		libshmem.Version, plural(j.NPEs, "PE"), plural(len(j.Nodes.Members), "host"), host, j.Boot.Name(), j.Heaps.Text(j.Settings.SymmetricSize), network)
}
