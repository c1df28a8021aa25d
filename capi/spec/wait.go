package spec

const waitErrors = "Ends the job when ivar is not symmetric, when cmp is not a comparison, and when " +
	"called before init or after finalize."

var (
	waitVar   = Param{Name: "ivar", C: "T *", Role: Watched, Doc: "changed by other PEs"}
	waitCmp   = Param{Name: "cmp", C: "int", Doc: "one of the SHMEM_CMP constants"}
	waitValue = Param{Name: "cmp_value", C: "T", Doc: "right-hand side of the comparison", Python: "value"}
)

var wait = Chapter{
	File:   "wait",
	Title:  "Point-To-Point Synchronization Routines",
	Over:   []string{"until.h", "waitset.h"},
	Range:  RangeWait,
	Kernel: kernelWait,
	Families: append([]Family{
		{
			Name: "wait_until", Section: "SHMEM_WAIT_UNTIL", Since: "0.1",
			Types:  AMOTypes,
			Params: []Param{waitVar, waitCmp, waitValue},
			Front:  "shmemi_wait_$S(ivar, cmp, cmp_value, $call)",
			Kernel: []Kernel{{
				Types: KernelWaitTypes, Body: "(void)shmemi_wait<$T>($job, $call, ivar, cmp, cmp_value)",
				Doc: "Waits until a word of this PE satisfies the comparison.",
			}},
			Stream: &Stream{
				Types: KernelWaitTypes, Range: RangeWaitOnStream,
				Front: "shmemi_stream_wait(ivar, 1, NULL, cmp, &cmp_value, NULL, $element, stream, $call)",
				Doc:   "Makes the stream wait until a variable of the caller satisfies the comparison.",
			},
			Doc: "Waits until a variable of the caller satisfies the comparison. The caller spins, then " +
				"yields, then sleeps.",
			Python: &Python{
				Doc:    "Wait until an element of this PE satisfies the comparison: `wait_until(flags, \">=\", 2)`.",
				Stream: "wait_until", Waits: true,
			},
			Errors: waitErrors,
			Order: "What the other PE wrote before the update, with a fence or a signal between the " +
				"two, is visible after the call.",
			Check: CheckWait,
		},
		{
			Name: "test", Section: "SHMEM_TEST", Since: "0.1", Range: RangeTest,
			Types: AMOTypes, Result: "int",
			Params: []Param{waitVar, waitCmp, waitValue},
			Front:  "shmemi_test_$S(ivar, cmp, cmp_value, $call)",
			Kernel: []Kernel{{
				Types: KernelWaitTypes, Body: "shmemi_test<$T>($job, $call, ivar, cmp, cmp_value)",
				Doc: "Reports whether a word of this PE satisfies the comparison.",
			}},
			Doc:     "Reports at once whether a variable of the caller satisfies the comparison.",
			Returns: "1 or 0.",
			Python:  &Python{Doc: "Report at once whether an element of this PE satisfies the comparison.", Returns: "Whether it does."},
			Errors:  waitErrors,
			Order:   "After 1, as wait_until.",
			Check:   CheckTest,
		},
		{
			Name: "signal_wait_until", Section: "SHMEM_SIGNAL_WAIT_UNTIL", Since: "0.1",
			Result: "uint64_t",
			Params: []Param{
				{Name: "sig_addr", C: "uint64_t *", Role: Watched, Doc: "the caller's own signal word", Python: "signal"},
				waitCmp,
				{Name: "cmp_value", C: "uint64_t", Doc: "right-hand side of the comparison", Python: "value"},
			},
			Front: "shmemi_signal_wait_until(sig_addr, cmp, cmp_value, $call)",
			Kernel: []Kernel{{
				Body: "shmemi_wait<uint64_t>($job, $call, sig_addr, cmp, cmp_value)",
				Doc:  "Waits until a signal of this PE satisfies the comparison, and returns it.",
			}},
			Stream: &Stream{
				Range: RangeWaitOnStream, Result: "void",
				Front: "shmemi_stream_signal_wait(sig_addr, cmp, cmp_value, stream, $call)",
				Doc: "Makes the stream wait until a signal word of the caller satisfies the comparison. With SHMEM_CMP_EQ and SHMEM_CMP_GE " +
					"the wait occupies no processor of the GPU. SHMEM_CMP_GE compares counters: it holds if the word is " +
					"less than 2^63 ahead of cmp_value.",
			},
			Doc:     "Waits until a signal word of the caller satisfies the comparison.",
			Returns: "The value that ended the wait.",
			Python: &Python{
				Doc: "Wait until a signal of this PE satisfies the comparison, and return it.\n\n" +
					"Signals are compared as unsigned numbers, also those of int64: -1 is the greatest. With " +
					"stream= the stream waits, and \">=\" compares counters: it holds if the signal is less than " +
					"2^63 ahead of value.",
				Returns: "The signal, as an unsigned number; with `stream`, `value`.",
				Stream:  "signal_wait_until", Waits: true,
			},
			Errors: "As wait_until.",
			Order:  "The data of the puts with signal whose updates are in the value is visible after the call.",
		},
	}, waitSets()...),
}
