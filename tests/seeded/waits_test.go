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
		was:  "        sched_setaffinity(0, sizeof allowed, &allowed);",
		is:   "        (void)allowed;",
		user: "a thread that waited is bound to one processor ever after",
		by:   unit("./tests/front", "^TestMoving$"), says: `CPU_COUNT\(&allowed\) == 4`,
	},
	{
		id: "waits/old-places", file: "capi/front/processor.c",
		was:  "    shmemi_processor_show();\n    return now;",
		is:   "    return now;",
		user: "PEs that share processors stay badly spread over them, and barriers take several times as long",
		by:   unit("./tests/front", "^TestMoving$"), says: `pe\[0\].page.processor == 3 does not hold`,
	},
	{
		id: "waits/two-choose-one-place", file: "capi/front/processor.c",
		was:  "    show(best); /* before others look */\n",
		is:   "",
		user: "PEs that leave a shared processor at the same time meet on another one",
		by:   unit("./tests/front", "^TestMoving$"), says: `shown_first == 4 does not hold`,
	},
	{
		id: "waits/patient-after-a-sleep", file: "capi/front/processor.c",
		was:  "    if (shmemi_now() - mine.since >= MOVE_LAST_NS)",
		is:   "    if (false)",
		user: "after one PE was late, PEs that woke on the same processors stay there for milliseconds",
		by:   unit("./tests/front", "^TestMoving$"), says: `effort.moves == \(uint64_t\)is_long does not hold`,
	},
	{
		id: "waits/moves-beside-others", file: "capi/front/processor.c",
		was:  "!shmemi_state.moves || mine.brief > QUICK_YIELDS - MOVE_YIELDS",
		is:   "!shmemi_state.moves",
		user: "beside programs that compute, more PEs than processors take up to three times as long",
		by:   unit("./tests/front", "^TestMoving$"), says: `effort.moves == 0 does not hold`,
	},
	{
		id: "waits/short-slices-stay", file: "capi/front/processor.c",
		was:  "        restore_slices();",
		is:   "        (void)restore_slices;",
		user: "with more PEs than processors a barrier takes 15 to 50 us in place of 6, for whole runs",
		by:   unit("./tests/front", "^TestMoving$"), says: `slice == USUAL_SLICE && slices_set == 2 does not hold`,
	},
	{
		id: "waits/short-slices-for-long", file: "capi/front/processor.c",
		was:  "#define QUICK_YIELDS 1000",
		is:   "#define QUICK_YIELDS 30000",
		user: "with more PEs than processors the node is not quick again within 10 ms",
		by:   unit("./tests/front", "^TestSlices$"), says: `not quick again within 10 ms`,
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
