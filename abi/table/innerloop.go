package table

// native has the functions of a provider that the fast path and the proxy's inner loop call.
var native = Unit{
	Name:     "native",
	Doc:      "the C functions behind a provider that small messages need, of those in fabric.Native.",
	Includes: []string{"fabric"},
	GoFile:   "runtime/proxy/fastpath/zz_native_unsafe.go",
	Structs: []Struct{
		{Name: "native", Go: "native", Private: true, Doc: "Its values are those of fabric.Native.", Members: []Member{
			{Name: "self", Type: "ptr", Doc: "their first argument"},
			{Name: "poll", Type: "ptr", C: "int (*%s)(void *self, struct shmemi_completion *c, int max)", Doc: "polls the completion queue"},
			{Name: "recv", Type: "ptr", C: "int (*%s)(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token)", Doc: "posts a receive buffer"},
			{Name: "inject", Type: "ptr", C: "int (*%s)(void *self, uint32_t pe, const void *buf, size_t n)", Doc: "sends a message whose buffer may be reused at once"},
		}},
	},
}

// innerLoop has the arguments and results of the proxy's inner loop in C.
var innerLoop = Unit{
	Name:      "innerloop",
	Doc:       "what the proxy's inner loop in C works on, and how it ended.",
	Includes:  []string{"fabric", "native"},
	GoFile:    "runtime/proxy/fastpath/zz_innerloop_unsafe.go",
	GoImports: []string{`"libshmem/fabric"`},
	Constants: []Constant{
		{"INNERLOOP_COMPLETIONS", "", loopCompletions, "the most completions that one poll gets from the provider"},
		{"INNERLOOP_FENCE_AFTER", "FenceAfter", 32, "a ring that has come to a fence waits there for so many operations of other rings, unless none come, so that one epoch serves several fences"},
		{"INNERLOOP_AREAS", "", loopAreas, "how many ranges of local memory a loop knows"},
	},
	Enums: []Enum{
		{Name: "innerloop_reason", Prefix: "INNERLOOP_", Go: "Reason", Base: "int", Kind: "-", Doc: "why the loop has ended.", Values: []Value{
			{Name: "IDLE", Doc: "nothing came for as long as spin says"},
			{Name: "TIME", Doc: "the limit has passed"},
			{Name: "ATTENTION", Doc: "a caller has requested that Go checks its work"},
			{Name: "BUSY", Doc: "the lock is held for long"},
			{Name: "OPERATION", Doc: "the next operation of a ring is Go's"},
			{Name: "STATE", Doc: "the engine has something to do that is Go's"},
			{Name: "COMPLETION", Doc: "completions are Go's, and the lock is held"},
			{Name: "ERROR", Doc: "the provider cannot be polled"},
		}},
	},
	Structs: []Struct{
		{Name: "innerloop_ring", Go: "loopRing", Private: true, Doc: "One ring, as its consumer sees it.", Members: []Member{
			{Name: "slots", Type: "ptr", C: "uint64_t *", Doc: "the slots"},
			{Name: "line", Type: "ptr", C: "struct shmemi_ring_progress *", Doc: "words for producers"},
			{Name: "replies", Type: "ptr", C: "struct shmemi_reply *", Doc: "the replies"},
			{Name: "cells", Type: "u64", Doc: "address of the first cell; 0: the ring has none"},
			{Name: "log2_slots", Type: "u32", Doc: "logarithm of the number of slots"},
		}},
		{Name: "innerloop_area", Go: "loopArea", Private: true, Doc: "Local memory outside the segment that may be read, if end is not 0.", Members: []Member{
			{Name: "begin", Type: "u64", Doc: "its first byte"},
			{Name: "end", Type: "u64", Doc: "the byte after its last"},
		}},
		{Name: "innerloop", Go: "loop", Private: true, Doc: "One loop. Members up to areas are its state, which lasts between runs. Go sets those from limit to ticket before a run, and a run sets the ones after them. Times are in nanoseconds.", Members: []Member{
			{Name: "engine", Type: "ptr", C: "struct shmemi_fastpath *", Doc: "the engine's state"},
			{Name: "native", Type: "struct native", Doc: "the provider's functions"},
			{Name: "lock", Type: "ptr", C: "uint32_t *", GoType: "*uint32", Doc: "the endpoint's lock, net_lock of a job: 1 while a thread has it"},
			{Name: "wanted", Type: "ptr", C: "uint32_t *", GoType: "*uint32", Doc: "how many threads wait for the lock, net_wanted of a job; NULL: they are not counted"},
			{Name: "sleepers", Type: "ptr", C: "uint32_t *", GoType: "*uint32", Doc: "as in struct shmemi_ctl"},
			{Name: "wakes", Type: "ptr", C: "uint32_t *", GoType: "*uint32", Doc: "as in struct shmemi_ctl"},
			{Name: "rings", Type: "ptr", C: "struct shmemi_innerloop_ring *", GoType: "*loopRing", Doc: "ring_count of them"},
			{Name: "positions", Type: "ptr", C: "uint64_t *", GoType: "*uint64", Doc: "ring_count positions: in each ring, that of the next operation"},
			{Name: "ring_count", Type: "u32", Doc: "how many rings the loop empties"},
			{Name: "serves_all", Type: "u32", Doc: "1: this loop serves all rings of the PE, so it passes a fence by a new epoch; 0: Go handles fences"},
			{Name: "yields", Type: "u32", Doc: "1: the thread has no processor of its own, and yields it in an iteration without work"},
			{Name: "batch", Type: "u32", Doc: "the most operations taken from one ring before the others are polled"},
			{Name: "passed", Type: "u32", Doc: "how many operations were taken since the first ring stopped before a fence"},
			{Name: "areas", Type: "struct innerloop_area", Count: loopAreas, Doc: "the memory that Go has announced last"},
			{Name: "limit", Type: "i64", Doc: "how long the loop may run"},
			{Name: "spin", Type: "i64", Doc: "how long it may run without work; 0 or less: it does not pause, and reads the clock in each iteration without work"},
			{Name: "finished", Type: "u64", Doc: "finished of the engine when Go checked its requests last: when the engine's is another, the run ends"},
			{Name: "ticket", Type: "u64", Doc: "the quiet that Go waits for, which ends the run; 0: none"},
			{Name: "taken", Type: "u64", Doc: "how many operations were taken from rings"},
			{Name: "completed", Type: "u64", Doc: "how many completions came"},
			{Name: "ran", Type: "i64", Doc: "how long the run took"},
			{Name: "idle", Type: "i64", Doc: "how long it was without work at its end"},
			{Name: "gap", Type: "i64", Doc: "the longest time between two reads of the clock"},
			{Name: "left", Type: "u32", Doc: "1: the next operation of some ring is Go's"},
			{Name: "error", Type: "i32", Doc: "with INNERLOOP_ERROR: the negative result of the provider's poll"},
			{Name: "first", Type: "i32", Doc: "with INNERLOOP_COMPLETION: index of the first completion that is left to Go"},
			{Name: "count", Type: "i32", Doc: "with it: how many completions there are, those before first included"},
			{Name: "completions", Type: "struct completion", Count: loopCompletions, GoType: "fabric.Completion", Doc: "of the last poll"},
		}},
	},
}

// The lengths of arrays, which are also constants of C.
const (
	loopCompletions = 32
	loopAreas       = 4
)
