package ofi

import (
	"errors"
	"slices"
	"strings"

	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// Choice is a provider, and the NICs of it that a PE uses.
type Choice struct {
	lib     Library
	offers  []*offer
	fabrics []string // on which the provider offers these NICs, where fabrics have names
}

// NIC describes a NIC that a PE may use.
type NIC struct {
	Name string
	PCI  string // its address, as the kernel writes it; "": the provider does not say
	IP   bool   // it is an interface of the host, which others use too
}

// Hints are a job's requirements of its network.
type Hints struct {
	Provider string // "": the best
	Fabric   string // of the provider efa; "": the one that fits the version of libfabric
	NICs     string // comma-separated names; with ^ in front, all but these; "": any
	Setting  string // where NICs comes from, for errors; "": SHMEM_NIC_LIST
	// GPU: memory of GPUs may be registered. If the first Hints of the process do not set it,
	// libfabric does not use GPUs in this process until it ends.
	GPU bool
	// Pick is called where there are several NICs. It returns the indexes of those to use, at least
	// one, in their order. nil: all are used.
	Pick func([]NIC) ([]int, error)

	version string // of libfabric, for errors
}

// Choose loads libfabric and chooses a provider and NICs.
//
// If the user lists NICs by name, it chooses the NICs of the list that exist, in the order of the
// list. Otherwise it chooses the best NIC and, if the provider uses RDMA, all other NICs of the
// same speed. Interfaces of tcp are not used together by default: they often lead to the same wire,
// or to different networks.
func Choose(library string, w Hints) (*Choice, error) {
	lib, err := Load(library)
	if err != nil {
		return nil, err
	}
	w.version = lib.Version
	c, err := choose(lib.query(&w), w)
	if err != nil {
		return nil, err
	}
	c.lib = lib
	return c, nil
}

// choose chooses a provider and NICs among the offers that q lists. Tests call it without
// libfabric.
func choose(q lister, w Hints) (*Choice, error) {
	nics := w.NICs
	best, err := find(q, w)
	if err != nil {
		return nil, err
	}
	c := &Choice{offers: []*offer{best}}
	listed := nics != "" && !strings.HasPrefix(nics, "^")
	if !listed && fabric.OverSockets(best.Provider) {
		return c, nil
	}
	offers := q.list(best.Provider)
	sortOffers(offers)
	c.fabrics = fabricsOf(slices.DeleteFunc(slices.Clone(offers), func(o *offer) bool { return !allowed(o.NIC, nics) || !w.fits(o) }))
	for _, o := range offers {
		// If the best NIC leads to other hosts, a NIC that leads to none is not used beside it.
		chosen := o.Provider == best.Provider && namedFabric(o) == namedFabric(best) && allowed(o.NIC, nics) && (reach(o) < unreachable || reach(best) == unreachable) &&
			!slices.ContainsFunc(c.offers, func(has *offer) bool { return has.NIC == o.NIC })
		if !listed {
			chosen = chosen && o.speed == best.speed && reach(o) == reach(best)
		}
		if chosen {
			c.offers = append(c.offers, o)
		} else {
			o.free()
		}
	}
	if listed {
		slices.SortStableFunc(c.offers, func(a, b *offer) int { return position(a.NIC, nics) - position(b.NIC, nics) })
	} else {
		slices.SortStableFunc(c.offers, func(a, b *offer) int { return strings.Compare(a.NIC, b.NIC) })
	}
	if w.Pick == nil || len(c.offers) < 2 {
		return c, nil
	}
	picked, err := w.Pick(c.Candidates())
	if err != nil {
		c.Close()
		return nil, err
	}
	c.retain(picked)
	return c, nil
}

// retain reduces the choice to the offers with the given indexes, in this order, and frees the
// others.
func (c *Choice) retain(indexes []int) {
	var kept []*offer
	for _, i := range indexes {
		kept = append(kept, c.offers[i])
	}
	for _, o := range c.offers {
		if !slices.Contains(kept, o) {
			o.free()
		}
	}
	c.offers = kept
}

// position returns the index of the entry of a comma-separated list that allows the NIC, or -1.
func position(nic, list string) int {
	return slices.IndexFunc(strings.Split(list, ","), func(name string) bool { return allowed(nic, strings.TrimSpace(name)) })
}

// firstNIC returns a choice of the first NIC alone. It shares the offer with c, so only c is
// closed.
func (c *Choice) firstNIC() *Choice { return &Choice{lib: c.lib, offers: c.offers[:1]} }

// Candidates describes the NICs of the choice, for the function that picks some of them.
func (c *Choice) Candidates() []NIC {
	var nics []NIC
	for _, o := range c.offers {
		nics = append(nics, NIC{o.NIC, o.pci, fabric.OverSockets(o.Provider)})
	}
	return nics
}

// NICs returns the names of the NICs.
func (c *Choice) NICs() []string {
	var names []string
	for _, o := range c.offers {
		names = append(names, o.NIC)
	}
	return names
}

// Open opens an endpoint on each NIC of the choice. After an error none stays open.
func (c *Choice) Open(cfg fabric.Config) ([]fabric.Provider, error) {
	if cfg.Tokens <= 0 {
		return nil, &shmerr.Error{Op: "open", Object: "fabric", Cause: shmerr.Causef(shmerr.ErrArgument, "%d tokens", cfg.Tokens)}
	}
	var endpoints []fabric.Provider
	for _, o := range c.offers {
		e, err := c.lib.open(o, cfg)
		if err != nil {
			for _, other := range endpoints {
				err = errors.Join(err, other.Close())
			}
			return nil, err
		}
		endpoints = append(endpoints, e)
	}
	return endpoints, nil
}

// Close frees the fi_info structs of the NICs that were chosen. Endpoints that Open has opened on
// these NICs stay open.
func (c *Choice) Close() {
	for _, o := range c.offers {
		o.free()
	}
	c.offers = nil
}
