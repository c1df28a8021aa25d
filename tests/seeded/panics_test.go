package seeded

// Panics of the library: calls from C, and goroutines.
var panicDefects = []defect{
	{
		id: "panics/call-without-catch", file: "capi/core/network.go",
		was:  "	defer guard.Catch(\"fence\")\n",
		is:   "",
		user: "a mistake of the library in shmem_fence ends a PE by a traceback of Go, and no PE is named",
		by:   unit("./capi/core", "^TestPanics$"), says: `shmemgoFence does not begin with a deferred guard.Catch`,
	},
	{
		id: "panics/goroutine-without-catch", file: "runtime/guard/guard.go",
		was:  "		defer Catch(where)\n",
		is:   "",
		user: "a mistake of the library in a proxy ends a PE by a traceback of Go, and no PE is named",
		by:   job("./tests/failure", "^TestPanics$/^a_goroutine$"), says: `Go ended the process`,
	},
	{
		id: "panics/goroutine-by-go", file: "runtime/job/device/kernels.go",
		was:  "	guard.Go(\"the watch of kernels\", func() { k.watch(fatal, jobOver) })\n",
		is:   "	go k.watch(fatal, jobOver)\n	_ = guard.Go\n",
		user: "a mistake of the library in what reads reports of kernels ends a PE by a traceback of Go",
		by:   unit("./tests/repo", "^TestGoroutines$"), says: `kernels.go:.*\(use guard.Go\)`,
	},
}
