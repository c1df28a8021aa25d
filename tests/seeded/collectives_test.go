package seeded

// Barrier, broadcast, collect, alltoall, reductions and scans of teams.
var collectiveDefects = []defect{
	{
		id: "collectives/barrier-without-quiet", file: "capi/front/sync.c",
		was:  "    shmemi_quiet(SHMEM_CTX_DEFAULT, call);\n    shmemi_sync_all(call);",
		is:   "    shmemi_sync_all(call);",
		user: "behind shmem_barrier_all a PE does not see what others have put",
		by:   job("./tests/run", "^TestChaosBarrier$"), says: `words were not there behind it`,
	},
	{
		id: "collectives/last-round-of-a-barrier", file: "capi/front/barrier.c",
		was:  "for (uint32_t distance = 1; distance < n; distance *= 2) {\n        shmemi_message(t, t->leaders[pairs",
		is:   "for (uint32_t distance = 1; 2 * distance <= n; distance *= 2) {\n        shmemi_message(t, t->leaders[pairs",
		user: "with three hosts a barrier lets PEs go before all have come",
		by:   program("zz_rma", "chaos-3"), says: `shmem_\w+_(get|put)\w*: PE \d: left to right, element 0 of \d+: expected`,
	},
	{
		id: "collectives/remainder-of-shares", file: "capi/front/reduce.c",
		was:  "size_t share = (nelems + (size_t)n - 1) / (size_t)n;",
		is:   "size_t share = nelems / (size_t)n;",
		user: "the last elements of a reduction keep what dest had",
		by:   program("zz_reduce", "node-3"), says: `shmem_\w+_reduce: PE \d: (alone|in place), element 3000 of 3001: expected`,
	},
	{
		id: "collectives/remainder-between-hosts", file: "capi/front/reduce.c",
		was:  "        done = even * reducer->size;\n        nelems = rest;\n",
		is:   "        done = even * reducer->size;\n        nelems = 0;\n",
		user: "between hosts the last elements of a long reduction keep what dest had",
		by:   program("collectives", "flat-4"), says: `sum: PE \d: call \d+ of \d PEs: element \d+ is`,
	},
	{
		id: "collectives/exclusive-scan", file: "capi/front/scan.c",
		was:  "t->me + (inclusive ? 1 : 0), reducer, call);",
		is:   "t->me + 1, reducer, call);",
		user: "shmem_sum_exscan of long arrays counts the caller's own",
		by:   program("zz_reduce", "node-3"), says: `shmem_\w+_sum_exscan: PE \d: alone, element 0 of 3000: expected`,
	},
	{
		id: "collectives/scan-of-the-first", file: "capi/front/scan.c",
		was:  "        shmemi_await(t, t->me - 1, call);\n    else\n        shmemi_clear(dest, bytes, call);",
		is:   "        shmemi_await(t, t->me - 1, call);",
		user: "shmem_sum_exscan leaves dest of the first PE as it was",
		by:   program("zz_reduce", "node-3"), says: `shmem_\w+_sum_exscan: PE 0: alone, element 0 of 7: expected 0x0+, got`,
	},
	{
		id: "collectives/beyond-the-power-of-two", file: "capi/front/exchange.c",
		was:  "    if (me < beyond) {\n        shmemi_await(t, rank_of(g, me + power), call);\n        reducer->combine(acc, folded, nelems);\n    }\n",
		is:   "    if (me < beyond)\n        shmemi_await(t, rank_of(g, me + power), call);\n",
		user: "in a job of 19 PEs reductions leave out three of them",
		by:   program("zz_reduce", "node-19"), says: `shmem_\w+_sum_to_all: PE \d+: alone, 19 PEs .* expected`,
	},
	{
		id: "collectives/own-block", file: "capi/front/coll.c",
		was:  "    shmemi_move(mine, source + step * (size_t)me, nbytes, call);",
		is:   "    shmemi_move(mine, source, nbytes, call);",
		user: "shmem_alltoall gives each PE the first block of its own source",
		by:   program("zz_collectives", "node-3"), says: `shmem_\w+_alltoall: PE \d: alone, element 0 of \d+: expected`,
	},
	{
		id: "collectives/source-is-still-read", file: "capi/front/message.c",
		was:  "    while (lent->ended < lent->begun)\n        await_oldest(lent, call);",
		is:   "    if (lent->ended > lent->begun)\n        await_oldest(lent, call);",
		user: "what a program writes to source behind a broadcast arrives in its place",
		by:   program("zz_collectives", "chaos-3"), says: `shmem_\w+: PE \d: \w+, element \d+ of \d+: expected`,
	},
	{
		id: "collectives/dest-too-short", file: "capi/front/coll.c",
		was:  "    if (all->nbytes > all->room)\n        return false;\n",
		is:   "    if (all->nbytes > room)\n        return false;\n",
		user: "shmemx_collectmem_room writes past the dest of another PE",
		by:   pes("-n 2", "test_collectives.py", "test_collect_needs_room_at_every_pe"), says: `(?s)test_collect_needs_room_at_every_pe: call failed.*assert np\.False_`,
	},
	{
		id: "collectives/stride-of-source", file: "capi/front/coll.c",
		was:  "source + nelems * (size_t)rank * (size_t)sst * size;",
		is:   "source + nelems * (size_t)rank * (size_t)dst * size;",
		user: "shmem_alltoalls takes blocks from places that are dst apart",
		by:   program("zz_collectives", "node-3"), says: `shmem_\w+_alltoalls: PE \d: apart, element 0 of 1: expected`,
	},
}

