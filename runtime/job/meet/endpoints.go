package meet

import (
	"fmt"

	"libshmem/runtime/proxy/gpustage"
)

// EndpointInfo describes one open endpoint of a PE to all other PEs.
type EndpointInfo struct {
	Addr     []byte            // the provider's address of the endpoint; empty: it has none
	Base     uint64            // remote address of the PE's user heap: an offset in the registered memory, or an address (proxy.Endpoint)
	Key      uint64            // the provider's key of that memory
	Window   uint32            // numbered writes that each other PE may have under way to this one
	Device   bool              // the heap is GPU memory
	Atomics  uint64            // atomic operations on that heap, by stream.AtomicBit
	Extents  []gpustage.Extent // the parts of that heap that NICs reach
	Flushes  bool              // the PE flushes what NICs have written there before it uses the bytes
	Tile     int               // largest tile that paths from and to the PE keep: see network.ownTile
	Provider string
	Host     string // its name for messages; "" except of the first PE of a node
}

// MatchEndpoints returns an error if the endpoints of all PEs cannot exchange messages: each PE
// needs n of them, all of one provider.
func MatchEndpoints(all [][]EndpointInfo, n int) error {
	for pe, infos := range all {
		if len(infos) != n {
			return fmt.Errorf("PE %d opened %d endpoints and another %d (start every PE with the same version of the library)", pe, len(infos), n)
		}
		for _, c := range infos {
			if first := all[0][0]; c.Provider != first.Provider {
				return fmt.Errorf("PE 0 has provider %s and PE %d has %s (name one that all have in SHMEM_PROVIDER)",
					first.Provider, pe, c.Provider)
			}
		}
	}
	return nil
}
