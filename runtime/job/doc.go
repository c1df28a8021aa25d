// Package job is the life of a processing element: it reads the settings, meets the other PEs, maps
// the symmetric heap, opens the network and takes it all down again. It is the one place where
// those parts are chosen and put together. It holds no algorithm of its own. Between init and
// finalize only the proxy threads that it starts, and the thread and the goroutines that watch PEs,
// kernels and driver calls, run in it.
package job
