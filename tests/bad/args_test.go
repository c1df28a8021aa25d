package bad

import (
	"testing"

	"libshmem/tests/need"
)

// For mistakes that only the full checks find.
var argsRows = []row{
	{what: "put_freed", say: []string{`PE \d: shmem_long_put: 8 bytes at 0x\w+: the allocation there has 0 bytes from that address on \(check the number of elements, and that the memory was not freed\)`}},
	{what: "put_nbi_freed", say: []string{`PE \d: shmem_long_put_nbi: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "get_freed", say: []string{`PE \d: shmem_long_get: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "p_freed", say: []string{`PE \d: shmem_long_p: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "g_freed", say: []string{`PE \d: shmem_long_g: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "iput_freed", say: []string{`PE \d: shmem_long_iput: 40 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "amo_freed", say: []string{`PE \d: shmem_long_atomic_inc: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "fetch_nbi_freed", say: []string{`PE \d: shmem_long_atomic_fetch_nbi: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "signal_freed", say: []string{`PE \d: shmem_long_put_signal: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "wait_freed", say: []string{`PE \d: shmem_long_wait_until: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "broadcast_freed", say: []string{`PE \d: shmem_long_broadcast: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "put_past_block", say: []string{`PE \d: shmem_long_put: 24 bytes at 0x\w+: the allocation there has 16 bytes`}},
	{what: "get_past_block", say: []string{`PE \d: shmem_long_get: 24 bytes at 0x\w+: the allocation there has 16 bytes`}},
	{what: "wait_misaligned", say: []string{`PE \d: shmem_int_wait_until: 0x\w+ is not aligned to 4 bytes`}},
	{what: "signal_overlap", say: []string{`PE \d: shmem_long_put_signal: dest 0x\w+ with 32 bytes and sig_addr 0x\w+ overlap \(pass a signal word outside of dest\)`}},
	{what: "broadcast_overlap", say: []string{`PE \d: shmem_long_broadcast: dest 0x\w+ with 16 bytes and source 0x\w+ with 16 bytes overlap`}},
	{what: "alltoalls_overlap", say: []string{`PE \d: shmem_long_alltoalls: dest 0x\w+ with 16 bytes and source 0x\w+ with 16 bytes overlap`}},
	{what: "collect_overlap", say: []string{`PE \d: shmem_long_collect: dest 0x\w+ with 8 bytes and source 0x\w+ with 8 bytes overlap`}},
	{what: "root_differs", say: []string{`PE \d: shmem_long_broadcast: the root is 0 on a PE and 1 on another \(pass the same on every PE of the team\)`}},
	{what: "dest_differs", say: []string{`PE \d: shmem_long_sum_reduce: the heap offset of dest is \d+ on a PE and \d+ on another`}},
	{what: "source_differs", say: []string{`PE \d: shmem_long_fcollect: the heap offset of source is \d+ on a PE and \d+ on another`}},
	{what: "size_differs", say: []string{`PE \d: shmem_long_max_reduce: the number of bytes is 8 on a PE and 16 on another`}},
	{what: "size_differs_by_all", say: []string{`PE \d: shmem_long_sum_exscan: the number of bytes is 0 on a PE and 8 on another`}},
	{what: "stride_differs", say: []string{`PE \d: shmem_long_alltoalls: a stride is \d+ on a PE and \d+ on another`}},
	{what: "collect_dest_differs", say: []string{`PE \d: shmem_long_collect: the heap offset of dest is \d+ on a PE and \d+ on another`}},
	{what: "call_differs", say: []string{`PE \d: shmem_long_(alltoall: another PE of the team is in shmem_long_fcollect|fcollect: another PE of the team is in shmem_long_alltoall) \(make the same calls in the same order on every PE of a team\)`}},
	{what: "type_differs", say: []string{`PE \d: shmem_(long_sum_reduce: another PE of the team is in shmem_double|double_sum_reduce: another PE of the team is in shmem_long)_sum_reduce \(`}},
	{what: "barrier_differs", say: []string{`PE \d: shmem_(barrier_all: another PE of the team is in shmem_calloc|calloc: another PE of the team is in shmem_barrier_all) \(`}},
	{what: "team_differs", say: []string{`PE \d: shmem_(sync_all: another PE of the team is in shmem_team_split_strided|team_split_strided: another PE of the team is in shmem_sync_all) \(`}},
	{what: "free_differs", say: []string{`PE \d: shmem_free: the heap offset of the block is \d+ on a PE and \d+ on another`}},
	{what: "realloc_differs", say: []string{`PE \d: shmem_realloc: the heap offset of the block is \d+ on a PE and \d+ on another`}},
}

// TestArguments is TestBadInput for testdata/args.c.
func TestArguments(t *testing.T) {
	build := need.Build(t)
	program := compile(t, build, "args")
	for _, r := range argsRows {
		r.env, r.status = full, aborted
		for _, where := range []string{onNode, onHosts} {
			t.Run(r.what+","+where, func(t *testing.T) {
				t.Parallel()
				r.run(t, build, program, where)
			})
		}
	}
}
