package table

// nvtx has the ranges of the proxy's work that a profiler shows (NVTX).
var nvtx = Unit{
	Name:   "nvtx",
	Doc:    "the ranges of the proxy's work that a profiler is shown.",
	GoFile: "runtime/nvtx/zz_nvtx.go",
	Enums: []Enum{
		{Prefix: "NVTX_", Go: "Name", Base: "uint8", Kind: "-", Doc: "the name of a range.", Values: []Value{
			{Name: "LEAVE", Doc: "none: ends the range that the thread entered last"},
			{Name: "SEND", Doc: "sends a message"},
			{Name: "WRITE", Doc: "posts a one-sided write"},
			{Name: "READ", Doc: "posts a one-sided read"},
			{Name: "ATOMIC", Doc: "posts an atomic operation that the NIC carries out"},
			{Name: "SLEEP", Doc: "the proxy's thread sleeps"},
		}},
	},
}

// settings has the values of settings that C reads.
var settings = Unit{
	Name:   "settings",
	Doc:    "the values of settings that C reads.",
	GoFile: "runtime/config/zz_settings.go",
	Enums: []Enum{
		{Prefix: "CHECKS_", Go: "Checks", Base: "uint8", Kind: "Checks", Doc: "how much the library checks of its arguments (SHMEM_CHECKS), each including those before it.", Values: []Value{
			{Name: "OFF"}, {Name: "ON"}, {Name: "FULL"},
		}},
		{Prefix: "RANGE_", Go: "Ranges", Base: "uint32", Kind: "Range", Bits: true, Doc: "a set of groups of calls that a profiler is shown as ranges (SHMEM_NVTX): bits, in the order of the setting's words.", Values: []Value{
			{Name: "INIT"},
			{Name: "ALLOC"},
			{Name: "COLL"},
			{Name: "WAIT"},
			{Name: "WAIT_ON_STREAM"},
			{Name: "TEST"},
			{Name: "MEMORDER", Go: "RangeMemOrder"},
			{Name: "QUIET_ON_STREAM"},
			{Name: "ATOMIC_FETCH"},
			{Name: "ATOMIC_SET"},
			{Name: "RMA_BLOCKING", Go: "RangeRMABlocking"},
			{Name: "RMA_NONBLOCKING", Go: "RangeRMANonblocking"},
			{Name: "PROXY"},
		}},
		{Prefix: "COLLECTIVES_", Go: "Collectives", Base: "uint32", Kind: "Collectives", Bits: true, Doc: "the algorithms between nodes that collective calls are to use (SHMEM_COLLECTIVES): bits, in the order of the setting's words. Without one of a kind the model chooses (capi/front/model.h).", Values: []Value{
			{Name: "FLAT", Doc: "each PE sends to each other one"},
			{Name: "STRAIGHT", Doc: "reductions in one step"},
			{Name: "PAIRS", Doc: "reductions in pairs of nodes"},
			{Name: "HALVES", Doc: "reductions in pairs of nodes that each keep half of the elements"},
			{Name: "OWNERS", Doc: "reductions by owners of blocks"},
			{Name: "DEST", Doc: "as OWNERS, with no memory but dest, where each node has two PEs"},
			{Name: "CHAIN", Doc: "broadcasts from node to node"},
			{Name: "WIDE", Doc: "broadcasts from each node to eight others"},
			{Name: "PACKED", Doc: "blocks of a node together"},
			{Name: "APART", Doc: "each block by itself"},
			{Name: "STEPS", Doc: "all-to-alls and reducescatters in log2 n steps"},
		}},
	},
}

// frame has what C needs to end the job through shmemrun before init has loaded Go. The rest of the
// protocol is in Go (runtime/bootstrap/wire).
var frame = Unit{
	Name:   "frame",
	Doc:    "the frame by which a PE that has not joined its job requests its end from shmemrun, over the socket whose descriptor is in SHMEM_LAUNCHER_FD. It has, each number in little-endian order, 4 bytes of LAUNCH_MAGIC, one of LAUNCH_VERSION, one of its kind, 2 of 0, 4 of a sequence number, here 0, and 4 of the bytes of its payload, which follows.",
	GoFile: "runtime/bootstrap/wire/zz_frame.go",
	Constants: []Constant{
		{"LAUNCH_MAGIC", "magic", 0x424d4853, "begins each frame: the bytes SHMB in memory, on a machine of little-endian order"},
		{"LAUNCH_VERSION", "Version", 5, "version of the protocol"},
		{"LAUNCH_HEADER", "HeaderLen", 16, "bytes of a frame before its payload"},
		{"LAUNCH_ABORT", "kindAbort", 6, "the kind of this frame: its payload is the exit status for the job, 4 bytes, and the reason, a text without a closing 0"},
	},
}
