package network

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"libshmem/fabric"
	"libshmem/fabric/chaos"
	"libshmem/fabric/ofi"
	"libshmem/fabric/rail"
	"libshmem/runtime/config"
	"libshmem/runtime/job/place"
	"libshmem/runtime/nvtx"
	"libshmem/runtime/proxy"
	"libshmem/runtime/trace"
)

// nics has the NICs that this PE uses.
type nics struct {
	*ofi.Choice
	several bool // some PE uses several, so all use the protocol of package rail
}

// chooseNICs chooses this PE's NICs by the settings and the machine's topology, on the fabric that
// all PEs share, and learns whether any PE has several NICs. It is collective.
func (nw *Network) chooseNICs() (*nics, error) {
	if err := nw.exchangeGPUs(); err != nil {
		return nil, err
	}
	s, err := place.ReadSettings(nw.Settings)
	if err != nil {
		return nil, err
	}
	hints := s.Hints(nw.Settings)
	hints.GPU = nw.GPU.NICs != nil
	hints.Pick = func(nics []ofi.NIC) ([]int, error) { return nw.Place.Pick(place.Machine, &s, nics) }
	c, err := ofi.Choose(nw.Settings.Libfabric, hints)
	if err != nil {
		return nil, err
	}
	nw.Place.Remark(&s, c.NICs())
	n := &nics{Choice: c}
	infos, err := nw.nicInfos(n)
	if err == nil {
		err = nw.agreeOnFabric(n, infos)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	nw.fabric = c.Fabric()
	for _, info := range infos {
		n.several = n.several || info.NICs > 1
	}
	return n, nil
}

// exchangeGPUs exchanges the addresses of the PEs' GPUs, from which Place learns those of the PEs
// that see the same NICs. It is collective if some PE has a GPU.
func (nw *Network) exchangeGPUs() error {
	if !nw.Heaps.SomeGPU() {
		return nil
	}
	all, err := nw.Boot.Allgather([]byte(nw.Place.GPU))
	if err != nil {
		return err
	}
	nw.Place.LearnGPUs(all)
	return nil
}

// openProvider opens the provider of engine i. A trace track records its traffic if SHMEM_TRACE is
// set. With SHMEM_ORDERED_BYTES=auto the provider is asked for ordered blocks, which may slow down
// other operations.
func (nw *Network) openProvider(n *nics, i int, track *trace.Track) (fabric.Provider, error) {
	c := proxy.ProviderConfig(nw.NPEs)
	c.GPU, c.Blocks = nw.GPU.NICs != nil, nw.Settings.Ordered == config.OrderedAuto
	c.Key = nw.Boot.Secret().Key(fmt.Sprintf("connections of endpoint %d", i))
	nw.setRequired(&c)
	p, err := nw.openPlain(n, c, i)
	if err != nil {
		return nil, err
	}
	return nvtx.Around(trace.Around(p, c.Tokens, track), nw.Show), nil
}

// setRequired adds to a provider's configuration the features that SHMEM_REQUIRE names and that a
// provider grants only on request.
func (nw *Network) setRequired(c *fabric.Config) {
	c.Fence = c.Fence || slices.Contains(nw.Settings.Require, "fence")
	c.Atomics = c.Atomics || slices.Contains(nw.Settings.Require, "atomics")
	c.Data = c.Data || slices.Contains(nw.Settings.Require, "data")
}

// openPlain opens the provider of engine i without tracing. If SHMEM_CHAOS is set, a layer above it
// injects faults.
func (nw *Network) openPlain(n *nics, c fabric.Config, i int) (fabric.Provider, error) {
	open := func(c fabric.Config) (fabric.Provider, error) { return nw.openNICs(n, c) }
	return chaos.Open(open, c, nw.Chaos, i == 0) // one engine carries out the faults that end the process
}

// openNICs opens an endpoint on each NIC. If all PEs have one NIC, the endpoint is used directly;
// else the layer rail joins the NICs to one endpoint. Several NICs keep no order between them, so
// rail needs a provider whose completions say that bytes have arrived (DeliveryComplete).
func (nw *Network) openNICs(n *nics, c fabric.Config) (fabric.Provider, error) {
	if !n.several {
		ends, err := n.Open(c)
		if err != nil {
			return nil, err
		}
		nw.notes = fabric.NotesOf(ends...)
		return ends[0], nil
	}
	ends, err := n.Open(rail.Inner(c))
	if err != nil {
		return nil, err
	}
	nw.notes = fabric.NotesOf(ends...)
	p, err := rail.New(ends, rail.Config{
		Config: c, Policy: rail.Policy(nw.Settings.NICPolicy),
		Lost: func(text string) { nw.Log.Printf("fabric", config.LogWarn, "%s", text) },
	})
	if err != nil {
		return nil, err
	}
	if c := p.Caps(); !c.DeliveryComplete {
		return nil, errors.Join(fmt.Errorf("open NICs %s: provider %s keeps no order between them and does not report when bytes have arrived "+
			"(name one NIC in SHMEM_NIC_LIST, or another SHMEM_PROVIDER)", c.Domain, c.Provider), p.Close())
	}
	return p, nil
}

// FirstNIC returns the first NIC of the first engine; "" without a network.
func (nw *Network) FirstNIC() string {
	if nw == nil {
		return ""
	}
	return firstNIC(nw.Engine)
}

// firstNIC returns the first of an engine's NICs.
func firstNIC(e *proxy.Engine) string {
	nic, _, _ := strings.Cut(e.Caps().Domain, ",")
	return nic
}
