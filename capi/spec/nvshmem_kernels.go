package spec

import "slices"

// This file has the functions of NVSHMEM for kernels that have no row with the host's functions.

// queueTypes returns the element types under the names that they have in functions on a queue pair:
// qp_float.
func queueTypes() []Type {
	types := slices.Clone(KernelTypes)
	for i := range types {
		types[i].Name = "qp_" + types[i].Name
	}
	return types
}

var paramQueue = Param{Name: "qp_handle", C: "nvshmemx_qp_handle_t", Doc: "a queue: a handle of nvshmemx_qp_create, or NVSHMEMX_QP_DEFAULT"}

// kernelRow returns the table row of an extension of NVSHMEM that only kernels call; k has its
// parameters and its code.
func kernelRow(name string, k Kernel) Family {
	k.X = true
	f := nvshmemFamily(Family{Name: name, Params: k.Params, Kernel: []Kernel{k}, Doc: k.Doc})
	nvshmemKernels(&f)
	return f
}

// queueRows returns the rows of functions on a queue. A handle of a queue pair means one of the
// PE's rings (queues from kernels to the proxy), which orders and completes its own operations.
// NVSHMEMX_QP_DEFAULT and similar constants mean all rings.
func queueRows() []Family {
	onQueue := func(params ...Param) []Param { return append(params, paramQueue) }
	dest, source := Param{Name: "dest", C: "T *", Role: Written}, Param{Name: "source", C: "const T *", Role: Source}
	array := func(name, body, doc string, params []Param) Family {
		return kernelRow(name, Kernel{Types: queueTypes(), Variants: Nbi, Scopes: allScopes, Params: params, Body: body, Doc: doc})
	}
	element := func(name string, k Kernel) Family {
		k.Types = queueTypes()
		return kernelRow(name, k)
	}
	queues := []Param{paramPE, {Name: "qp_handles", C: "nvshmemx_qp_handle_t *", Role: Source, Doc: "queues"}, {Name: "num_qps", C: "int", Doc: "how many"}}
	return []Family{
		array("put", "shmemi_put<$scope, $nbi>(nvshmemi_queue($job, qp_handle), $call, dest, source, $bytes, pe)", "Copies an array of nelems elements to another PE, by a queue.",
			onQueue(dest, source, paramNelems, paramPE)),
		array("get", "shmemi_get<$scope, $nbi>(nvshmemi_queue($job, qp_handle), $call, dest, source, $bytes, pe)", "Copies an array of nelems elements from another PE, by a queue.",
			onQueue(dest, source, paramNelems, paramPE)),
		array("put_signal", "shmemi_put_signal<$scope, $nbi>(nvshmemi_queue($job, qp_handle), $call, dest, source, $bytes, sig_addr, signal, sig_op, pe)",
			"Copies an array of nelems elements to another PE, and then updates a signal there, by a queue.",
			onQueue(dest, source, paramNelems, sigAddr, sigValue, sigOp, paramPE)),
		element("p", Kernel{Params: onQueue(dest, Param{Name: "value", C: "T"}, paramPE), Body: "shmemi_p<$T>(nvshmemi_queue($job, qp_handle), $call, dest, value, pe)", Doc: "Writes an element of another PE, by a queue."}),
		element("g", Kernel{Params: onQueue(source, paramPE), Result: "T", Body: "shmemi_g<$T>(nvshmemi_queue($job, qp_handle), $call, source, pe)", Doc: "Reads an element of another PE, by a queue."}),
		kernelRow("qp_signal_op", Kernel{
			In: kernelSignal, Params: onQueue(sigAddr, sigValue, sigOp, paramPE), Body: "shmemi_signal(nvshmemi_queue($job, qp_handle), $call, sig_addr, signal, sig_op, pe)",
			Doc: "Sets a signal of another PE or adds to it, by a queue.",
		}),
		kernelRow("qp_quiet", Kernel{
			In: kernelOrdering, Scopes: allScopes, Params: queues, Body: "nvshmemi_quiet_queues<$scope>($job, $call, qp_handles, num_qps)",
			Doc: "Waits until the earlier operations of the num_qps queues in qp_handles are complete at all PEs. It ignores pe.",
		}),
		kernelRow("qp_fence", Kernel{
			In: kernelOrdering, Scopes: allScopes, Params: queues, Body: "nvshmemi_fence_queues<$scope>($job, $call, qp_handles, num_qps)",
			Doc: "Orders the earlier operations of each of the num_qps queues in qp_handles before the later operations of that queue, for each PE. It ignores pe.",
		}),
	}
}

// withKernelScatters adds the functions for kernels to the rows of reduceScatters, and returns the
// rows.
func withKernelScatters(rows []Family) []Family {
	for i := range rows {
		f := &rows[i]
		if f.Types[0].Kind == Late {
			continue // half and bfloat16 are already in the row of the other types
		}
		op := f.Name[:len(f.Name)-len("_reducescatter")]
		types := f.Types
		if types[0] == tFloat { // an operation on numbers, not on bits
			types = append(slices.Clone(types), tHalf, tBFloat16)
		}
		f.Kernel = []Kernel{{
			In: kernelReductions, Types: types, Scopes: allScopes,
			Body: "shmemi_reducescatter<$scope, shmemi_$late" + op + ", $T>($job, $call, team, dest, source, nreduce)",
		}}
		nvshmemKernels(f)
	}
	return rows
}

