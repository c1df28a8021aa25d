package seeded

// The table of functions and the generators of C and Python.
var generatedDefects = []defect{
	{
		id: "generated/extension-of-nvshmem", file: "capi/spec/nvshmem_shared.go",
		was:  " || f.X && !f.Nvshmem {",
		is:   " {",
		user: "nvshmemx.h declares extensions that NVSHMEM does not have",
		by:   unit("./capi/spec", "^TestNvshmemExtensions$"), says: `nvshmemx_put_ordered: there: true, the row says false`,
	},
	{
		id: "generated/field-that-nothing-reads", file: "capi/spec/ignored.go",
		was:  "	\"Check\":   \"a program in tests/c\",\n",
		is:   "",
		user: "a contributor gives an extension a check, and no test is made of it",
		by:   unit("./capi/spec", "^TestIgnored$"), says: `Check: <nil>`,
	},
	{
		id: "generated/number-in-a-page", file: "runtime/bootstrap/slurm/step.go",
		was:  "	listeners = 8\n",
		is:   "	listeners = 16\n",
		user: "a reader of the guide opens half of the ports that PE 0 of a Slurm job may listen at",
		by:   unit("./tests/repo", "^TestProseNumbers$"), says: `docs/guides/bootstrap.md: .* has the numbers \["8" "61000" "65535"\]`,
	},
	{
		id: "generated/part-of-the-shim-in-no-page", file: "runtime/config/table.go",
		was:  " ,size=BYTES ,full=wait ,clock=off",
		is:   " ,size=BYTES ,clock=off",
		user: "shmem-info --env does not say that the trace of the shim may wait",
		by:   unit("./tests/repo", "^TestPreloadParts$"), says: `lacks ,full=`,
	},
	{
		id: "generated/sum-of-a-narrower-type", file: "capi/spec/types.go",
		was:  "tShort     = Type{\"short\", \"short\", Signed, 16, \"unsigned short\"}",
		is:   "tShort     = Type{\"short\", \"short\", Signed, 16, \"unsigned char\"}",
		user: "shmem_short_sum_reduce adds modulo 256",
		by:   program("zz_reduce", "node-2"), says: `short_sum_reduce: PE \d: alone, element 0 of 1: expected`, gen: true,
	},
	{
		id: "generated/size-of-an-element", file: "capi/gen/c.go",
		was:  "return fmt.Sprintf(\"shmemi_bytes(nelems, %d)\", f.Type.Bits/8)",
		is:   "return fmt.Sprintf(\"shmemi_bytes(nelems, %d)\", min(f.Type.Bits, 64)/8)",
		user: "shmem_put128 copies half of what it should",
		by:   program("zz_rma", "node-2"), says: `shmem_put128: PE \d: left to right, element 0 of 1: expected`, gen: true,
	},
	{
		id: "generated/signal-is-set", file: "capi/spec/signal.go",
		was:  "\"shmemi_amo64($ctx, SHMEMI_AMO_ADD, sig_addr, signal, 0, pe, $call)\"",
		is:   "\"shmemi_amo64($ctx, SHMEMI_AMO_SET, sig_addr, signal, 0, pe, $call)\"",
		user: "shmemx_signal_add sets",
		by:   program("sync", "node-2"), says: `shmem_signal_wait_until has waited \d+ s: for`, hangs: true, gen: true,
	},
	{
		id: "generated/context-of-a-team", file: "capi/gen/c.go",
		was:  "			text = \"pe = shmemi_ctx_pe(ctx, pe, $call);\\n\" + text\n",
		is:   "			text = \"shmemi_ctx_pe(ctx, pe, $call);\\n\" + text\n",
		user: "operations by a context of a team reach the PE of that number in the job",
		by:   program("contexts", "node-4"), says: `a number of the team is another PE's`, gen: true,
	},
	{
		id: "generated/class-from-c", file: "include/shmemx.h",
		was:  "ignored \"-Wreturn-type-c-linkage\"",
		is:   "ignored \"-Wreturn-std-move\"",
		user: "clang warns about shmemx.h in each program of C++",
		by:   unit("./tests/abi", "^TestHeaderByClang$"), says: `error: 'shmemx_half_g_on_stream' has C-linkage specified`,
	},
	{
		id: "generated/letter-of-python", file: "capi/gen/python.go",
		was:  "\"unsigned char\": \"B\", \"unsigned short\": \"H\", \"unsigned int\": \"I\", \"unsigned long\": \"L\",",
		is:   "\"unsigned char\": \"B\", \"unsigned short\": \"H\", \"unsigned int\": \"I\", \"unsigned long\": \"I\",",
		user: "atomic operations of Python on uint64 lose the upper half",
		by:   pes("-n 2", "test_sync.py", "test_atomics"), says: `np\.uint64\(4294967295\) == 18446744073709551615`, gen: true,
	},
	{
		id: "generated/least-of-three", file: "capi/spec/reductions.go",
		was:  "reduction(\"min\", byOrder, \"b < a ? b : a\", \"the least\",",
		is:   "reduction(\"min\", byOrder, \"b < a ? a : b\", \"the least\",",
		user: "shmem_int_min_reduce gives the greatest of two",
		by:   program("zz_reduce", "node-2"), says: `min_reduce: PE \d: alone, element 0 of 1: expected`, gen: true,
	},
}
