package table

// statusPage has the data of a PE that other processes read. Before it each page has a head, which
// only Go knows (runtime/statuspage).
var statusPage = Unit{
	Name:   "statuspage",
	Doc:    "the data of this PE that other processes see.",
	GoFile: "runtime/statuspage/zz_statuspage_unsafe.go",
	Constants: []Constant{
		{"STATUSPAGE_WAITS", "waitsShown", 8, "how many threads of the PE that wait for long are shown"},
	},
	Structs: []Struct{
		{Name: "statuspage_heap", Go: "Heap", Doc: "The use of the user heap. The core stores each word atomically, after every allocation and free.", Members: []Member{
			{Name: "size", Type: "u64", Doc: "bytes of the user heap"},
			{Name: "used", Type: "u64", Doc: "bytes that the blocks take"},
			{Name: "peak", Type: "u64", Doc: "bytes from the start of the heap to the highest end that a block has had"},
			{Name: "largest", Type: "u64", Doc: "bytes of the largest free block"},
			{Name: "blocks", Type: "u64", Doc: "how many blocks are allocated"},
			{Name: "failed", Type: "u64", Doc: "how many allocations have failed"},
		}},
		{Name: "statuspage_effort", Go: "Effort", Doc: "How the threads of this PE have waited. They add, atomically, and never in a wait of less than a microsecond.", Members: []Member{
			{Name: "yields", Type: "u64", Doc: "yields of the processor"},
			{Name: "switches", Type: "u64", Doc: "yields that let another thread run; not counted where PEs share processors by their number"},
			{Name: "moves", Type: "u64", Doc: "short sleeps after which the kernel chooses a processor anew"},
			{Name: "sleeps", Type: "u64", Doc: "sleeps until a writer wakes the thread, each with a bound"},
			{Name: "late", Type: "u64", Doc: "sleeps that ended by their bound and found what they had waited for"},
			{Name: "membarriers", Type: "u64", Doc: "membarriers made before a sleep"},
			{Name: "membarriers_shared", Type: "u64", Doc: "sleeps that another thread's membarrier was for as well"},
			{Name: "wakes", Type: "u64", Doc: "times that this PE woke sleepers"},
		}},
		{Name: "statuspage_wait", Go: "Wait", Doc: "The wait of one thread that waits for long. The entry is valid while since is not 0; its writer clears since first and writes it last.", Members: []Member{
			{Name: "since", Type: "u64", Doc: "when the wait began, in nanoseconds of CLOCK_MONOTONIC; 0: the entry is not valid"},
			{Name: "call", Type: "char", Count: 56, Doc: "the call that waits"},
			{Name: "what", Type: "char", Count: 640, Doc: "the object of the wait, and the present work of the late PEs"},
		}},
		{Name: "statuspage", Go: "PE", Doc: "The page of a PE. The C of the library writes some of it.", Members: []Member{
			{Name: "me", Type: "i32", Doc: "number of the PE"},
			{Name: "n_pes", Type: "i32", Doc: "number of PEs"},
			{Name: "nodes", Type: "i32", Doc: "number of nodes"},
			{Name: "reserved", Type: "i32", Go: "_", Doc: "0"},
			{Name: "began", Type: "i64", Doc: "when the PE joined the job, in nanoseconds since 1970"},
			{Name: "stalls", Type: "u64", Doc: "operations of callers that had to wait for room; callers add, atomically"},
			{Name: "stall_ns", Go: "Stall", Type: "u64", Doc: "nanoseconds that they waited; the same"},
			{Name: "effort", Type: "struct statuspage_effort", Doc: "how its threads have waited"},
			{Name: "heap", Type: "struct statuspage_heap", Doc: "the use of the user heap"},
			{Name: "waits", Type: "struct statuspage_wait", Count: 8, Doc: "threads that wait for long"},
		}},
	},
}
