package ofi

/*
#include "load.h"
#include <rdma/fabric.h>
*/
import "C"

import (
	"fmt"
	"slices"

	"libshmem/fabric"
)

// Library is the libfabric that is loaded.
type Library struct {
	File    string // as the dynamic linker names it
	Version string // major.minor
}

// Load loads libfabric without opening anything: the file given, or the one
// that Open would find.
func Load(file string) (Library, error) {
	if err := load(file); err != nil {
		return Library{}, err
	}
	v := uint32(C.fi_version())
	return Library{File: C.GoString(C.shmemi_ofi_loaded()), Version: fmt.Sprintf("%d.%d", v>>16, v&0xffff)}, nil
}

// Offer is one way to other hosts: a provider on a NIC.
type Offer struct {
	Provider string
	NIC      string
	Fabric   string // what the NIC is connected to, as the provider names it
	Chosen   bool   // Open would take it
}

// List asks every provider that Open knows, best first. The arguments are
// Library, Provider and NICs of a fabric.Config; where Open would find nothing
// for them, the error is the one that Open would return, and
// the offers are those that there are.
func List(library, provider, nics string) ([]Offer, error) {
	c := fabric.Config{Library: library, Provider: provider, NICs: nics}
	if err := load(c.Library); err != nil {
		return nil, err
	}
	version, err := apiVersion()
	if err != nil {
		return nil, err
	}
	providers := preference
	if provider != "" && !slices.Contains(preference, provider) {
		providers = append(slices.Clip(preference), provider)
	}
	var offers []Offer
	for _, name := range providers {
		all := ask(version, name)
		for i := all; i != nil; i = i.next {
			if o := offerOf(i); !slices.Contains(offers, o) {
				offers = append(offers, o)
			}
		}
		if all != nil {
			C.fi_freeinfo(all)
		}
	}
	info, err := choose(c)
	if err != nil {
		return offers, err
	}
	if n := slices.Index(offers, offerOf(info)); n >= 0 {
		offers[n].Chosen = true
	}
	C.fi_freeinfo(info)
	return offers, nil
}

func offerOf(i *C.struct_fi_info) Offer {
	return Offer{
		Provider: C.GoString(i.fabric_attr.prov_name),
		NIC:      C.GoString(i.domain_attr.name),
		Fabric:   C.GoString(i.fabric_attr.name),
	}
}
