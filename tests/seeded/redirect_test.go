package seeded

// redirected and experimented are tests of the shim's other modes, with the shim built anew.
func redirected(run string) test {
	return test{pkg: "./tests/redirect", run: run, needs: append([]string{"lib/libshmem_preload.so"}, libraries...)}
}

func experimented(run string) test {
	return test{pkg: "./tests/experiments", run: run, needs: append([]string{"lib/libshmem_preload.so"}, libraries...)}
}

// Programs of other libraries on libshmem, and the rules that programs break.
var redirectDefects = []defect{
	{
		id: "redirect/row-with-our-value", file: "capi/preload/redirect_openmpi.c",
		was:  `{"SHMEM_CTX_SERIALIZED", 2, 1},`,
		is:   `{"SHMEM_CTX_SERIALIZED", 1, 1},`,
		user: "a context of a program of Open MPI is private to a thread where it asked for a serialized one",
		by:   redirected("^TestTable$"), says: `SHMEM_CTX_SERIALIZED`,
	},
	{
		id: "redirect/array-of-the-program", file: "capi/preload/mode_redirect.c",
		was:  "    if (work >= 0)\n        f->arg[work] = our_work;",
		is:   "    (void)our_work;\n    (void)work;",
		user: "a reduction writes behind the array pWrk of a program of Open MPI",
		by:   redirected("^TestSame$/^sets$"), says: `exit status|guards`,
	},
	{
		id: "redirect/short-handle", file: "capi/preload/mode_redirect.c",
		was:  "return handle == INVALID ? 0 : TAG << 32 | (uint32_t)handle;",
		is:   "return handle == INVALID ? 0 : (uint32_t)handle;",
		user: "SHMEM_CTX_DEFAULT is NULL in a program of Open MPI, and its calls on contexts end the job",
		by:   redirected("^TestSame$/^contexts$"), says: `exit status|default is a handle: 0`,
	},
	{
		id: "early/source-in-the-call", file: "capi/preload/delayed.c",
		was:  "const void *from = from_copy || !d->source ? d->copy : d->source;",
		is:   "const void *from = d->copy;\n    (void)from_copy;",
		user: "a program that changes a source too early has the right result under early",
		by:   experimented("^TestFaults$/^libshmem$/^source$"), says: `the result is right`,
	},
	{
		id: "early/quiet-of-all-contexts", file: "capi/preload/delayed_contexts.c",
		was:  "return delayed_on_context(d, f) && (c->pe < 0 || preload_pe(f) == d->pe);",
		is:   "return true;",
		user: "a program that calls the quiet of another context than its put's has the right result under early",
		by:   experimented("^TestFaults$/^libshmem$/^context$"), says: `the result is right`,
	},
	{
		id: "early/context-of-another-thread", file: "capi/preload/delayed_contexts.c",
		was:  "return !d->one_thread || pthread_equal",
		is:   "return d->one_thread || pthread_equal",
		user: "a thread sends another thread's puts on a private context, which the library does not expect",
		by:   experimented("^TestPrivate$"), says: `belongs to another thread`,
	},
	{
		id: "chaos/fence-forgotten", file: "capi/preload/mode_chaos.c",
		was:  "    case PRELOAD_KIND_IPUT:\n        return true;",
		is:   "    case PRELOAD_KIND_IPUT:\n    case PRELOAD_KIND_FENCE:\n        return true;",
		user: "a program with all its fences is reported, and has a wrong result",
		by:   experimented("^TestSilent$/^fence$"), says: `no fence is between|PE [01]: wrong`,
	},
	{
		id: "chaos/strides-swapped", file: "capi/preload/delayed.c",
		was:  "(size_t)argument_at(f, '5') * preload_calls[f->number].size;",
		is:   "(size_t)argument_at(f, '4') * preload_calls[f->number].size;",
		user: "a strided put writes other elements of its source under chaos",
		by:   experimented("^TestSilent$/^column$"), says: `PE [01]: wrong|exit status`,
	},
	{
		id: "chaos/own-signal-forgotten", file: "capi/preload/chaos_flags.c",
		was:  "is_in_blocks(r, n->data_signal, 0, 2 * sizeof(uint64_t), 1)",
		is:   "false",
		user: "a program that waits for the signals of all its puts is reported by chaos",
		by:   experimented("^TestSilent$/^signals$"), says: `no fence is between`,
	},
	{
		id: "chaos/flag-in-a-gap", file: "capi/preload/chaos_flags.c",
		was:  ".data_step = data->stride > 0 ? data->stride : data->block,",
		is:   ".data_step = data->block,",
		user: "a strided put whose flag is between its elements is not reported by chaos",
		by:   experimented("^TestFaults$/^libshmem$/^column$"), says: `the shim says`,
	},
}
