package seeded

// How PEs of a node wait: when they sleep, who makes the membarrier, and on which processor they
// are.
var waitDefects = []defect{
	{
		id: "waits/asleep-too-soon", file: "capi/front/wait.c",
		was:  "#define AWAKE_NS 50000000u",
		is:   "#define AWAKE_NS 4000000u",
		user: "after one PE was late, barriers of the node take milliseconds for whole runs",
		by:   unit("./tests/front", "^TestModel$"), says: `\d+ PEs, one late by 20ms: quick again after`,
	},
	{
		id: "waits/membarrier-under-way", file: "capi/front/sleep.c",
		was:  "&shmemi_node_ctl()->membarriers_begun, __ATOMIC_SEQ_CST) + 1;",
		is:   "&shmemi_node_ctl()->membarriers_begun, __ATOMIC_SEQ_CST);",
		user: "now and then a put does not wake the PE that waits for it, for up to 10 ms",
		by:   unit("./tests/front", "^TestSleep$"), says: `line \d+: .* does not hold`,
	},
	{
		id: "waits/membarrier-of-each", file: "capi/front/sleep.c",
		was:  "    if (is_done(first, w->membarrier)) {",
		is:   "    if (false && is_done(first, w->membarrier)) {",
		user: "PEs that fall asleep together wait for each other's membarriers",
		by:   unit("./tests/front", "^TestSleep$"), says: `shmemi_prepare_sleep\(&b\) && made == 1 does not hold`,
	},
	{
		id: "waits/stopped-in-a-membarrier", file: "capi/front/sleep.c",
		was:  "    } else if (shmemi_now() - w->announced > PATIENCE_NS) {",
		is:   "    } else if (false) {",
		user: "once a PE was killed as it fell asleep, no other PE of its node sleeps again",
		by:   unit("./tests/front", "^TestSleep$"), says: `shmemi_prepare_sleep\(&b\) && made == 2 does not hold`,
	},
	{
		id: "waits/processors-change-places", file: "capi/front/processor.c",
		was:  "    if (on[best] + 1 >= on[mine_is])",
		is:   "    if (on[best] >= on[mine_is])",
		user: "PEs that share processors move back and forth",
		by:   unit("./tests/front", "^TestMoving$"), says: `line \d+: .*effort.moves == \d`,
	},
	{
		id: "waits/bound-by-a-move", file: "capi/front/processor.c",
		was:  "    sched_setaffinity(0, sizeof allowed, &allowed);\n",
		is:   "",
		user: "a thread that waited is bound to one processor ever after",
		by:   unit("./tests/front", "^TestMoving$"), says: `CPU_COUNT\(&allowed\) == 4`,
	},
	{
		id: "waits/all-pes-compete", file: "runtime/job/peerinfo/processors.go",
		was:  "if s.Within(set) {\n				confined[set]++",
		is:   "if true || s.Within(set) {\n				confined[set]++",
		user: "PEs that mpirun binds to a core each wait as if they shared it",
		by:   unit("./runtime/job/peerinfo", "^TestCrowded$"), says: `each bound to its own: \[true true true true\]`,
	},
	{
		id: "waits/call-in-a-handler", file: "capi/front/netcall.c",
		was:  "                            shmemi_netcall);\n",
		is:   "                            call);\n",
		user: "a job that a call in a signal handler ends does not say which call the signal has interrupted",
		by:   job("./tests/failure", "^TestCallInHandler$/^put$"), says: `has interrupted shmem_long_p in the middle`,
	},
}
