package network

import (
	"libshmem/fabric/ofi"
	"libshmem/runtime/config"
	"libshmem/runtime/guard"
)

// Load loads libfabric in another thread, so that the PEs exchange their peer info during the 0.2 s
// that loading takes in Debian 12. The function that it returns waits until libfabric is loaded.
// Open reports an error.
//
// Nothing else of the process should depend on the moment: until the end, libraries that are loaded
// may handle signals (fabric/ofi/load.c), and the loading thread may be bound to one processor.
func Load(settings *config.Config) (wait func()) {
	ofi.SetOptions()
	done := make(chan struct{})
	guard.Go("the thread that loads libfabric", func() {
		defer close(done)
		_, _ = ofi.Load(settings.Libfabric) // Open tries again, and reports the error
	})
	return func() { <-done }
}
