package ofi

/*
#include <stdlib.h>
#include "endpoint.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// Silent is a provider of the library that makes no offer here.
type Silent struct {
	Provider string
	Why      string
}

// ListSilent names the library's providers that List does not name. It leaves out layers and hooks,
// which libfabric lists together with the providers below them.
func ListSilent(library string) ([]Silent, error) {
	lib, err := Load(library)
	if err != nil {
		return nil, err
	}
	offers, err := List(library, Hints{})
	if err != nil {
		return nil, err
	}
	var silent []Silent
	for _, name := range lib.known() {
		if strings.HasPrefix(name, "ofi_") || slices.ContainsFunc(offers, func(o Offer) bool { return o.Provider == name }) {
			continue
		}
		silent = append(silent, Silent{name, lib.whySilent(name)})
	}
	return silent, nil
}

// known returns the names of all providers of the library, whether they can be used here or not.
func (l Library) known() []string {
	var list *C.struct_fi_info
	if C.shmemi_ofi_known(l.api, &list) != 0 {
		return nil
	}
	defer C.fi_freeinfo(list)
	var names []string
	for info := list; info != nil; info = info.next {
		if name := C.GoString(info.fabric_attr.prov_name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// whySilent returns, for messages, why a provider makes no offer: it offers endpoints of other
// kinds only, or none.
func (l Library) whySilent(provider string) string {
	name := C.CString(provider)
	defer C.free(unsafe.Pointer(name))
	var list *C.struct_fi_info
	if ret := C.shmemi_ofi_anything(l.api, name, &list); ret != 0 {
		return fmt.Sprintf("fi_getinfo: %v: it finds no device of its own", fault(ret))
	}
	defer C.fi_freeinfo(list)
	var kinds []string
	for info := list; info != nil; info = info.next {
		kind := map[C.enum_fi_ep_type]string{
			C.FI_EP_MSG: "connections", C.FI_EP_DGRAM: "unreliable datagrams", C.FI_EP_RDM: "reliable datagrams that lack messages or RMA",
		}[info.ep_attr._type]
		// A provider's name also stands for the layered providers on top of it.
		if C.GoString(info.fabric_attr.prov_name) == provider && kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return "it offers " + strings.Join(kinds, " and ") + ", which need a layer above"
}
