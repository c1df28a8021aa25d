package job

import (
	"libshmem/fabric/chaos"
	"libshmem/runtime/job/network"
	"libshmem/runtime/proxy/wake"
)

// loadNetwork begins to load libfabric, once it is known that PEs will need the network.
func (j *Job) loadNetwork() {
	if j.loaded == nil {
		j.loaded = network.Load(j.Settings)
	}
}

// awaitNetwork waits until libfabric is loaded, if loadNetwork has begun to load it.
func (j *Job) awaitNetwork() {
	if j.loaded != nil {
		j.loaded()
	}
}

// openNetwork opens the network of this PE. It is collective.
func (j *Job) openNetwork(o *Options, plan *chaos.Plan) error {
	c := network.Config{
		Self: &j.Self, JobInfo: j.JobInfo, Plan: j.segment.Plan(), Layout: &j.Layout, Heaps: &j.Heaps, Place: &j.Place,
		Front: wake.Words{Lock: o.Lock, Pollers: o.Pollers, Napping: o.Napping, Wanted: o.Wanted},
		Chaos: plan, Trace: j.trace, Show: j.Ranges.proxy(),
		Watch: j.Watch, DriverWatch: &j.driverWatch,
	}
	if j.GPU != nil {
		j.GPU.NICs = j.nics()
		c.GPU = network.GPU{Device: j.GPU.Device(), Heap: j.GPU.Heap(), NICs: j.GPU.NICs, Unit: j.GPU.Unit}
	}
	j.Network = network.New(c)
	if err := j.Network.Open(); err != nil {
		return err
	}
	j.Engine, j.Engines, j.Watch.Network = j.Network.Engine, j.Network.Engines, j.Network.Peers()
	j.Producers.Network = j.Network
	return nil
}
