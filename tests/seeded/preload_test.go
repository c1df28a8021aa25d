package seeded

// shimmed returns a test of the shim, which is built anew with the defect.
func shimmed(run string) test {
	return test{pkg: "./tests/preload", run: run, needs: append([]string{"lib/libshmem_preload.so"}, libraries...)}
}

// The library that LD_PRELOAD puts before a SHMEM library.
var preloadDefects = []defect{
	{
		id: "preload/published-before-its-bytes", file: "capi/preload/ring.h",
		was:  "atomic_store_explicit(&r->head, head + 1, memory_order_release);",
		is:   "atomic_store_explicit(&r->head, head + 1, memory_order_relaxed);",
		user: "calls in a trace have the times of others",
		by:   shimmed("^TestSanitizers$/^thread$"), says: `ThreadSanitizer: data race|exit status 66`,
	},
	{
		id: "preload/deleted-without-a-word", file: "capi/preload/output.c",
		was:  "discarded += events[PRELOAD_PARTS - 1];",
		is:   "(void)events[PRELOAD_PARTS - 1];",
		user: "a trace that was cut reads as a whole one",
		by:   shimmed("^TestBound$"), says: `in the trace, and 0 lost, of 40002`,
	},
	{
		id: "preload/peer-of-the-team", file: "capi/preload/teams.c",
		was:  "return pe >= 0 && pe < contexts[i].team->n ? contexts[i].team->pes[pe] : pe;",
		is:   "return pe;",
		user: "the matrix of PEs shows bytes at a PE that got none",
		by:   shimmed("^TestTeams$"), says: `the peer is 1, and not [23]`,
	},
	{
		id: "preload/handle-used-again", file: "capi/preload/teams.c",
		was:  "            f->team = t->id;\n            atomic_store(&t->dead, true);",
		is:   "            f->team = t->id;",
		user: "calls of a new team are recorded as those of a destroyed one that had the same handle",
		by:   shimmed("^TestReuse$"), says: `the teams of the syncs are \[\[0 1\] \[0 1\]`,
	},
	{
		id: "preload/name-that-is-not-there", file: "capi/preload/lookup.c",
		was:  "return preload_find((unsigned)number, caller) ? as_it_is : none;",
		is:   "(void)none;\n        return as_it_is;",
		user: "a program that asks whether its library has a function crashes in it",
		by:   shimmed("^TestLookups$"), says: `shmemx_int16_g: yes`,
	},
}
