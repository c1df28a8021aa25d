package network

import (
	"libshmem/fabric/ofi"
	"libshmem/runtime/config"
	"libshmem/runtime/guard"
)

// Load loads libfabric in another thread, so that the PEs exchange their peer info during the 0.2 s
// that loading takes in Debian 12. The function that it returns waits until loading has ended. If
// it has failed, Open tries again, and reports the error.
//
// Until loading has ended, no part of the process should rely on its signal handlers, because the
// libraries that are loaded replace them for a time (fabric/ofi/load.c). Nor should it rely on the
// processors of the loading thread, because such a library may bind it to one.
func Load(settings *config.Config) (wait func()) {
	ofi.SetOptions()
	done := make(chan struct{})
	guard.Go("the thread that loads libfabric", func() {
		defer close(done)
		_, _ = ofi.Load(settings.Libfabric) // Open tries again, and reports the error
	})
	return func() { <-done }
}
