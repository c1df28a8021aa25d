package ofi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// why returns, for messages, why an offer is not chosen: a reason against the offer itself, or the
// reason that speaks for first, the best of the chosen offers. first is nil where none is chosen.
func why(o, first *offer, w Hints) string {
	provider := w.Provider
	named := slices.ContainsFunc(sameFamily(provider), func(p string) bool { return strings.EqualFold(p, o.Provider) })
	switch {
	case refusal(o.Provider) != "":
		return "no job gets it: " + refusal(o.Provider)
	case provider != "" && !named:
		return fmt.Sprintf("SHMEM_PROVIDER=%s names another", provider)
	case !allowed(o.NIC, w.NICs):
		return fmt.Sprintf("%s=%s leaves it out", cmp.Or(w.Setting, "SHMEM_NIC_LIST"), w.NICs)
	case provider == "" && rank(o.Provider) == len(preference):
		return "it is used only if SHMEM_PROVIDER names it"
	case reach(o) == unreachable && (first == nil || reach(first) != unreachable):
		return "it leads to no other host"
	case !w.fits(o):
		return fmt.Sprintf("SHMEM_FABRIC=%s names another", w.Fabric)
	case first == nil:
		return "" // nothing speaks against this offer itself
	case o.Provider != first.Provider:
		if i := rank(first.Provider); i < len(preference) {
			return fmt.Sprintf("%s comes first: %s", first.Provider, preference[i].reason)
		}
		return first.Provider + " comes first"
	case namedFabric(o) != namedFabric(first):
		return fmt.Sprintf("fabric %s of this version of libfabric comes first, unless SHMEM_FABRIC names this one", first.Fabric)
	case reach(o) != reach(first): // by reach; one with 0, the best, would have been chosen
		return [...]string{"", "it has an IPv6 address, which other hosts may lack", "it leads to containers of this host", "its address is valid on one link only"}[reach(o)]
	case o.NIC == first.NIC:
		return "it is another address of the NIC that is used"
	}
	return fmt.Sprintf("%s comes first in libfabric's order, and one NIC is used unless SHMEM_NIC_LIST names more", first.NIC)
}
