package seeded

// Device headers, which tests compile for the host, or judge by their PTX.
var deviceDefects = []defect{
	{
		id: "device/fence-of-eager-signals", file: "device/shmem/eager.h",
		was:  "    shmemi_fence_system();\n    for (; k < n;",
		is:   "    for (; k < n;",
		user: "a kernel on another GPU finds the signal of a tile, and old data in front of it",
		by:   job("./tests/device", "^TestKernels$"), says: `send_lines: one FENCE`,
	},
	{
		id: "device/eager-unit-of-a-token", file: "device/shmem/eager_parts.h",
		was:  "shmemi_move<unit>::store(buffer + i * (uint64_t)size, v);",
		is:   "shmemi_move<unit>::store(buffer + (i + i / (per + 1)) * (uint64_t)size, v);",
		user: "a token that a kernel unwraps in place has its bytes at wrong places",
		by:   job("./tests/device", "^TestEmulated$/^eager$"), says: `changed in place: \d+ wrong`,
	},
	{
		id: "device/signal-of-32-bits", file: "device/shmem/signal.h",
		was:  "if ((uint64_t)(int64_t)(int32_t)value == value) {",
		is:   "if ((uint64_t)(uint32_t)value == value) {",
		user: "a kernel's signal of 2^31 and more arrives as a negative one, between hosts",
		by:   job("./tests/device", "^TestEmulated$/^rma$"), says: `signals alone: wrong values`,
	},
	{
		id: "device/last-bytes-of-a-copy", file: "device/shmem/copy.h",
		was:  "shmemi_copy_by<FAR>(unit, to + rest, from + rest, bytes - rest, rank, size);",
		is:   "shmemi_copy_by<FAR>(unit, to + rest, from + rest, (bytes - rest) & ~(uint64_t)1, rank, size);",
		user: "a kernel's put of an odd length loses its last byte",
		by:   job("./tests/device", "^TestEmulated$/^rma$"), says: `shmem_char_put: 3 elements: 1 wrong bytes`,
	},
	{
		id: "device/batch-of-four", file: "device/shmem/copy.h",
		was:  "for (; i + 3 * (uint64_t)step < n; i += 4 * (uint64_t)step) {",
		is:   "for (; i + 2 * (uint64_t)step < n; i += 4 * (uint64_t)step) {",
		user: "a kernel's put writes one element past its end",
		by:   job("./tests/device", "^TestEmulated$/^rma$"), says: `shmem_float_put: 3 elements: 4 wrong bytes`,
	},
	{
		id: "device/excluded-words", file: "device/shmem/wait.h",
		was:  "        return status == NULL || status[i] == 0;",
		is:   "        return status == NULL || status[i] != 0;",
		user: "a kernel waits for the words that status excludes",
		by:   job("./tests/device", "^TestEmulated$/^waits$"), says: `/waits-emulated: exit status 143`, hangs: true,
	},
	{
		id: "device/less-or-equal", file: "device/shmem/wait.h",
		was:  "        return have <= want;",
		is:   "        return have < want;",
		user: "a kernel's wait with SHMEM_CMP_LE waits for ever at the value itself",
		by:   job("./tests/device", "^TestEmulated$/^waits$"), says: `/waits-emulated: exit status 143`, hangs: true,
	},
	{
		id: "device/block-of-another-pe", file: "device/shmem/coll.h",
		was:  "const char *from = source + (BLOCKS ? (uint64_t)rank * bytes : 0);",
		is:   "const char *from = source + (BLOCKS ? (uint64_t)i * bytes : 0);",
		user: "a kernel's alltoall deals the blocks by distance",
		by:   job("./tests/device", "^TestEmulated$/^colls$"), says: `alltoall: call 0: \d+ wrong bytes`,
	},
	{
		id: "device/pieces-of-variables", file: "device/shmem/rma.h",
		was:  "c->dest + i, c->source + i, SHMEMI_SLOT_BYTES, c->pe);",
		is:   "c->dest + i, c->source, SHMEMI_SLOT_BYTES, c->pe);",
		user: "a kernel's put of its own variables repeats the first 16 bytes",
		by:   job("./tests/device", "^TestEmulatedVariables$"), says: `a kernel's own variables: wrong bytes`,
	},
	{
		id: "device/fence-of-a-block", file: "device/shmem/order.h",
		was:  "        shmemi_fence_slowly(image, call);\n    shmemi_fence_system();",
		is:   "        shmemi_fence_slowly(image, call);",
		user: "on NVLink what follows a kernel's fence is seen before what it covers",
		by:   job("./tests/device", "^TestKernels$"), says: `one SYSTEM_FENCE: there are 0`,
	},
}
