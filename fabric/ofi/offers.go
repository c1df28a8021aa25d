package ofi

/*
#include <stdlib.h>
#include "endpoint.h"
*/
import "C"

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unsafe"

	"libshmem/runtime/shmerr"
)

// Offer is a provider on a NIC, with which an endpoint can be opened.
type Offer struct {
	Provider string
	NIC      string // the domain, as the provider names it
	Fabric   string // the network of the NIC, as the provider names it
	Chosen   bool   // Choose would choose it
	Why      string // why Choose would not choose it, for messages; "": nothing speaks against it
}

// offer is an Offer with the data to compare and to open it.
type offer struct {
	Offer
	speed        uint64            // bits a second; 0: not known
	pci          string            // the NIC's address; "": not known
	address      netip.Addr        // of the interface; the zero Addr where it has no IP address
	secondChoice bool              // the same NIC on another fabric is preferred
	info         *C.struct_fi_info // a copy of libfabric's, to be freed
}

// free frees the offer's fi_info. A second call does nothing.
func (o *offer) free() {
	if o.info != nil {
		C.fi_freeinfo(o.info)
		o.info = nil
	}
}

// List describes the offers of all providers, for programs that report which of them a job would
// use. The best is first. Each offer says whether Choose would choose it for the hints w or, if not,
// why not. All NICs among which Hints.Pick would have a choice count as chosen, and Pick is not
// called. A provider's NIC that has several addresses on a fabric is listed once. library is the
// file of libfabric; for "" Load searches for it. If no offer fits the hints, List returns the
// offers and the error that Choose would return.
func List(library string, w Hints) ([]Offer, error) {
	w.Pick = nil
	lib, err := Load(library)
	if err != nil {
		return nil, err
	}
	w.version = lib.Version
	q := lib.query(&w)
	all := q.list("")
	sortOffers(all)
	chosen, err := choose(q, w)
	var first *offer
	if err == nil {
		first = chosen.offers[0]
	}
	offers := []Offer{}
	for i := range all {
		o := all[i].Offer
		if err == nil && slices.ContainsFunc(chosen.offers, func(c *offer) bool { return c.Offer == o }) {
			o.Chosen = true
		} else {
			o.Why = why(all[i], first, w)
		}
		if !slices.ContainsFunc(offers, func(has Offer) bool { return has.Provider == o.Provider && has.NIC == o.NIC && has.Fabric == o.Fabric }) {
			offers = append(offers, o)
		}
		all[i].free()
	}
	if err == nil {
		chosen.Close()
	}
	return offers, err
}

// lister returns the offers of a provider, or of all providers for "". The caller frees them.
type lister interface {
	list(provider string) []*offer
}

// query is a lister that calls fi_getinfo.
type query struct {
	lib Library
}

// query prepares the library for calls of fi_getinfo with a job's hints: whether it may use CUDA,
// and whether it may read the kernel's symbol table, which takes long.
func (l Library) query(w *Hints) *query {
	C.shmemi_ofi_leave_gpus(number(!w.GPU))
	C.shmemi_ofi_skip_symbols(number(!needsSymbols(rdmaFolders)))
	return &query{lib: l}
}

// ordered has the orders that the proxy's engine prefers: with them no operation has to wait for
// another. Some providers grant an order only on request.
const ordered = C.FI_ORDER_SAS | C.FI_ORDER_SAW | C.FI_ORDER_WAW

// list returns a provider's offers of reliable datagram endpoints that can send and write. For a
// name that ends in connected it returns the offers of endpoints with one connection each, and for
// "" those of both kinds, of all providers. A provider whose fi_getinfo fails makes no offer.
func (q *query) list(provider string) []*offer {
	if base, linked := connects(provider); linked {
		return q.listConnected(base)
	}
	offers := q.listOpen(provider)
	if provider == "" {
		for _, base := range overConnections {
			offers = append(offers, q.listConnected(base)...)
		}
	}
	return offers
}

// overConnections lists the providers whose connections this package can make. Up to 1.17 the one
// that has both connections and datagrams over them is called net, and tcp is another.
var overConnections = []string{"tcp", "net"}

