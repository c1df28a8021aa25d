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
	lib    Library
	offers []*offer
}

// Choose loads libfabric and chooses. The arguments are those of List; near tells
// whether a NIC is near the caller, nil: all are.
//
// Where the NICs are listed by name, all of the list are taken, in its order. Else it
// is the best one, and where NICs are made for this, others of its kind: as fast,
// and as near. Interfaces of tcp are not joined unasked: they often lead to the same
// wire, or to different networks.
func Choose(library, provider, nics string, near func(nic string) bool) (*Choice, error) {
	lib, err := Load(library)
	if err != nil {
		return nil, err
	}
	c, err := choose(&question{lib: lib}, provider, nics, near)
	if err != nil {
		return nil, err
	}
	c.lib = lib
	return c, nil
}

func choose(q asker, provider, nics string, near func(nic string) bool) (*Choice, error) {
	best, err := find(q, provider, nics)
	if err != nil {
		return nil, err
	}
	c := &Choice{offers: []*offer{best}}
	listed := nics != "" && !strings.HasPrefix(nics, "^")
	if !listed && overIP(best.Provider) {
		return c, nil
	}
	offers := q.ask(best.Provider)
	ranked(offers)
	for _, o := range offers {
		other := o.Provider == best.Provider && allowed(o.NIC, nics) && (reach(o) < unreachable || reach(best) == unreachable) &&
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
		return c, nil
	}
	slices.SortStableFunc(c.offers, func(a, b *offer) int { return strings.Compare(a.NIC, b.NIC) })
	c.keep(near)
	return c, nil
}

// keep leaves the NICs that are near, if any is.
func (c *Choice) keep(near func(nic string) bool) {
	if near == nil || !slices.ContainsFunc(c.offers, func(o *offer) bool { return near(o.NIC) }) {
		return
	}
	c.offers = slices.DeleteFunc(c.offers, func(o *offer) bool {
		if near(o.NIC) {
			return false
		}
		o.free()
		return true
	})
}

// overIP tells of providers whose NICs are interfaces of the host.
func overIP(provider string) bool {
	base, _, _ := strings.Cut(provider, ";")
	return slices.Contains([]string{"tcp", "net", "sockets", "udp"}, base)
}

// position is the place of a NIC in a list that has it.
func position(nic, list string) int {
	return slices.IndexFunc(strings.Split(list, ","), func(name string) bool { return allowed(nic, strings.TrimSpace(name)) })
}

// only is the first NIC of a choice alone.
func (c *Choice) only() *Choice { return &Choice{lib: c.lib, offers: c.offers[:1]} }

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

// Close frees the choice; what it has opened stays.
func (c *Choice) Close() {
	for _, o := range c.offers {
		o.free()
	}
	c.offers = nil
}
