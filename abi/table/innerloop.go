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
		{"INNERLOOP_COMPLETIONS", "", loopCompletions, "taken from the provider at once"},
		{"INNERLOOP_FENCE_AFTER", "FenceAfter", 32, "operations of other rings for which a ring stops before a fence"},
		{"INNERLOOP_AREAS", "", loopAreas, "ranges of local memory that are known"},
	},
	Enums: []Enum{
		{Name: "innerloop_reason", Prefix: "INNERLOOP_", Go: "Reason", Base: "int", Kind: "-", Doc: "why Run returned.", Values: []Value{
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
			{Name: "cells", Type: "u64", Doc: "where they begin, or 0"},
			{Name: "log2_slots", Type: "u32", Doc: "logarithm of the number of slots"},
		}},
		{Name: "innerloop_area", Go: "loopArea", Private: true, Doc: "Local memory outside the segment that may be read, if end is not 0.", Members: []Member{
			{Name: "begin", Type: "u64", Doc: "its first byte"},
			{Name: "end", Type: "u64", Doc: "behind its last"},
		}},
		{Name: "innerloop", Go: "loop", Private: true, Doc: "One loop. Up to areas it has the loop's state, up to ticket the requests, and then the replies. Times are in nanoseconds.", Members: []Member{
			{Name: "engine", Type: "ptr", C: "struct shmemi_fastpath *", Doc: "the engine's state"},
			{Name: "native", Type: "struct native", Doc: "the provider's functions"},
			{Name: "lock", Type: "ptr", C: "uint32_t *", GoType: "*uint32", Doc: "the endpoint's"},
			{Name: "wanted", Type: "ptr", C: "uint32_t *", GoType: "*uint32", Doc: "threads that found it taken, or NULL"},
			{Name: "sleepers", Type: "ptr", C: "uint32_t *", GoType: "*uint32", Doc: "as in struct shmemi_ctl"},
			{Name: "wakes", Type: "ptr", C: "uint32_t *", GoType: "*uint32", Doc: "the same"},
			{Name: "rings", Type: "ptr", C: "struct shmemi_innerloop_ring *", GoType: "*loopRing", Doc: "ring_count of them"},
			{Name: "positions", Type: "ptr", C: "uint64_t *", GoType: "*uint64", Doc: "of the rings' next operations"},
			{Name: "ring_count", Type: "u32", Doc: "rings"},
			{Name: "serves_all", Type: "u32", Doc: "this loop serves all rings of the PE, so a fence is an epoch"},
			{Name: "yields", Type: "u32", Doc: "no processor of its own: give way when nothing comes"},
			{Name: "batch", Type: "u32", Doc: "operations taken from one ring before the others are polled"},
			{Name: "passed", Type: "u32", Doc: "operations that were taken since the first ring stopped before a fence"},
			{Name: "areas", Type: "struct innerloop_area", Count: loopAreas, Doc: "the latest that are known"},
			{Name: "limit", Type: "i64", Doc: "how long the loop may run"},
			{Name: "spin", Type: "i64", Doc: "and how long without work"},
			{Name: "finished", Type: "u64", Doc: "requests that Go has seen finished"},
			{Name: "ticket", Type: "u64", Doc: "quiet that Go waits for, 0: none"},
			{Name: "taken", Type: "u64", Doc: "operations"},
			{Name: "completed", Type: "u64", Doc: "completions"},
			{Name: "ran", Type: "i64", Doc: "in all"},
			{Name: "idle", Type: "i64", Doc: "since something was done last, or since the beginning"},
			{Name: "gap", Type: "i64", Doc: "the longest between two reads of the clock"},
			{Name: "left", Type: "u32", Doc: "1: the next operation of some ring is Go's"},
			{Name: "error", Type: "i32", Doc: "the provider's, with INNERLOOP_ERROR"},
			{Name: "first", Type: "i32", Doc: "of the completions that are Go's, with INNERLOOP_COMPLETION"},
			{Name: "count", Type: "i32", Doc: "and the one behind the last of them"},
			{Name: "completions", Type: "struct completion", Count: loopCompletions, GoType: "fabric.Completion", Doc: "from the last poll"},
		}},
	},
}

// The lengths of arrays, which are also constants of C.
const (
	loopCompletions = 32
	loopAreas       = 4
)