// listConnected returns the offers of provider base for endpoints with one connection each. It
// returns none if base does not also offer datagram endpoints under its own name: such a provider
// is an older implementation.
func (q *query) listConnected(base string) (offers []*offer) {
	i := slices.IndexFunc(overConnections, func(p string) bool { return strings.EqualFold(p, base) })
	if i < 0 {
		return nil
	}
	base = overConnections[i]
	datagrams := q.listFor(base, ordered, false)
	offered := slices.ContainsFunc(datagrams, func(o *offer) bool { return o.Provider == base })
	freeAll(datagrams)
	if !offered {
		return nil
	}
	for _, o := range q.listFor(base, ordered, true) {
		if o.Provider != base || o.info.ep_attr._type != C.FI_EP_MSG {
			o.free()
			continue
		}
		o.Provider += connected
		offers = append(offers, o)
	}
	return offers
}

// listOpen returns a provider's offers of reliable datagram endpoints. Of each network, a provider
// and a fabric, it returns the offers with the orders that the engine prefers (ordered) or, if
// there are none, the offers to hints without an order.
func (q *query) listOpen(provider string) []*offer {
	var offers []*offer
	inOrder := map[[2]string]bool{}
	for _, order := range []C.uint64_t{ordered, 0} {
		for _, o := range q.listFor(provider, order, false) {
			network := [2]string{o.Provider, namedFabric(o)}
			if order == 0 && inOrder[network] {
				o.free()
				continue
			}
			inOrder[network] = inOrder[network] || order != 0
			offers = append(offers, o)
		}
		// One fabric of a provider may grant features that another does not.
		if provider != "" && !hasFabrics(provider) && len(offers) > 0 {
			break
		}
	}
	return offers
}

// listFor calls fi_getinfo once, and returns an offer for each NIC, fabric and address; the caller
// frees them. order is the message order to request, and connects asks for endpoints of one
// connection each (FI_EP_MSG).
func (q *query) listFor(provider string, order C.uint64_t, connects bool) []*offer {
	var name *C.char
	if provider != "" {
		name = C.CString(provider)
		defer C.free(unsafe.Pointer(name))
	}
	hints := C.shmemi_ofi_hints(name, order, number(connects))
	if hints == nil {
		return nil
	}
	defer C.fi_freeinfo(hints)
	var list *C.struct_fi_info
	if C.shmemi_ofi_getinfo(q.lib.api, hints, &list) != 0 {
		return nil
	}
	defer C.fi_freeinfo(list)
	type path struct {
		Offer
		address netip.Addr
	}
	seen := map[path]bool{}
	var offers []*offer
	for info := list; info != nil; info = info.next {
		p := path{Offer{
			Provider: C.GoString(info.fabric_attr.prov_name), NIC: C.GoString(info.domain_attr.name),
			Fabric: C.GoString(info.fabric_attr.name),
		}, address(info)}
		// Providers repeat a NIC for each protocol, the best first.
		if seen[p] {
			continue
		}
		seen[p] = true
		if dup := C.fi_dupinfo(info); dup != nil {
			o := &offer{Offer: p.Offer, speed: uint64(C.shmemi_ofi_speed(info)), pci: pci(info), address: p.address, info: dup}
			o.secondChoice = q.lib.isSecondChoice(o)
			offers = append(offers, o)
		}
	}
	return offers
}

