package spec

var (
	sigAddr  = Param{Name: "sig_addr", C: "uint64_t *", Role: Updated, Doc: "the signal word", Python: "signal"}
	sigValue = Param{Name: "signal", C: "uint64_t", Doc: "operand for the signal word", Python: "value"}
	sigOp    = Param{Name: "sig_op", C: "int", Doc: "SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD", Python: "op"}
)

var signal = Chapter{
	File:   "signal",
	Title:  "Signaling Operations",
	Over:   []string{"front.h", "until.h"},
	Kernel: kernelSignal,
	Families: []Family{
		{
			Name: "put_signal", Section: "SHMEM_PUT_SIGNAL", Since: "0.1", Contexts: true,
			Types: RMATypes, Variants: Nbi | Sized | Mem,
			Params: []Param{
				{Name: "dest", C: "T *", Role: Written, Doc: "must not overlap sig_addr"},
				{Name: "source", C: "const T *", Role: Source},
				paramNelems, sigAddr, sigValue,
				sigOp, paramPE,
			},
			Front: "shmemi_put_signal($ctx, dest, source, $nbytes, sig_addr, signal, sig_op, pe, false, $call)",
			FrontNbi: "shmemi_put_signal($ctx, dest, source, $nbytes, sig_addr, signal, sig_op, pe, true, " +
				"$call)",
			Kernel: []Kernel{{
				Types: KernelTypes, Variants: Nbi | Sized | Mem, Scopes: allScopes, Contexts: true,
				Body: "shmemi_put_signal<$scope, $nbi>($job, $call, dest, source, $bytes, sig_addr, signal, sig_op, pe)",
				Doc:  "Copies an array to another PE, then sets a signal there or adds to it.",
			}},
			Stream: &Stream{
				Types: StreamTypes, Variants: Nbi | Sized | Mem, Range: RangeRMA,
				Front:  "shmemi_stream_put_signal$nbi(dest, source, $nbytes, sig_addr, signal, sig_op, pe, stream, $call)",
				Doc:    "Copies an array to another PE when the stream reaches it, and then updates a signal word there: a PE that sees the signal also sees the data.",
				DocNbi: "Does what put_signal does, but source may be reused only after the next quiet on the stream.",
			},
			Doc: "Copies an array to another PE and then updates a signal word there: a PE that sees " +
				"the signal also sees the data. It returns when source may be reused.",
			DocNbi: "Does what put_signal does, but source may be reused only after the next quiet.",
			Python: &Python{
				Doc: "Copy as `put` does, and then update a signal of that PE.\n\n" +
					"A PE that sees the signal also sees the data.",
				DocNbi: "Do what `put_signal` does, but source may be reused only after the next `quiet`.",
				Stream: "put_signal",
			},
			Errors: "Ends the job when sig_op is neither of the two, when sig_addr is not aligned to 8 bytes, and as put.",
			Order: "The signal follows its own data, not the caller's earlier puts: shmem_fence before " +
				"the call orders those.",
			Check: CheckSignal,
		},
		{
			Name: "signal_set", Section: "SHMEM_SIGNAL_SET", Since: "0.1", Contexts: true, Generic: true,
			Params: []Param{sigAddr, sigValue, paramPE},
			Front:  "shmemi_amo64($ctx, SHMEMI_AMO_SET, sig_addr, signal, 0, pe, $call)",
			Kernel: []Kernel{{Contexts: true, Body: "shmemi_signal($job, $call, sig_addr, signal, SHMEMI_SIGNAL_SET, pe)"}},
			Doc:    "Writes a signal word of another PE.",
			Python: &Python{Doc: "Write a signal of another PE.", Stream: "signal_op", Op: "SHMEM_SIGNAL_SET"},
			Errors: atomicErrors,
			Order:  atomicOrder,
		},
		{
			Name: "signal_add", Section: "SHMEM_SIGNAL_ADD", Since: "0.1", Contexts: true, Generic: true,
			Params: []Param{sigAddr, sigValue, paramPE},
			Front:  "shmemi_amo64($ctx, SHMEMI_AMO_ADD, sig_addr, signal, 0, pe, $call)",
			Kernel: []Kernel{{
				Contexts: true, Body: "shmemi_signal($job, $call, sig_addr, signal, SHMEMI_SIGNAL_ADD, pe)",
				Doc: "Adds to a signal word of another PE.",
			}},
			Doc:    "Adds to a signal word of another PE, modulo 2^64.",
			Python: &Python{Doc: "Add to a signal of another PE, modulo 2^64.", Stream: "signal_op", Op: "SHMEM_SIGNAL_ADD"},
			Errors: atomicErrors,
			Order:  atomicOrder,
		},
		{ // also in kernels, under both names, and on streams
			Name: "signal_op", Since: "0.1",
			Params: []Param{sigAddr, sigValue, sigOp, paramPE},
			Doc:    "Sets a signal of another PE or adds to it.",
			Kernel: []Kernel{
				{X: true, Body: "shmemi_signal($job, $call, sig_addr, signal, sig_op, pe)"},
				{Body: "shmemi_signal($job, $call, sig_addr, signal, sig_op, pe)"},
			},
			Stream: &Stream{
				Range: RangeSet,
				Front: "shmemi_stream_signal(sig_addr, signal, sig_op, pe, stream, $call)",
				Doc:   "Updates a signal word of another PE when the stream reaches it.",
			},
		},
		{
			Name: "signal_fetch", Section: "SHMEM_SIGNAL_FETCH", Since: "0.1", Range: RangeTest,
			Result: "uint64_t",
			Params: []Param{{Name: "sig_addr", C: "const uint64_t *", Role: Watched,
				Doc: "the caller's own signal word", Python: "signal"}},
			Front:   "shmemi_signal_fetch(sig_addr, $call)",
			Kernel:  []Kernel{{Body: "shmemi_signal_fetch($job, $call, sig_addr)", Doc: "Reads a signal of this PE."}},
			Doc:     "Reads a signal word of the caller.",
			Python:  &Python{Doc: "Read a signal of this PE.", Returns: "The signal, as an unsigned number."},
			Returns: "The value.",
			Errors:  "Ends the job when sig_addr is not symmetric, and before init or after finalize.",
			Order:   "The data of the puts with signal whose updates are in the value is visible to the caller.",
		},
	},
}
