package topo

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"libshmem/runtime/shmerr"
)

// Processors is the part of a machine that decides where a launcher binds PEs. ReadProcessors reads
// one small file for each processor, and of the PCI devices only the GPUs.
type Processors struct {
	Online Set
	Nodes  []Cores // the NUMA nodes that have processors, by number
	GPUs   []Set   // the processors near to each GPU, by address; empty: not known
	Mixed  bool    // cores differ in speed, as those of a laptop may
}

// Cores are the cores of a NUMA node, in the order of their first processors. A core is the set of
// its hyperthreads.
type Cores []Set

// ReadProcessors reads the processors of this machine from /sys, by NUMA node and core, and which
// of them are near to each GPU. Tests pass a folder as root, which is put before the path.
func ReadProcessors(root string) (*Processors, error) {
	s := sysfs(filepath.Join(root, "/sys"))
	p := &Processors{}
	var err error
	if p.Online, err = ParseSet(s.text("devices/system/cpu/online")); err == nil && p.Online == "" {
		err = fmt.Errorf("no processors in %s", s.path("devices/system/cpu/online"))
	}
	if err == nil {
		err = p.readNodes(s)
	}
	if err != nil {
		return nil, &shmerr.Error{
			Op: "read", Object: "processors of this machine in " + string(s), Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err),
			Remedy: "mount sysfs at /sys",
		}
	}
	p.Mixed = len(s.glob("devices/cpu_atom")) > 0
	for _, pci := range GPUsHere(root) {
		near, err := ParseSet(s.text("bus/pci/devices", pci, "local_cpulist"))
		if err != nil {
			near = ""
		}
		p.GPUs = append(p.GPUs, near)
	}
	return p, nil
}

// readNodes reads the NUMA nodes and their cores. A kernel without NUMA has one node.
func (p *Processors) readNodes(s sysfs) error {
	dirs := s.glob("devices/system/node/node[0-9]*")
	number := func(dir string) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "node")) // the pattern lets digits through
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	found := 0
	for _, dir := range dirs {
		cpus, err := ParseSet(s.text("devices/system/node", filepath.Base(dir), "cpulist"))
		if err != nil {
			return err
		}
		if cpus = cpus.And(p.Online); cpus != "" {
			p.Nodes = append(p.Nodes, s.cores(cpus))
			found += cpus.Count()
		}
	}
	switch {
	case len(dirs) == 0: // a kernel without NUMA
		p.Nodes = []Cores{s.cores(p.Online)}
	case found != p.Online.Count():
		return fmt.Errorf("%d of %d processors are on a NUMA node", found, p.Online.Count())
	}
	return nil
}

// cores groups the processors in cpus by core. A processor whose core is not known counts as a core
// of its own.
func (s sysfs) cores(cpus Set) Cores {
	var list Cores
	var known Set
	for _, cpu := range cpus.List() {
		own := NewSet(cpu)
		if own.Within(known) {
			continue
		}
		dir := filepath.Join("devices/system/cpu", "cpu"+strconv.Itoa(cpu), "topology")
		text := s.text(dir, "core_cpus_list")
		if text == "" {
			text = s.text(dir, "thread_siblings_list") // its name before Linux 5.3
		}
		core, err := ParseSet(text)
		if core = core.And(cpus); err != nil || !own.Within(core) {
			core = own
		}
		list, known = append(list, core), known.Or(core)
	}
	return list
}

// Flat returns processors of which only the numbers are known: each is a core of its own, and all
// are of one NUMA node.
func Flat(cpus Set) *Processors {
	p := &Processors{Online: cpus, Nodes: []Cores{nil}}
	for _, cpu := range cpus.List() {
		p.Nodes[0] = append(p.Nodes[0], NewSet(cpu))
	}
	return p
}

// Within returns p without the processors that are not in allowed.
func (p *Processors) Within(allowed Set) *Processors {
	rest := &Processors{Online: p.Online.And(allowed), Mixed: p.Mixed, GPUs: p.GPUs}
	for _, node := range p.Nodes {
		var cores Cores
		for _, core := range node {
			if core = core.And(allowed); core != "" {
				cores = append(cores, core)
			}
		}
		if cores != nil {
			rest.Nodes = append(rest.Nodes, cores)
		}
	}
	return rest
}

// CPUs returns the processors of all cores.
func (c Cores) CPUs() (all Set) {
	for _, core := range c {
		all = all.Or(core)
	}
	return all
}
