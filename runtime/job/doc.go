// Package job is the life of a processing element: it reads the settings, meets the other PEs, maps
// the symmetric heap, opens the network and takes it all down again. It chooses the parts and puts
// them together. Each part is a package below this one or beside it. No part knows Job: a part gets
// values, functions, or an interface that it declares itself. Callers that need only one part call
// it directly, through its field of Job.
//
// Job has no thread of its own. Between init and finalize run the proxies that it starts, and the
// goroutines that watch PEs, kernels and driver calls.
package job
