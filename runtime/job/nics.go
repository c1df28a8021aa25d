package job

import (
	"errors"
	"fmt"
	"strings"

	"libshmem/fabric"
	"libshmem/fabric/chaos"
	"libshmem/fabric/ofi"
	"libshmem/fabric/rail"
	"libshmem/runtime/config"
	"libshmem/runtime/job/place"
	"libshmem/runtime/nvtx"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/credit"
	"libshmem/runtime/trace"
)

// nics are the NICs that this PE takes.
type nics struct {
	*ofi.Choice
	several bool // some PE takes more than one, so all use the protocol of rails
}

// chooseNICs chooses NICs on the fabric of the job, and learns whether any PE has several.
func (j *Job) chooseNICs() (*nics, error) {
	if err := j.exchangeGPUs(); err != nil {
		return nil, err
	}
	s, err := place.ReadSettings(j.Config)
	if err != nil {
		return nil, err
	}
	w := s.Hints(j.Config)
	w.GPU = j.registers()
	w.Pick = func(nics []ofi.NIC) ([]int, error) { return j.Place.Pick(place.Machine, &s, nics) }
	c, err := ofi.Choose(j.Config.Libfabric, w)
	if err != nil {
		return nil, err
	}
	j.Place.Remark(&s, c.NICs())
	n := &nics{Choice: c}
	infos, err := j.nicInfos(n)
	if err == nil {
		err = j.agreeOnFabric(n, infos)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	j.fabric = c.Fabric()
	for _, info := range infos {
		n.several = n.several || info.NICs > 1
	}
	return n, nil
}

// exchangeGPUs learns which GPUs the neighbours have. It is collective if some PE has one.
func (j *Job) exchangeGPUs() error {
	if !j.Heaps.SomeGPU() {
		return nil
	}
	all, err := j.boot.Allgather([]byte(j.Place.GPU))
	if err != nil {
		return err
	}
	j.Place.LearnGPUs(all)
	return nil
}

// openProvider opens the network of an engine. It records the traffic if the settings ask for that.
func (j *Job) openProvider(n *nics, i int, track *trace.Track) (fabric.Provider, error) {
	c := credit.Config(j.NPEs)
	c.GPU = j.registers()
	j.askFor(&c)
	p, err := j.openPlain(n, c, i)
	if err != nil {
		return nil, err
	}
	return nvtx.Around(trace.Around(p, c.Tokens, track), j.ranges.proxy()), nil
}

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

// openPlain opens the network, with the faults that the settings ask for.
func (j *Job) openPlain(n *nics, c fabric.Config, i int) (fabric.Provider, error) {
	plan := j.chaos
	if plan == nil {
		return j.openNICs(n, c)
	}
	inner, err := j.openNICs(n, chaos.Inner(c))
	if err != nil {
		return nil, err
	}
	return chaos.New(inner, c, *plan, i == 0)
}

// openNICs opens an endpoint on each NIC. If all PEs have one NIC, the endpoint is used directly.
func (j *Job) openNICs(n *nics, c fabric.Config) (fabric.Provider, error) {
	if !n.several {
		ends, err := n.Open(c)
		if err != nil {
			return nil, err
		}
		j.notes = fabric.NotesOf(ends...)
		return ends[0], nil
	}
	ends, err := n.Open(rail.Inner(c))
	if err != nil {
		return nil, err
	}
	j.notes = fabric.NotesOf(ends...)
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

// firstNIC returns the NIC for small operations; "" without a network.
func firstNIC(e *proxy.Engine) string {
	if e == nil {
		return ""
	}
	nic, _, _ := strings.Cut(e.Caps().Domain, ",")
	return nic
}
