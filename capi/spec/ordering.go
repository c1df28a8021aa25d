package spec

// orderCalls are the extensions about the order of operations.
var orderCalls = []Family{{
	Name: "put_ordered", Section: "order", Since: "0.1", Result: "int",
	Params: []Param{paramPE},
	Front:  "shmemi_put_ordered(pe, $call)",
	Doc: "Reports whether the caller's puts to another PE keep their order without a fence. Where they do, the signal or the " +
		"notification of a put says that the bytes of all earlier puts to that PE are there as well, those that the same thread " +
		"has made on the same context. So the last of many puts can announce all of them. Elsewhere the signal may come before " +
		"earlier bytes: call shmem_fence before the last put, or count notifications. The order is kept by the processor within " +
		"a node, and by networks that promise it, such as tcp; it is not kept by EFA, by several NICs of a PE, in chaos mode, " +
		"and in jobs whose PEs have GPUs.",
	Returns: "1 or 0.",
	Errors:  "Ends the job when called before init or after finalize, and when there is no such PE.",
}}

var ordering = Chapter{
	File:   "ordering",
	Title:  "Memory Ordering Routines",
	Kernel: kernelOrdering,
	Families: []Family{
		{
			Name: "fence", Section: "SHMEM_FENCE", Since: "0.1", Contexts: true,
			Front: "shmemi_fence($ctx, $call)",
			Kernel: []Kernel{{
				Contexts: true, Body: "shmemi_fence($job, $call)",
				Doc: "Orders earlier operations before later ones, at each PE.",
			}},
			Doc: "Orders the caller's operations on the context, without ctx the default one: for each PE, the puts, atomics and signals before the " +
				"call are delivered before those after it. It does not complete " +
				"them, and does not order gets and fetching nonblocking atomics.",
			Errors: "Ends the job when called before init or after finalize.",
		},
		{
			Name: "quiet", Section: "SHMEM_QUIET", Since: "0.1", Contexts: true,
			Front: "shmemi_quiet($ctx, $call)",
			Kernel: []Kernel{{
				Contexts: true, Body: "shmemi_quiet($job, $call)",
				Doc: "Waits until the earlier operations of this thread, and of the threads with which it has synchronised since, are complete at each PE.",
			}},
			Stream: &Stream{
				Range: RangeQuietStream, Front: "shmemi_stream_quiet(stream, $call)",
				Doc: "Makes the stream wait until all puts, atomics and nonblocking calls of streams and kernels of this PE are complete.",
			},
			Doc: "Waits until all operations of the caller on the context, without ctx the default one, are complete: puts, atomics and signals are " +
				"visible to every PE, and nonblocking gets and fetches are in the caller's memory.",
			Errors: "Ends the job when called before init or after finalize, and when a PE with " +
				"operations in flight is lost.",
		},
		{
			Name: "pe_quiet", Section: "SHMEM_PE_QUIET", Since: "0.1", Range: RangeMemOrder, Contexts: true,
			Params: []Param{{Name: "target_pe", C: "int", Doc: "number of a PE"}},
			Front:  "shmemi_pe_quiet($ctx, target_pe, $call)",
			Doc: "Waits until the caller's operations at one PE are complete, as quiet does for all PEs. It may " +
				"also wait for operations at other PEs.",
			Errors: "As quiet, and when target_pe is not a PE.",
		},
	},
}