// pci returns the PCI address of the NIC, as the kernel writes it; "": it is not known.
func pci(info *C.struct_fi_info) string {
	var at [4]C.uint32_t
	if C.shmemi_ofi_pci(info, &at[0]) == 0 {
		return ""
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", at[0], at[1], at[2], at[3])
}

// fault returns the error for a negative number that a function of libfabric has returned.
func fault(ret C.int) error { return &Fault{Code: int(-ret), text: C.GoString(C.fi_strerror(-ret))} }

// Fault is an error that libfabric returned.
type Fault struct {
	Code int // its number, positive
	text string
}

// Error returns libfabric's own text for the error, beginning in lower case.
func (f *Fault) Error() string {
	if f.text == "" {
		return "unknown error"
	}
	return strings.ToLower(f.text[:1]) + f.text[1:]
}

// address returns the interface's IP address, or the zero Addr where the provider's addresses are
// not IP addresses.
func address(info *C.struct_fi_info) netip.Addr {
	if info.src_addr == nil {
		return netip.Addr{}
	}
	b := unsafe.Slice((*byte)(info.src_addr), int(info.src_addrlen))
	switch f := info.addr_format; {
	case len(b) >= 8 && (f == C.FI_SOCKADDR_IN || f == C.FI_SOCKADDR && len(b) == 16):
		return netip.AddrFrom4([4]byte(b[4:8]))
	case len(b) >= 24 && (f == C.FI_SOCKADDR_IN6 || f == C.FI_SOCKADDR && len(b) == 28):
		return netip.AddrFrom16([16]byte(b[8:24]))
	}
	return netip.Addr{}
}

// find returns the best offer that the hints allow. The caller frees it.
//
// It lists the offers of one provider after the other, by name, until one fits: in a single call of
// fi_getinfo for all of them, every provider would search for its hardware.
func find(q lister, w Hints) (*offer, error) {
	provider, nics := w.Provider, w.NICs
	if err := w.refuse(); err != nil {
		return nil, err
	}
	if w.Fabric != "" {
		provider = "efa"
	}
	candidates := make([]string, len(preference))
	for i, p := range preference {
		candidates[i] = p.provider
	}
	if provider != "" {
		candidates = sameFamily(provider)
	}
	var loopback *offer
	var refused []*offer
	defer func() {
		for _, o := range refused {
			o.free()
		}
	}()
	for _, name := range candidates {
		offers := q.list(name)
		sortOffers(offers)
		for _, o := range offers {
			switch {
			case !strings.EqualFold(o.Provider, name) || !allowed(o.NIC, nics) || !w.fits(o):
				refused = append(refused, o)
			case loopback != nil && reach(o) == unreachable:
				o.free()
			case reach(o) == unreachable:
				// It is used only when no provider has a better one.
				loopback = o
			default: // the rest is freed with the refused ones
				refused = append(refused, offers[slices.Index(offers, o)+1:]...)
				if loopback != nil {
					loopback.free()
				}
				return o, nil
			}
		}
	}
	if loopback != nil {
		return loopback, nil
	}
	return nil, notFound(q, refused, candidates, w)
}

// notFound returns the error that explains why no offer fits the hints: the fabric or the NIC that
// they name has none, or the provider does not exist or has no interface. refused are the offers
// that find has seen, of the providers in candidates and others.
func notFound(q lister, refused []*offer, candidates []string, w Hints) error {
	provider := w.Provider
	var ofProvider []*offer // of a provider that would do, on NICs or fabrics that the hints exclude
	for _, o := range refused {
		if slices.ContainsFunc(candidates, func(c string) bool { return strings.EqualFold(c, o.Provider) }) {
			ofProvider = append(ofProvider, o)
		}
	}
	if w.Fabric != "" && (len(ofProvider) == 0 || slices.ContainsFunc(ofProvider, func(o *offer) bool { return allowed(o.NIC, w.NICs) })) {
		return w.notOnFabric(ofProvider)
	}
	if len(ofProvider) > 0 {
		setting := cmp.Or(w.Setting, "SHMEM_NIC_LIST")
		return &shmerr.Error{
			Op: "choose", Object: "NIC", Cause: shmerr.Causef(shmerr.ErrSetting, "%s=%s allows none of %s", setting, w.NICs, names(ofProvider, nicOf)),
			Remedy: "name one of them, or unset " + setting,
		}
	}
	all := q.list("")
	defer func() {
		for _, o := range all {
			o.free()
		}
	}()
	sortOffers(all)
	able := slices.DeleteFunc(slices.Clone(all), func(o *offer) bool { return refusal(o.Provider) != "" })
	if provider == "" {
		return &shmerr.Error{
			Op: "choose", Object: "provider", Cause: shmerr.Causef(shmerr.ErrNoProvider, "none of %s leads to other hosts", names(able, providerOf)),
			Remedy: "bring a network interface up, or name a provider in SHMEM_PROVIDER",
		}
	}
	e := &shmerr.Error{
		Op: "choose", Object: fmt.Sprintf("provider %q", provider),
		Cause:  shmerr.Causef(shmerr.ErrNoProvider, "SHMEM_PROVIDER names none that answers here; these do: %s", names(able, providerOf)),
		Remedy: "name one of them, or unset it to use the best",
	}
	if near := nearest(provider, able); near != "" {
		e.Remedy = "the nearest name is " + near + "; or unset it to use the best"
	}
	return e
}
