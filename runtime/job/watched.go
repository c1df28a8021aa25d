package job

import (
	"net/netip"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/job/process"
	"libshmem/runtime/job/watch"
	"libshmem/runtime/proxy"
	"libshmem/runtime/topo"
)

// lockPatience bounds how long an explanation waits for the engine's lock. A thread that blocks in
// the GPU driver may hold it for long.
const lockPatience = 200 * time.Millisecond

// engineOfPeers is what the first engine knows of other PEs.
type engineOfPeers struct{ e *proxy.Engine }

func (n engineOfPeers) PeerStatus(pe topo.PE, asked bool) (text string, had bool) {
	had = n.e.TryLocked(lockPatience, func() { text = n.e.Report.PeerStatus(fabric.PE(pe), asked) })
	return text, had
}

func (n engineOfPeers) Probe(doing, there []topo.PE) {
	n.e.TryLocked(lockPatience, func() {
		for _, pe := range doing {
			n.e.Report.Probe(fabric.PE(pe))
			n.e.Ask(fabric.PE(pe))
		}
		for _, pe := range there {
			n.e.Report.Probe(fabric.PE(pe))
		}
	})
}

func (n engineOfPeers) Ping(pe topo.PE) (sent, had bool) {
	st := proxy.Done
	had = n.e.TryLocked(lockPatience, func() { st = n.e.Ping(fabric.PE(pe)) })
	return st == proxy.Done, had
}

func (n engineOfPeers) Socket(pe topo.PE) (netip.AddrPort, bool) {
	return n.e.Report.Socket(fabric.PE(pe))
}

// newWatch returns what this PE knows of the others, before there is a network.
func (j *Job) newWatch(o *Options, processes []process.Process) *watch.Watch {
	return watch.New(watch.Config{
		Peers:    watch.Peers{Me: j.Me, Nodes: j.Nodes, Processes: processes, Boot: j.boot, Doing: o.Doing, Driver: j.driverWatch.Explain},
		Survives: j.Config.OnFailure == config.ReturnOnFailure, Timeout: j.Config.Timeout, Log: j.log, Report: j.Report, Fatal: j.fatal,
		Fails: func(pe topo.PE, fate string) { j.fatal(&proxy.LostError{PE: fabric.PE(pe), Reason: fate}) },
	})
}

// Begin begins to watch the other PEs and the GPU's driver. It calls lose for each PE that is lost,
// from one thread; then the Job goes on without it. asked counts the reports that have been asked
// for. It returns a descriptor to which a number is written when that count changes; 0: there is no
// thread. Begin comes after Start.
func (j *Job) Begin(lose func(topo.PE), asked func() uint32) (fd int) {
	j.watchDriver(asked)
	return j.Watch.Begin(func(pe topo.PE, fate string) {
		lose(pe)
		for _, e := range j.Engines {
			e.Locked(func() { e.Lose(fabric.PE(pe), fate) })
		}
		// What kernels wait for may never happen.
		j.Stopper.Lost()
	}, asked)
}
