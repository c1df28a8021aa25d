package ofi

/*
#include <stdlib.h>
#include <string.h>
#include "load.h"
#include "endpoint.h"

static struct fi_info *shmemi_hints(const char *provider, uint64_t order)
{
	struct fi_info *h = fi_allocinfo();
	if (h == NULL)
		return NULL;
	h->caps = FI_MSG | FI_RMA;
	h->mode = FI_CONTEXT | FI_CONTEXT2;
	h->ep_attr->type = FI_EP_RDM;
	h->tx_attr->msg_order = order;
	h->rx_attr->msg_order = order;
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	h->fabric_attr->prov_name = strdup(provider);
	return h;
}
*/
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"libshmem/fabric"
)

// preference lists providers from the fastest network to the slowest. Each is
// asked for by name and in turn, because a question to all of them at once
// lets every provider probe for its hardware, which takes up to a second.
// shm is not among them: it does not leave the machine.
var preference = []string{
	"efa",           // AWS Elastic Fabric Adapter
	"cxi",           // HPE Slingshot
	"verbs;ofi_rxm", // InfiniBand and RoCE
	"psm3",          // Intel Ethernet and Omni-Path
	"opx",
	"tcp",         // reliable datagrams over tcp, by itself since libfabric 1.18
	"net",         // the same code before it became part of tcp
	"tcp;ofi_rxm", // reliable datagrams by a layer over connections
	"sockets",
	"udp;ofi_rxd",
}

// families are the names for several providers of one network: the first that
// answers is taken. Where tcp has no reliable datagrams of its own, libfabric
// answers to that name with tcp;ofi_rxm, although net is there and faster
// (docs/decisions/0005).
var families = map[string][]string{
	"tcp": {"tcp", "net", "tcp;ofi_rxm"},
}

const (
	wantedVersion = 1<<16 | 20 // the API this package knows
	oldestVersion = 1<<16 | 11
)

// apiVersion is the version to ask for: the library refuses one newer than
// its own.
func apiVersion() (C.uint32_t, error) {
	v := uint32(C.fi_version())
	if v < oldestVersion {
		return 0, fmt.Errorf("libfabric %s is version %d.%d (install 1.11 or later)",
			C.GoString(C.shmemi_ofi_loaded()), v>>16, v&0xffff)
	}
	return C.uint32_t(min(v, wantedVersion)), nil
}

// ordered is what the engine would like: then no operation has to wait for
// another.
const ordered = C.FI_ORDER_SAS | C.FI_ORDER_SAW | C.FI_ORDER_WAW

// ask returns what a provider offers, or nil.
func ask(version C.uint32_t, provider string) *C.struct_fi_info {
	name := C.CString(provider)
	defer C.free(unsafe.Pointer(name))
	for _, order := range []C.uint64_t{ordered, 0} {
		hints := C.shmemi_hints(name, order)
		if hints == nil {
			return nil
		}
		var info *C.struct_fi_info
		rc := C.fi_getinfo(version, nil, nil, 0, hints, &info)
		C.fi_freeinfo(hints)
		if rc != 0 {
			continue
		}
		if families[provider] == nil || C.GoString(info.fabric_attr.prov_name) == provider {
			return info
		}
		C.fi_freeinfo(info) // a layered provider: it has its own turn
	}
	return nil
}

// choose finds the offer to open. The caller frees it.
func choose(c fabric.Config) (*C.struct_fi_info, error) {
	version, err := apiVersion()
	if err != nil {
		return nil, err
	}
	candidates := preference
	if c.Provider != "" {
		candidates = families[c.Provider]
		if candidates == nil {
			candidates = []string{c.Provider}
		}
	}
	var seen []string
	for _, provider := range candidates {
		all := ask(version, provider)
		if all == nil {
			continue
		}
		best := pick(all, c.NICs)
		for i := all; i != nil; i = i.next {
			seen = append(seen, nicName(i))
		}
		var mine *C.struct_fi_info
		if best != nil {
			mine = C.fi_dupinfo(best)
		}
		C.fi_freeinfo(all)
		if mine != nil {
			return mine, nil
		}
	}
	if len(seen) > 0 {
		slices.Sort(seen)
		return nil, fmt.Errorf("no NIC fits SHMEM_NIC_LIST=%s (there are %s)", c.NICs, strings.Join(slices.Compact(seen), ", "))
	}
	var answering []string
	for _, provider := range preference {
		if all := ask(version, provider); all != nil {
			answering = append(answering, C.GoString(all.fabric_attr.prov_name))
			C.fi_freeinfo(all)
		}
	}
	if c.Provider == "" {
		return nil, fmt.Errorf("no provider of libfabric %s answers for reliable datagrams (bring a network interface up; fi_info -t FI_EP_RDM lists them)",
			C.GoString(C.shmemi_ofi_loaded()))
	}
	return nil, fmt.Errorf("provider %q of SHMEM_PROVIDER does not answer here (use one of %s)",
		c.Provider, strings.Join(slices.Compact(answering), ", "))
}

func nicName(i *C.struct_fi_info) string {
	return C.GoString(i.domain_attr.name) + " of " + C.GoString(i.fabric_attr.prov_name)
}

// pick takes the first offer whose NIC is wanted. Loopback is taken only where
// nothing else is: peers on other hosts cannot reach it. IPv4 comes first,
// because an IPv6 link-local address means nothing without its interface.
func pick(all *C.struct_fi_info, nics string) *C.struct_fi_info {
	var best *C.struct_fi_info
	bestRank := -1
	for i := all; i != nil; i = i.next {
		name := C.GoString(i.domain_attr.name)
		if !wanted(name, nics) {
			continue
		}
		rank := 0
		if name != "lo" {
			rank += 2
		}
		if i.addr_format != C.FI_SOCKADDR_IN6 {
			rank++
		}
		if rank > bestRank {
			best, bestRank = i, rank
		}
	}
	return best
}

// wanted applies a list of names, or with ^ in front a list of names to avoid.
func wanted(name, nics string) bool {
	if nics == "" {
		return true
	}
	list, exclude := strings.CutPrefix(nics, "^")
	for n := range strings.SplitSeq(list, ",") {
		if strings.TrimPrefix(strings.TrimSpace(n), "^") == name {
			return !exclude
		}
	}
	return exclude
}
