package seeded

// put, get, atomic operations, signals and waits, on a node and between hosts.
var nodeDefects = []defect{
	{
		id: "node/eager-slots-are-empty", file: "capi/front/eager.c",
		was:  "    shmemi_clear(e->slots, bytes, call);\n",
		is:   "",
		user: "a reader finds tokens of memory that was freed in new slots",
		by:   program("eager", "node-2"), says: `shmemx_eager_\w+: slot \d is at epoch \d+, and epoch 1 is expected`,
	},
	{
		id: "node/eager-tokens-in-messages", file: "capi/front/eager.c",
		was:  "host = message ? SHMEMI_EAGER_NONE : host;",
		is:   "host = message && host < 0 ? SHMEMI_EAGER_NONE : host;",
		user: "small eager tokens by a network may be ready before their bytes",
		by:   job("./tests/run", "^TestTiles$/^efa-direct$"), says: `bytes in tiles of \d+ by a network: 0`,
	},
	{
		id: "node/eager-counter-before-its-token", file: "capi/front/eager.c",
		was:  "refuse(r, seen, 0, found);\n    return found == SHMEMI_EAGER_THERE;",
		is:   "refuse(r, seen, 0, found);\n    return found != SHMEMI_EAGER_SKIPPED;",
		user: "a reader takes a token with a notification for skipped before it has come",
		by:   program("eager", "node-2"), says: `shmemx_eager_\w+: slot \d+ is at epoch \d+, and epoch \d+ is expected`,
	},
	{
		id: "node/eager-counters-are-zero", file: "capi/front/eager_counters.c",
		was:  "    shmemi_notification_zero((int)shmemi_state.notify_count + (int)at, (int)n, call);\n",
		is:   "    (void)call;\n",
		user: "new slots with notifications begin at the epoch of old ones",
		by:   program("eager", "node-2"), says: `shmemx_eager_\w+: slot \d is at epoch \d+, and epoch 1 is expected`,
	},
	{
		id: "node/eager-buffer-under-way", file: "capi/front/eager_send.c",
		was:  "    if (!__atomic_load_n(&box->request.done, __ATOMIC_ACQUIRE)) {\n",
		is:   "    if (box->request.status > 0) {\n",
		user: "by a network a token that was sent without waiting has bytes of a later one",
		by:   job("./tests/run", "^TestTiles$/^efa-direct$"), says: `: byte \d+ is 0x|is at epoch \d+, and epoch \d+ is expected`,
	},
	{
		id: "node/fetch-of-eight-bytes", file: "capi/front/front.h",
		was:  "*(uint32_t *)fetch = shmemi_amo_at32(op, at, operand, compare);",
		is:   "*(uint64_t *)fetch = shmemi_amo_at32(op, at, operand, compare);",
		user: "a fetching atomic of an int writes the int behind fetch, too",
		by:   program("zz_atomics", "node-2"), says: `behind what was fetched, byte \d+ of the array's surroundings`,
	},
	{
		id: "node/signal-before-its-data", file: "capi/front/front.h",
		was:  "    shmemi_copy(to, source, n);\n    if (sig_op == SHMEM_SIGNAL_SET)\n        __atomic_store_n(sig, signal, __ATOMIC_RELEASE);\n    else\n        __atomic_fetch_add(sig, signal, __ATOMIC_RELEASE);\n",
		is:   "    if (sig_op == SHMEM_SIGNAL_SET)\n        __atomic_store_n(sig, signal, __ATOMIC_RELEASE);\n    else\n        __atomic_fetch_add(sig, signal, __ATOMIC_RELEASE);\n    shmemi_copy(to, source, n);\n",
		user: "a PE that sees the signal of put_signal finds old data",
		by:   program("large", "node-2"), says: `the signal is there, and the last word is`,
	},
	{
		id: "node/swap-fetches-nothing", file: "capi/front/remote.c",
		was:  "bool fetching = op >= SHMEMI_AMO_SWAP;",
		is:   "bool fetching = op > SHMEMI_AMO_SWAP;",
		user: "between hosts atomic_swap answers 0",
		by:   program("zz_atomics", "hosts-2"), says: `\(\*Receiver\)\.answered\(`,
	},
	{
		id: "node/compare-swap-answers", file: "abi/amo.h",
		was:  "        return expected;  ",
		is:   "        return compare;   ",
		user: "atomic_compare_swap that changed nothing answers that it did",
		by:   program("zz_atomics", "node-2"), says: `atomic_compare_swap_nbi: PE \d: .* expected 0x\w+, got 0x\w+`,
	},
	{
		id: "node/second-chunk-of-a-get", file: "capi/front/remote.c",
		was:  "        to += part;\n        offset += (int64_t)part;\n        n -= part;",
		is:   "        to += part;\n        n -= part;",
		user: "between hosts a get of more than 64 MiB repeats the first of them",
		by:   program("large", "hosts-2"), says: `shmem_uint64_get: PE \d: word 8388608 of 8389608: expected`,
	},
	{
		id: "node/rest-of-a-long-put-signal", file: "capi/front/remote.c",
		was:  "        offset += (int64_t)head;\n        n = shmemi_state.net_chunk;\n",
		is:   "        n = shmemi_state.net_chunk;\n",
		user: "between hosts the last 64 MiB of a put with a signal come to the place of the first",
		by:   program("large", "hosts-2"), says: `shmem_uint64_put_signal: PE \d: word \d+ of \d+: expected`,
	},
	{
		id: "node/element-of-two-bytes", file: "capi/front/strided.c",
		was:  "        copy_each(b, 2);",
		is:   "        copy_each(b, 1);",
		user: "shmem_short_iput copies half of each element",
		by:   program("zz_strided", "node-2"), says: `shmem_u?(short|int16)_ibget: PE \d: .* byte 1 of dest is 0xa5`,
	},
	{
		id: "node/joins-one-side", file: "capi/front/strided.c",
		was:  "    if (b->to_step == b->bytes && b->from_step == b->bytes &&\n        !__builtin",
		is:   "    if (b->to_step == b->bytes &&\n        !__builtin",
		user: "shmem_iput with a stride in source copies what lies between",
		by:   program("zz_strided", "node-2"), says: `ibget: PE \d: from another PE, 400 blocks of 1, strides 1 and 3: byte \d+ of dest is`,
	},
	{
		id: "node/last-block-of-a-stage", file: "capi/front/strided.c",
		was:  "            size_t k = b->n - i < most ? b->n - i : most;\n            counts[begun] = k;",
		is:   "            size_t k = b->n - i < most ? b->n - i : most;\n            counts[begun] = k > 1 ? k - 1 : k;",
		user: "between hosts shmem_iget leaves out an element now and then",
		by:   program("zz_strided", "hosts-2"), says: `ibget: PE \d: from another PE, 400 blocks of 1, .* of dest is 0xa5`,
	},
	{
		id: "node/at-the-end-of-the-heap", file: "capi/front/strided.c",
		was:  "    if (__builtin_mul_overflow(n - 1, step, &reach) || __builtin_add_overflow(reach, bytes, &reach))",
		is:   "    if (__builtin_mul_overflow(n, step, &reach) || __builtin_add_overflow(reach, bytes, &reach))",
		user: "shmem_iput to the last elements of the heap ends the job",
		by:   program("edges", "node-3"), says: `shmem_int_iput: \d+ bytes at heap offset .* run past the symmetric heap`,
	},
	{
		id: "node/any-of-one", file: "capi/front/waitset.c",
		was:  "__atomic_store_n(next, i + 1, __ATOMIC_RELAXED);",
		is:   "__atomic_store_n(next, i, __ATOMIC_RELAXED);",
		user: "shmem_wait_until_any answers the same element for ever, and the others starve",
		by:   program("zz_wait", "node-2"), says: `_any_vector: PE \d: of \d+ answers 0 are index`,
	},
	{
		id: "node/unsigned-as-signed", file: "capi/front/waitset.c",
		was:  "FIND(uint32_t, u32)",
		is:   "FIND(int32_t, u32)",
		user: "shmem_uint_wait_until_all compares numbers from 2^31 on as negative",
		by:   program("zz_wait", "node-2"), says: `shmem_uint_wait_until_all has waited \d+ s`, hangs: true,
	},
	{
		id: "node/greater-or-equal", file: "capi/front/until.c",
		was:  "            return now >= value;  ",
		is:   "            return now > value;   ",
		user: "shmem_wait_until with SHMEM_CMP_GE waits for one more",
		by:   program("zz_wait", "node-2"), says: `shmem_\w+_wait_until has waited \d+ s: for .* >= 0, now 0`, hangs: true,
	},
}

// Locks.
var lockDefects = []defect{
	{
		id: "locks/tested-and-not-owned", file: "capi/front/lock.c",
		was:  "    } else {\n        own(&l);\n    }\n    taken(&l);\n    return 0;",
		is:   "    }\n    taken(&l);\n    return 0;",
		user: "shmem_clear_lock after a successful shmem_test_lock ends the job",
		by:   program("locks", "node-2"), says: `shmem_clear_lock: this PE has not set the lock`,
	},
	{
		id: "locks/clear-without-quiet", file: "capi/front/lock.c",
		was:  "    shmemi_quiet(SHMEM_CTX_DEFAULT, call);\n    given(&l);",
		is:   "    given(&l);",
		user: "the next PE that has the lock does not see what was put under it",
		by:   program("locks", "chaos-3"), says: `shmem_set_lock: PE \d: counters add up to \d+, should be`,
	},
}
