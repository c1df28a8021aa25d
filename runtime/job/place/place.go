// Package place finds how this process was started and where it runs: the bootstrap to its job, its
// NICs, and the processors of its threads. It reads the machine once, and only if there is
// something to decide. The topology itself is in runtime/topo, the bootstraps are below
// runtime/bootstrap. One thread uses a Place at a time.
package place

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"libshmem"
	"libshmem/fabric/ofi"
	"libshmem/runtime/config"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
	"libshmem/runtime/topo/hwloc"
)

// Machine returns the topology of this machine. The first call reads it, by hwloc or else from
// /sys. If hwloc fails, the error says why, also where /sys works. If both fail, the topology has
// no devices: NICs are still shared out, without regard to distance.
var Machine = sync.OnceValues(func() (*topo.Machine, error) {
	m, err := hwloc.Read()
	if err != nil {
		var sysErr error
		if m, sysErr = topo.ReadSys(""); sysErr != nil {
			m, err = &topo.Machine{Source: "this machine, unknown"}, errors.Join(err, sysErr)
		}
	}
	m.Only(topo.GPUsHere("")) // a container sees the PCI devices of GPUs that it may not use
	return m, err
})

// Settings are the settings that decide on the choice of NICs.
type Settings struct {
	List    topo.List    // SHMEM_NIC_LIST
	Mapping topo.Mapping // SHMEM_NIC_PE_MAPPING; nil if there is a list, which has precedence
	InTurn  bool         // PEs get the NICs round robin, not by nearness
	Both    bool         // there are a list and a mapping
}

// ReadSettings parses the settings for NICs, and returns an error for malformed ones. A list of
// NICs comes before a mapping; Both says that both are set.
func ReadSettings(cfg *config.Config) (s Settings, err error) {
	s.InTurn = cfg.NICInTurn
	if s.List, err = topo.ParseList(cfg.NICs); err != nil {
		return s, err
	}
	s.Mapping, err = topo.ParseMapping(cfg.NICMap)
	if len(cfg.NICs) > 0 {
		s.Both, s.Mapping = s.Mapping != nil, nil
	}
	return s, err
}

// Hints returns the hints for libfabric. They include GPU support if the settings put the heap into
// GPU memory by name; if they leave the choice open, the job decides later.
func (s *Settings) Hints(cfg *config.Config) ofi.Hints {
	h := ofi.Hints{Provider: cfg.Provider, Fabric: cfg.Fabric.Named(), NICs: s.List.String(), GPU: cfg.Heap == config.HeapDevice && cfg.GPUNet.Reaches()}
	if s.Mapping != nil {
		h.NICs, h.Setting = strings.Join(s.Mapping.Names(), ","), "SHMEM_NIC_PE_MAPPING"
	}
	return h
}

// Named reports whether the settings name the NICs to use.
func (s *Settings) Named() bool {
	return s.Mapping != nil || len(s.List.Names) > 0 && !s.List.Except
}

// Allows reports whether the settings allow a NIC.
func (s *Settings) Allows(nic string) bool {
	if s.Mapping != nil {
		return slices.ContainsFunc(s.Mapping.Names(), func(name string) bool { return topo.SameName(nic, name) })
	}
	return len(s.List.Names) == 0 || s.List.Except != slices.ContainsFunc(s.List.Names, func(name string) bool { return topo.SameName(nic, name) })
}

// Request returns the request to the topology for a plan that shares the NICs that libfabric offers
// among the PEs pes. NIC i of the request is nics[order[i]]. Over IP, where a PE otherwise uses one
// interface, each PE uses all NICs (Together) if the user has listed them.
func (s *Settings) Request(nics []ofi.NIC, pes []topo.Process) (r topo.Request, order []int) {
	named := s.Named()
	r = topo.Request{PEs: pes, All: named, InTurn: s.InTurn, Mapping: s.Mapping}
	order = make([]int, len(nics))
	for i := range order {
		order[i] = i
	}
	if !named {
		slices.SortStableFunc(order, func(a, b int) int { return topo.Natural(nics[a].Name, nics[b].Name) })
	}
	for _, i := range order {
		r.NICs = append(r.NICs, topo.NIC{Name: nics[i].Name, PCI: nics[i].PCI})
	}
	overIP := !slices.ContainsFunc(nics, func(n ofi.NIC) bool { return !n.IP })
	r.Together = overIP && len(nics) > 0 && named && !s.InTurn && s.Mapping == nil
	return r, order
}

