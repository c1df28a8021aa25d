package pe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/fabric/chaos"
	"libshmem/fabric/ofi"
	"libshmem/fabric/rail"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy"
	"libshmem/runtime/topo"
)

// nics are the NICs that this PE takes.
type nics struct {
	*ofi.Choice
	several bool // some PE takes more than one, so that all speak as rails do
}

// chooseNICs takes NICs and learns whether any PE has several.
func (j *Job) chooseNICs() (*nics, error) {
	c, err := ofi.Choose(j.Config.Libfabric, j.Config.Provider, strings.Join(j.Config.NICs, ","), j.near())
	if err != nil {
		return nil, err
	}
	all, err := j.boot.Allgather(binary.LittleEndian.AppendUint32(nil, uint32(len(c.NICs()))))
	if err != nil {
		c.Close()
		return nil, err
	}
	n := &nics{Choice: c}
	for pe, b := range all {
		if len(b) != 4 {
			c.Close()
			return nil, fmt.Errorf("read how many NICs PE %d has: %d bytes (start every PE with the same version of the library)", pe, len(b))
		}
		n.several = n.several || binary.LittleEndian.Uint32(b) > 1
	}
	return n, nil
}

// near tells which NICs are on the NUMA node of this PE's processors; nil: they are on
// several, or the machine does not say.
func (j *Job) near() func(nic string) bool {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil {
		return nil
	}
	return func(nic string) bool {
		node := topo.NICNode("", nic)
		cpus := topo.NodeCPUs("", node)
		return allowed.Count() == len(slices.DeleteFunc(slices.Clone(cpus), func(cpu int) bool { return !allowed.IsSet(cpu) }))
	}
}

// openProvider opens the network of an engine, as bad as the settings want it.
func (j *Job) openProvider(n *nics, i int) (fabric.Provider, error) {
	c := proxy.Config(j.NPEs)
	c.GPU = j.registers()
	j.askFor(&c)
	if j.Config.Chaos == "" {
		return j.openNICs(n, c)
	}
	plan, err := chaos.Parse(j.Config.Chaos)
	if err != nil {
		return nil, fmt.Errorf("SHMEM_CHAOS: %w", err)
	}
	inner, err := j.openNICs(n, chaos.Inner(c))
	if err != nil {
		return nil, err
	}
	return chaos.New(inner, c, plan, i == 0)
}

// openNICs opens an endpoint on each NIC. With one NIC in all PEs nothing stands
// before it.
func (j *Job) openNICs(n *nics, c fabric.Config) (fabric.Provider, error) {
	if !n.several {
		ends, err := n.Open(c)
		if err != nil {
			return nil, err
		}
		return ends[0], nil
	}
	ends, err := n.Open(rail.Inner(c))
	if err != nil {
		return nil, err
	}
	p, err := rail.New(ends, rail.Config{
		Config: c, Policy: rail.Policy(j.Config.NICPolicy),
		Lost: func(text string) { j.log.Printf("fabric", config.LogWarn, "%s", text) },
	})
	if err != nil {
		return nil, err
	}
	if c := p.Caps(); !c.DeliveryComplete {
		return nil, errors.Join(fmt.Errorf("open NICs %s: provider %s keeps no order between them and does not tell when bytes have arrived "+
			"(name one NIC in SHMEM_NIC_LIST, or another SHMEM_PROVIDER)", c.Domain, c.Provider), p.Close())
	}
	return p, nil
}
