package job

import (
	"fmt"

	"libshmem/fabric/chaos"
	"libshmem/runtime/job/network"
	"libshmem/runtime/proxy/wake"
)

// planChaos reads the faults to inject, before this PE has anything that others wait for.
func (j *Job) planChaos() error {
	text := j.Config.Chaos
	if text == "" {
		return nil
	}
	plan, err := chaos.Parse(text)
	if err == nil {
		err = plan.Check(j.NPEs)
	}
	if err != nil {
		return fmt.Errorf("read setting SHMEM_CHAOS=%q: %w", text, err)
	}
	j.chaos = &plan
	return nil
}

// openNetwork opens the network of this PE. It is collective.
func (j *Job) openNetwork(o *Options) error {
	j.Network = network.New(network.Config{
		Me: j.Me, NPEs: j.NPEs, Nodes: j.Nodes, Settings: j.Config, Boot: j.boot, Proxies: j.met.Proxies, Apart: j.met.Apart,
		Plan: j.segment.Plan(), Heaps: &j.Heaps, GPU: j.GPU, Place: &j.Place,
		Front: wake.Words{Lock: o.Lock, Pollers: o.Pollers, Napping: o.Napping, Wanted: o.Wanted},
		Chaos: j.chaos, Trace: j.trace, Show: j.Ranges.proxy(),
		Watch: j.Watch, DriverWatch: &j.driverWatch, Log: j.log, Report: j.Report, Fatal: o.Fatal,
	})
	if err := j.Network.Open(); err != nil {
		return err
	}
	j.Engine, j.Engines, j.Watch.Network = j.Network.Engine, j.Network.Engines, j.Network.Peers()
	return nil
}
