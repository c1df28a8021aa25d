package seeded

// The rings between threads and the proxy, at both ends.
var ringDefects = []defect{
	{
		id: "ring/lap-at-the-wrap", file: "queue/ring_unsafe.go",
		was:  "		lap := r.lap(p + i)\n",
		is:   "		lap := r.lap(p)\n",
		user: "a kernel's operation that goes over the end of its ring is never served",
		by:   unit("./queue", "^TestWrap$"), says: `size 4 from 0x0, round 1, operation 0: result 0`,
	},
	{
		id: "ring/ahead-by-one", file: "queue/ring_unsafe.go",
		was:  "for i := uint64(0); i <= min(uint64(n), r.mask); i++ {",
		is:   "for i := uint64(0); i < min(uint64(n), r.mask); i++ {",
		user: "a producer that died is not named in the report of a standstill",
		by:   unit("./queue", "^TestAhead$"), says: `the seventh slot after the next shows too early or not at all`,
	},
	{
		id: "ring/waiting-in-a-full-ring", file: "queue/ring_unsafe.go",
		was:  "for first, p := r.Tail(), r.Tail(); p-first <= r.mask; n++ {",
		is:   "for first, p := r.Tail(), r.Tail(); p-first < r.mask; n++ {",
		user: "a report says that one operation fewer waits than does",
		by:   unit("./queue", "^TestWaiting$"), says: `start 255: 255 operations wait, want 256`,
	},
	{
		id: "ring/past-its-cell", file: "queue/ring_unsafe.go",
		was:  "o < CellsBytes && n <= CellBytes-o%CellBytes",
		is:   "o < CellsBytes && n <= CellBytes",
		user: "bytes of another operation are sent with those of a put from registers",
		by:   unit("./runtime/proxy", "^TestBeside$"), says: `2041 bytes at \+8: true`,
	},
	{
		id: "ring/operation-over-the-end", file: "queue/ring_unsafe.go",
		was:  "case k*slotSize > uintptr(end)-uintptr(at): // it goes on in the next round",
		is:   "case (k-1)*slotSize > uintptr(end)-uintptr(at): // it goes on in the next round",
		user: "an operation over the end of its ring has words of memory behind it",
		by:   unit("./queue", "^TestTake"), says: `start \d+: Take (left|found 0 operations)`,
	},
	{
		id: "ring/producer-lap-at-the-wrap", file: "device/shmem/ring.h",
		was:  "uint64_t lap = (~((p + (uint64_t)i) >> r->log2_slots) & 1) << SHMEMI_LAP_BIT;",
		is:   "uint64_t lap = (~(p >> r->log2_slots) & 1) << SHMEMI_LAP_BIT;",
		user: "a kernel stops at the end of its ring",
		by:   unit("./tests/ring", "^TestVisible$"), says: `ring\.TestVisible\(`, hangs: true,
	},
	{
		id: "ring/room-for-the-first-slot", file: "device/shmem/ring.h",
		was:  "uint64_t goal = p + n - positions;",
		is:   "uint64_t goal = p + 1 - positions;",
		user: "a full ring loses operations",
		by:   unit("./tests/ring", "^TestThreads$"), says: `ring\.TestThreads\(`, hangs: true,
	},
	{
		id: "ring/reply-is-kept", file: "device/shmem/ring.h",
		was:  "    shmemi_release_claim(&claims[i >> 5], (uint32_t)1 << (i & 31));\n    return status;",
		is:   "    (void)claims;\n    return status;",
		user: "the 1025th get of a kernel waits for ever",
		by:   unit("./tests/ring", "^TestThreads$"), says: `SIGQUIT: quit`, hangs: true,
	},
	{
		id: "ring/quiet-one-early", file: "device/shmem/ring.h",
		was:  "while ((int64_t)(shmemi_acquire_far(word) - p) <= 0) {",
		is:   "while ((int64_t)(shmemi_acquire_far(word) - p) < 0) {",
		user: "a kernel's quiet returns while what it covers is under way",
		by:   unit("./tests/ring", "^TestThreads$"), says: `producer \d+ wrote \d+ before its quiet or fence`,
	},
	{
		id: "ring/merges-what-is-apart", file: "runtime/proxy/fastpath/innerloop.c",
		was:  "!more(r, end, v, SHMEMI_SLOTS_PUT) || shmemi_get_dest(v) != dest + n ||",
		is:   "!more(r, end, v, SHMEMI_SLOTS_PUT) ||",
		user: "puts of a kernel to different places arrive side by side",
		by:   unit("./runtime/proxy", "^TestSimpleApart$"), says: `a gap at the target: C took 2 operations of 2, in 1 messages, want 2`,
	},
	{
		id: "ring/merges-across-pes", file: "runtime/proxy/fastpath/innerloop.c",
		was:  "            shmemi_get_pe(v) != shmemi_get_pe(w) ||\n",
		is:   "",
		user: "a put of a kernel goes to the PE of the put before it",
		by:   unit("./runtime/proxy", "^TestSimpleApart$"), says: `for another PE: C took 2 operations of 2, in 1 messages, want 2`,
	},
	{
		id: "ring/value-of-32-bits", file: "runtime/proxy/fastpath/innerloop.c",
		was:  "return (uint64_t)(int64_t)(int32_t)shmemi_get_value32(w);",
		is:   "return (uint64_t)shmemi_get_value32(w);",
		user: "a kernel that sets a long to -1 sets it to 4294967295",
		by:   unit("./runtime/proxy", "^TestAsInGo$"), says: `seed \d: the memories differ`,
	},
}
