package ofi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"libshmem/runtime/shmerr"
)

// From libfabric 2.1 on the provider efa offers each NIC twice, under one name and one address: on
// the fabric efa, where the provider does in software what the NIC lacks, and on efa-direct, which
// is the NIC alone. Endpoints of the two cannot communicate with each other. Fabrics of other
// providers are subnets, whose names no job needs.
const (
	fabricEFA    = "efa"
	fabricDirect = "efa-direct"
)

// directFrom is libfabric 2.4, the first one with which efa-direct is the default here, as in
// aws-ofi-nccl.
const directFrom = 2<<16 | 4

// namedFabric returns the name of an offer's fabric where its provider has several, else "".
func namedFabric(o *offer) string {
	if hasFabrics(o.Provider) {
		return o.Fabric
	}
	return ""
}

// hasFabrics reports whether a provider offers a NIC on several fabrics, which SHMEM_FABRIC names:
// only efa does.
func hasFabrics(provider string) bool { return strings.EqualFold(provider, "efa") }

// isSecondChoice reports whether an offer is on the fabric that is used, with this version of
// libfabric, only if the other fabric is not offered.
func (l Library) isSecondChoice(o *offer) bool {
	usual := fabricEFA
	if l.number >= directFrom {
		usual = fabricDirect
	}
	return hasFabrics(o.Provider) && o.Fabric != usual
}

// fits reports whether the hints name no fabric, or the offer's.
func (w *Hints) fits(o *offer) bool { return w.Fabric == "" || w.Fabric == namedFabric(o) }

// refuse returns an error if no provider can fit the hints: they name a provider that no job may
// use, or a fabric that their provider does not have.
func (w *Hints) refuse() error {
	refused := func(remedy, format string, args ...any) error {
		return &shmerr.Error{
			Op: "choose", Object: fmt.Sprintf("provider %q", w.Provider), Cause: shmerr.Causef(shmerr.ErrNoProvider, format, args...), Remedy: remedy,
		}
	}
	if because := refusal(w.Provider); because != "" {
		return refused("unset SHMEM_PROVIDER to use the best", "no job gets it: %s", because)
	}
	if strings.EqualFold(w.Provider, fabricDirect) {
		return refused("set SHMEM_PROVIDER=efa and SHMEM_FABRIC=efa-direct", "it is a fabric of the provider efa, not a provider")
	}
	if w.Fabric != "" && w.Provider != "" && !hasFabrics(w.Provider) {
		return refused("unset SHMEM_FABRIC, or set SHMEM_PROVIDER=efa", "SHMEM_FABRIC=%s names a fabric of the provider efa", w.Fabric)
	}
	return nil
}

// notOnFabric returns the error for hints whose fabric has no offer. others are the provider's
// offers on other fabrics.
func (w *Hints) notOnFabric(others []*offer) error {
	version := cmp.Or(w.version, "here")
	e := &shmerr.Error{
		Op: "choose", Object: fmt.Sprintf("fabric %q", w.Fabric),
		Cause:  shmerr.Causef(shmerr.ErrNoProvider, "SHMEM_FABRIC names it, and libfabric %s offers no NIC of the provider efa", version),
		Remedy: "unset SHMEM_FABRIC; shmem-info --fabric lists the offers",
	}
	others = slices.DeleteFunc(others, func(o *offer) bool { return !allowed(o.NIC, w.NICs) })
	if len(others) > 0 {
		e.Cause = shmerr.Causef(shmerr.ErrNoProvider, "SHMEM_FABRIC names it, and libfabric %s offers %s on %s only", version, names(others, nicOf), names(others, namedFabric))
		e.Remedy = "unset SHMEM_FABRIC, or install libfabric 2.1 or later for efa-direct"
	}
	return e
}

// fabricsOf returns the names of the offers' fabrics, without repetition, the preferred one first.
func fabricsOf(offers []*offer) []string {
	var all []string
	for _, o := range offers {
		if f := namedFabric(o); f != "" && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// Fabric returns the fabric of the NICs; "" where the provider does not distinguish fabrics by
// name.
func (c *Choice) Fabric() string { return namedFabric(c.offers[0]) }

// Fabrics lists the fabrics that MoveTo accepts.
func (c *Choice) Fabrics() []string { return c.fabrics }

// Provider returns the provider of the NICs.
func (c *Choice) Provider() string { return c.offers[0].Provider }

// Version returns libfabric's version.
func (c *Choice) Version() string { return c.lib.Version }

// MoveTo replaces the NICs by the same NICs on another fabric.
func (c *Choice) MoveTo(fabric string) error { return c.moveTo(&query{lib: c.lib}, fabric) }

// moveTo replaces each chosen offer by the offer of the same NIC on another fabric, because the
// other PEs of the job are on that fabric. It fails if a NIC is not offered there.
func (c *Choice) moveTo(q lister, fabric string) error {
	others := q.list(c.offers[0].Provider)
	for i, o := range c.offers {
		at := slices.IndexFunc(others, func(other *offer) bool { return other.NIC == o.NIC && namedFabric(other) == fabric })
		if at < 0 {
			freeAll(others)
			return &shmerr.Error{
				Op: "choose", Object: fmt.Sprintf("fabric %q", fabric), Cause: shmerr.Causef(shmerr.ErrNoProvider, "NIC %s is not offered on it, and other PEs are on it", o.NIC),
				Remedy: "set SHMEM_FABRIC to the same value on all PEs",
			}
		}
		c.offers[i], others[at] = others[at], o
	}
	freeAll(others)
	return nil
}

// freeAll frees the fi_info structs of offers.
func freeAll(offers []*offer) {
	for _, o := range offers {
		o.free()
	}
}
