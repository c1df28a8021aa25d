package network

import (
	"fmt"

	"libshmem/runtime/config"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/mrcache/memmonitor"
	"libshmem/runtime/proxy"
)

// cacheRegions bounds how many buffers stay registered with a NIC. A NIC has room for 10^5 and
// more; the bound is for the time to find a free entry for a new one.
const cacheRegions = 1024

// keepRegistered makes an engine cache the registrations of callers' memory, if its provider needs
// registered memory and the system can report when the memory changes. Elsewhere each operation
// registers its own buffer, which is slower and as correct.
func (nw *Network) keepRegistered(e *proxy.Engine) {
	size := nw.Settings.RegistrationCache
	if nw.Cached = !e.Caps().LocalMR; nw.Cached {
		return // no buffer needs to be registered
	}
	nw.cache = "no registration cache"
	if size == 0 {
		return
	}
	w, err := memmonitor.Open()
	if err != nil {
		nw.cache += ", " + err.Error()
		nw.Log.Printf("fabric", config.LogInfo, "buffers outside the heap are registered for each operation: %v", err)
		return
	}
	e.KeepRegistered(w, mrcache.Limits{Bytes: size, Regions: cacheRegions})
	nw.Cached = true
	nw.cache = fmt.Sprintf("registration cache of %s", config.FormatSize(size))
}