var nvshmemOfKernels = []Chapter{
	{File: "queues", Title: "Queues", Kernel: kernelRMA, Families: queueRows()},
	{
		File: "kernels", Title: "Functions for kernels only", Kernel: kernelCollectives,
		Families: []Family{
			kernelRow("flush", Kernel{
				In: kernelOrdering, Scopes: allScopes, Body: "shmemi_quiet_together<$scope>($job, $call)",
				Doc: "Waits until the sources of nonblocking puts may be reused. It does what quiet does.",
			}),
			kernelRow("barrier_warpgroup", Kernel{
				Result: "int", Params: []Param{nvshmemTeam}, Body: "shmemi_sync<shmemi_by_warpgroup, 1>($job, $call, team)",
				Doc: "Completes the warps' operations and waits until every PE of a team has called it. Four successive warps of a block call it together, " +
					"in a block whose threads are a multiple of 128. Returns 0, or non-zero for NVSHMEM_TEAM_INVALID.",
			}),
			kernelRow("maxloc_reduce", Kernel{
				Types: []Type{{"double2", "double2", Half, 128, ""}}, Scopes: []Scope{Block}, Result: "int",
				Params: []Param{nvshmemTeam, collDest, collSource, nreduce},
				Body:   "shmemi_reduce<$scope, shmemi_maxloc, $T>($job, $call, team, dest, source, nreduce)",
				Doc: "Sets each pair of dest, at every PE of a team, to the one of the pairs at that place in the team's sources whose first number (x) is the " +
					"greatest. Returns 0, or non-zero for NVSHMEM_TEAM_INVALID.",
			}),
			kernelRow("mc_ptr", Kernel{
				In: kernelSetup, Result: "void *", Params: []Param{nvshmemTeam, {Name: "ptr", C: "const void *", Doc: "symmetric address"}},
				Body: "((void)team, (void)ptr, (void *)NULL)", Doc: "Returns NULL: the library makes no multicast addresses.",
			}),
			kernelRow("vendor_get_version_info", Kernel{
				In: kernelSetup, Params: []Param{{Name: "major", C: "int *"}, {Name: "minor", C: "int *"}, {Name: "patch", C: "int *"}},
				Body: "nvshmemi_get_vendor(major, minor, patch)", Doc: "Stores the release of NVSHMEM that the library replaces.",
			}),
			kernelRow("signal_counted_reset", Kernel{
				In: kernelSignal, Params: []Param{{Name: "sig_addr", C: "uint64_t *", Role: Watched}},
				Body: "shmemi_store_element(sig_addr, (uint64_t)0)", Doc: "Sets a counter of counted writes of this PE to 0.",
			}),
			kernelRow("region_start_block", Kernel{
				In: kernelSetup, Result: "int",
				Params: []Param{{Name: "handle", C: "nvshmemx_region_handle_t *", Role: Result}, {Name: "attrs", C: "const nvshmemx_region_attrs_t *", Role: Source}},
				Body:   "nvshmemi_start_region(handle, attrs)", Doc: "Begins a region with hints, which have no effect. Returns 0, or NVSHMEMX_ERROR_INVALID_VALUE when a pointer is NULL.",
			}),
			kernelRow("region_stop_block", Kernel{
				In: kernelSetup, Result: "int", Params: []Param{{Name: "handle", C: "nvshmemx_region_handle_t"}},
				Body: "((void)handle, (int)NVSHMEMX_SUCCESS)", Doc: "Ends a region. Returns 0.",
			}),
			kernelRow("region_is_active", Kernel{
				In: kernelSetup, Result: "int", Params: []Param{{Name: "hints", C: "uint32_t"}, {Name: "active", C: "int *", Role: Result}},
				Body: "nvshmemi_no_region(hints, active)", Doc: "Stores 0 in active: hints have no effect. Returns 0, or NVSHMEMX_ERROR_INVALID_VALUE when active is NULL.",
			}),
			kernelRow("ask_smem", Kernel{
				In: kernelSetup, Result: "int", Params: []Param{{Name: "amount", C: "nvshmemx_smem_amount_t"}},
				Body: "((void)amount, 0)", Doc: "Returns how many bytes of shared memory the library can use: 0.",
			}),
			kernelRow("give_smem", Kernel{
				In: kernelSetup, Params: []Param{{Name: "memory", C: "void *"}, {Name: "bytes", C: "size_t"}},
				Body: "((void)memory, (void)bytes)", Doc: "Gives the library shared memory, which it does not use.",
			}),
			kernelRow("release_smem", Kernel{In: kernelSetup, Body: "(void)0", Doc: "Takes shared memory back. It does nothing."}),
			nvshmemFamily(Family{
				Name: "info_get_version", Params: []Param{{Name: "major", C: "int *"}, {Name: "minor", C: "int *"}},
				Kernel: []Kernel{{In: kernelSetup, Body: "nvshmemi_get_version(major, minor)", Doc: "Stores the version of NVSHMEM's interface that the library follows: 1 and 3."}},
			}),
			nvshmemFamily(Family{
				Name: "info_get_name", Params: []Param{{Name: "name", C: "char *", Role: Result}},
				Kernel: []Kernel{{In: kernelSetup, Body: "nvshmemi_get_name(name)", Doc: "Copies NVSHMEM_VENDOR_STRING, with the zero that ends it, into name, which has room for NVSHMEM_MAX_NAME_LEN characters."}},
			}),
		},
	},
}
