package network

import (
	"fmt"

	"libshmem/runtime/config"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/mrcache/memmonitor"
	"libshmem/runtime/proxy"
)

// cacheRegions bounds how many buffers stay registered with a NIC. A NIC has room for 10^5 and
// more; the bound limits the time to find a free entry of the cache for a new buffer.
const cacheRegions = 1024

// keepRegistered makes an engine keep callers' buffers registered after an operation, in a
// registration cache. That needs a memory monitor, because a registration must end when its memory
// is unmapped. Without a monitor, or if the size of the cache is 0, each operation registers its
// own buffer, which is slower but just as correct. A provider that needs no registration of local
// buffers needs no cache.
func (nw *Network) keepRegistered(e *proxy.Engine) {
	size := nw.Settings.RegistrationCache
	nw.RegistersBuffers = e.Caps().LocalMR
	if !nw.RegistersBuffers {
		return // local buffers need no registration
	}
	nw.cache = "no registration cache"
	if size == 0 {
		return
	}
	monitor, err := memmonitor.Open()
	if err != nil {
		nw.cache += ", " + err.Error()
		nw.Log.Printf("fabric", config.LogInfo, "buffers outside the heap are registered for each operation: %v", err)
		return
	}
	e.KeepRegistered(monitor, mrcache.Limits{Bytes: size, Regions: cacheRegions})
	nw.RegistersBuffers = false
	nw.cache = fmt.Sprintf("registration cache of %s", config.FormatSize(size))
}
