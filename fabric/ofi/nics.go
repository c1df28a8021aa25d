package ofi

import (
	"errors"
	"slices"
	"strings"

	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// Choice is a provider and the NICs of it that a PE takes.
type Choice struct {
	lib     Library
	offers  []*offer
	fabrics []string // that the provider has these NICs on, where it names them
}

// NIC is one that may be taken.
type NIC struct {
	Name string
	PCI  string // its address, as the kernel writes it; "": the provider does not say
	IP   bool   // it is an interface of the host, which others use too
}

// Hints are a job's requirements of its network.
type Hints struct {
	Provider string // "": the best
	Fabric   string // of the provider efa; "": the one that fits the version of libfabric
	NICs     string // names with commas between them, and ^ in front for all but these; "": any
	Setting  string // where NICs comes from, for errors; "": SHMEM_NIC_LIST
	// GPU: memory of GPUs may be registered. Without it libfabric leaves GPUs alone, in the whole
	// process and for good, if it is the first Wish of the process.
	GPU bool
	// Pick is called where there are several NICs, and returns which of them to take, at least one,
	// and in which order; nil: all.
	Pick func([]NIC) ([]int, error)

	version string // of libfabric, for errors
}

// Choose loads libfabric and chooses.
//
// Where the user lists NICs by name, all of the list may be taken, in its order. Else the choice is
// the best one, and where NICs are made for this, others of its kind that are as fast. Interfaces
// of tcp are not joined by default: they often lead to the same wire, or to different networks.
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
	ranked(offers)
	c.fabrics = fabricsOf(slices.DeleteFunc(slices.Clone(offers), func(o *offer) bool { return !allowed(o.NIC, nics) || !w.fits(o) }))
	for _, o := range offers {
		other := o.Provider == best.Provider && namedFabric(o) == namedFabric(best) && allowed(o.NIC, nics) && (reach(o) < unreachable || reach(best) == unreachable) &&
			!slices.ContainsFunc(c.offers, func(has *offer) bool { return has.NIC == o.NIC })
		if !listed {
			other = other && o.speed == best.speed && reach(o) == reach(best)
		}
		if other {
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
	c.keep(picked)
	return c, nil
}

// keep leaves the offers with these numbers, in their order.
func (c *Choice) keep(numbers []int) {
	var kept []*offer
	for _, i := range numbers {
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

// only is the first NIC of a choice alone.
func (c *Choice) only() *Choice { return &Choice{lib: c.lib, offers: c.offers[:1]} }

// Candidates are the NICs.
func (c *Choice) Candidates() []NIC {
	var nics []NIC
	for _, o := range c.offers {
		nics = append(nics, NIC{o.NIC, o.pci, fabric.OverSockets(o.Provider)})
	}
	return nics
}

// NICs are the names of the NICs.
func (c *Choice) NICs() []string {
	var names []string
	for _, o := range c.offers {
		names = append(names, o.NIC)
	}
	return names
}

// Open opens an endpoint on each NIC.
func (c *Choice) Open(cfg fabric.Config) ([]fabric.Provider, error) {
	if cfg.Tokens <= 0 {
		return nil, &shmerr.Error{Op: "open", Object: "fabric", Cause: shmerr.Causef(shmerr.ErrArgument, "%d tokens", cfg.Tokens)}
	}
	var ends []fabric.Provider
	for _, o := range c.offers {
		e, err := c.lib.open(o, cfg)
		if err != nil {
			for _, other := range ends {
				err = errors.Join(err, other.Close())
			}
			return nil, err
		}
		ends = append(ends, e)
	}
	return ends, nil
}

// Close frees the choice. Endpoints opened from it stay open.
func (c *Choice) Close() {
	for _, o := range c.offers {
		o.free()
	}
	c.offers = nil
}