// Neighbour is a PE that sees the same NICs as this one: it runs in the same network namespace of
// the same kernel, even if it simulates another host.
type Neighbour struct {
	PE libshmem.PE
	topo.Process
}

// Place describes where this PE runs, and which devices are near. One thread uses it at a time.
type Place struct {
	Me         libshmem.PE
	GPU        string      // address of this PE's GPU; "": it has none
	Neighbours []Neighbour // this PE included
	Sharing    int         // PEs of the job on this machine, this one included
	Bind       config.Bind
	Launched   Launched // the processors that shmemrun has chosen
	Log        *shmlog.Log

	nicChoice string  // how NICs were chosen, for the banner
	bound     binding // the change by BindPE
}

// LearnGPUs stores which GPUs the neighbours have, from the addresses that all PEs of the job sent.
func (p *Place) LearnGPUs(all [][]byte) {
	for i := range p.Neighbours {
		n := &p.Neighbours[i]
		n.GPU = string(all[n.PE])
	}
}

// NICChoice returns how NICs were chosen, as the banner prints it; "" if there was nothing to
// choose.
func (p *Place) NICChoice() string { return p.nicChoice }

// Pick chooses this PE's NICs from the NICs that it could use, and returns their indexes. It reads
// the machine only if there is something to decide.
func (p *Place) Pick(machine func() (*topo.Machine, error), s *Settings, nics []ofi.NIC) ([]int, error) {
	me := 0
	var pes []topo.Process
	for i, n := range p.Neighbours {
		if pes = append(pes, n.Process); n.PE == p.Me {
			me = i
		}
	}
	r, order := s.Request(nics, pes)
	if r.Together {
		return order, nil
	}
	m, err := machine()
	if err != nil {
		p.Log.Printf("fabric", config.LogInfo, "%v", err)
	}
	plan, err := m.Plan(r)
	if err != nil {
		return nil, err
	}
	var picked []int
	var farthest topo.Class
	for _, nic := range plan[me] {
		picked = append(picked, order[nic.NIC])
		farthest = max(farthest, nic.Class)
		p.Log.Printf("fabric", config.LogInfo, "takes NIC %s: %s, %s: %s", r.NICs[nic.NIC].Name, nic.Class.Short(), nic.Class, nic.Why)
	}
	switch {
	case s.Mapping != nil:
		p.nicChoice = ", by SHMEM_NIC_PE_MAPPING"
	case s.InTurn:
		p.nicChoice = ", in turn"
	default:
		p.nicChoice = fmt.Sprintf(", of %d NICs by nearness: %s", len(nics), farthest.Short())
	}
	return picked, nil
}

// Alone returns a function that picks NICs for a process that knows of no others on its machine: the
// nearest to its GPU, whose PCI address is gpu, or without one to its processors. Processes with
// different GPUs share the NICs out all the same, because the plan has all GPUs of the machine.
func Alone(machine func() (*topo.Machine, error), s *Settings, gpu string) func(nics []ofi.NIC) ([]int, error) {
	p := &Place{Neighbours: []Neighbour{{0, topo.Process{GPU: gpu, CPUs: topo.Allowed()}}}}
	return func(nics []ofi.NIC) ([]int, error) { return p.Pick(machine, s, nics) }
}

// Remark warns of settings that have no effect: a mapping beside a list, and names in the list that
// no NIC has.
func (p *Place) Remark(s *Settings, taken []string) {
	if p.Me != 0 {
		return
	}
	if s.Both {
		p.Log.Printf("fabric", config.LogWarn, "SHMEM_NIC_PE_MAPPING is ignored: SHMEM_NIC_LIST=%s comes first (unset one of them)", s.List)
	}
	if s.List.Except || p.nicChoice != "" {
		return // the other NICs of the list belong to other PEs
	}
	for _, name := range s.List.Names {
		if !slices.ContainsFunc(taken, func(nic string) bool { return topo.SameName(nic, name) }) {
			p.Log.Printf("fabric", config.LogWarn, "SHMEM_NIC_LIST names %s, which is not a NIC that can be used with %s (shmem-info --fabric lists them)", name, strings.Join(taken, ", "))
		}
	}
}