// Active sets, and their own rules: pSync, pWrk and a root without a copy.
var setDefects = []defect{
	{
		id: "sets/root-is-written", file: "capi/front/activeset.c",
		was:  "shmemi_coll_broadcast(t, dest, source, nbytes, root, false, call);",
		is:   "shmemi_coll_broadcast(t, dest, source, nbytes, root, true, call);",
		user: "shmem_broadcast64 writes dest of the root, which keeps it by the specification",
		by:   program("zz_activesets", "node-3"), says: `shmem_broadcast32: PE \d: after, byte \d+ of the array's surroundings`,
	},
	{
		id: "sets/logarithm-of-the-stride", file: "capi/front/activeset_messages.c",
		was:  "pes[i] = start + i * (1 << log_stride);",
		is:   "pes[i] = start + i * (1 + log_stride);",
		user: "an active set with a stride of 4 has other PEs",
		by:   program("activesets", "node-8"), says: `is not in the active set of 2 PEs from 1 with a stride of 2\^2`,
	},
	{
		id: "sets/stale-set", file: "capi/front/activeset_messages.c",
		was:  "while (e != NULL && (e->start != start || e->log_stride != log_stride || e->size != size))",
		is:   "while (e != NULL && (e->start != start || e->log_stride > log_stride || e->size != size))",
		user: "the second of two active sets that differ in their stride has the PEs of the first",
		by:   program("activesets", "node-8"), says: `shmem_sync has waited \d+ s: for \d messages in pSync`, hangs: true,
	},
	{
		id: "sets/place-in-collect", file: "capi/front/activeset.c",
		was:  "for (int distance = 1; distance < t->n; distance *= 2, round++) {\n        if (t->me + distance < t->n)",
		is:   "for (int distance = 1; distance < t->n / 2; distance *= 2, round++) {\n        if (t->me + distance < t->n)",
		user: "shmem_collect64 on an active set writes parts over each other",
		by:   program("zz_activesets", "node-8"), says: `shmem_collect32: PE \d: on a set, element 0 of 1: expected`,
	},
	{
		id: "sets/what-a-host-sends-on", file: "capi/front/activeset.c",
		was:  "    const void *from = node == 0 ? source : dest;",
		is:   "    const void *from = source;",
		user: "in a set on three hosts one broadcasts what it has itself to the others",
		by:   program("zz_activesets", "forced-8"), says: `shmem_broadcast\d+: PE \d: .*expected`,
	},
	{
		id: "sets/members-of-a-leader", file: "capi/front/activeset_reduce.c",
		was:  "    shmemi_combine_members(t, t->near, t->n_near, acc, source,",
		is:   "    shmemi_combine_members(t, t->near, 1, acc, source,",
		user: "a sum over a set on several hosts counts one PE of each",
		by:   program("zz_reduce", "forced-8"), says: `shmem_short_sum_to_all: PE \d: .*expected`,
	},
	{
		id: "sets/count-is-kept", file: "capi/front/activeset_messages.c",
		was:  "shmemi_amo64(SHMEM_CTX_DEFAULT, SHMEMI_AMO_FETCH_ADD, at, -n, 0, shmemi_state.my_pe, call);",
		is:   "shmemi_amo64(SHMEM_CTX_DEFAULT, SHMEMI_AMO_FETCH_ADD, at, (uint64_t)-1, 0, shmemi_state.my_pe, call);",
		user: "pSync is not as it was when a call ends, and the next one is over too early",
		by:   program("activesets", "node-8"), says: `shmem_(barrier|sync): PE \d: set \d, round \d+: PE \d is in round`,
	},
}
