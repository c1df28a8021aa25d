// Package job is the life of a processing element: it reads the settings, meets the other PEs, maps
// the symmetric heap, opens the network and takes it all down again. It chooses the parts and puts
// them together. Each part is a package below this one or beside it, and none of them knows Job: it
// gets values, functions, or an interface that it declares itself. Callers call a part directly,
// through the field of Job that has it, if they need nothing else.
//
// Job has no thread of its own. Between init and finalize run the proxies that it starts, and the
// goroutines that watch PEs, kernels and driver calls.
package job
