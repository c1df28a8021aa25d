package table

// What settings say, where C looks at it.
var settings = Unit{
	Name:   "settings",
	Doc:    "the values of settings that C looks at.",
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
	},
}
