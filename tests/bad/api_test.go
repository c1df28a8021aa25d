package bad

import "testing"

var full = []string{"SHMEM_CHECKS=full"}

var apiRows = []row{
	{what: "wait_any_comparison", status: aborted, say: []string{`PE \d: shmem_long_wait_until_any: comparison -1 does not exist`}},
	{what: "wait_any_private", status: aborted, say: []string{`PE \d: shmem_long_wait_until_any: ivars 0x\w+ with 16 bytes is not in the symmetric heap \(wait on memory from shmem_malloc`}},
	{what: "wait_all_overflow", status: aborted, say: []string{`PE \d: shmem_long_wait_until_all: ivars 0x\w+ with \d+ bytes is not in the symmetric heap`}},
	{what: "wait_some_no_indices", status: aborted, say: []string{`PE \d: shmem_long_wait_until_some: indices is NULL \(pass an array of nelems elements\)`}},
	{what: "test_all_no_values", status: aborted, say: []string{`PE \d: shmem_long_test_all_vector: cmp_values is NULL`}},
	{what: "test_any_past_block", env: full, status: aborted, say: []string{`PE \d: shmem_long_test_any: 88 bytes at 0x\w+: the allocation there has 80 bytes`}},
	{what: "test_any_misaligned", env: full, status: aborted, say: []string{`PE \d: shmem_long_test_any: 0x\w+ is not aligned to 8 bytes`}},
	{what: "test_some_overlap", env: full, status: aborted, say: []string{`PE \d: shmem_long_test_some: two of ivars 0x\w+, status .* and indices 0x\w+ overlap`}},
	{what: "hang_all", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmem_long_wait_until_all has waited \d+ s: for all of 4 words at 0x\w+ \(heap offset 0x\w+\) == 5; not yet: 3 \(the wait goes on\)`}},
	{what: "iput_stride_zero", status: aborted, say: []string{`PE \d: shmem_long_iput: stride dst is 0 \(use 1 for elements side by side, or more\)`}},
	{what: "iget_stride_negative", status: aborted, say: []string{`PE \d: shmem_long_iget: stride sst is -1 `}},
	{what: "iput_wrong_pe", status: aborted, say: []string{`PE \d: shmem_long_iput: PE 2 does not exist, there are 2`}},
	{what: "iput_wrong_pe_of_nothing", status: aborted, say: []string{`PE \d: shmem_long_iput: PE -1 does not exist`}},
	{what: "iput_overflow", status: aborted, say: []string{`PE \d: shmem_long_iput: \d+ bytes at heap offset .* run past the symmetric heap`}},
	{what: "iput_overflow_to_little", status: aborted, say: []string{`PE \d: shmem_long_iput: \d+ bytes at heap offset .* run past the symmetric heap`}},
	{what: "ibput_overflow_of_blocks", status: aborted, say: []string{`PE \d: shmem_long_ibput: \d+ bytes at heap offset .* run past the symmetric heap`}},
	{what: "iget_private", status: aborted, say: []string{`PE \d: shmem_iget64: 0x\w+ is not a symmetric address`}},
	{what: "iput_null_source", status: aborted, say: []string{`PE \d: shmem_long_iput: the local source is NULL`}},
	{what: "iget_null_dest", status: aborted, say: []string{`PE \d: shmem_long_iget: the local dest is NULL`}},
	{what: "ibget_past_block", env: full, status: aborted, say: []string{`PE \d: shmem_long_ibget: 96 bytes at 0x\w+: the allocation there has 80 bytes`}},
	{what: "lock_twice", env: full, status: aborted, say: []string{`PE \d: shmem_set_lock: this thread has set the lock 0x\w+ already \(clear it first\)`}},
	{what: "clear_free_lock", status: aborted, say: []string{`PE \d: shmem_clear_lock: this PE has not set the lock 0x\w+ \(clear only locks that this PE has set\)`}},
	{what: "clear_other_lock", status: aborted, say: []string{`PE 1: shmem_clear_lock: this PE has not set the lock`}},
	{what: "lock_private", status: aborted, say: []string{`PE \d: shmem_set_lock: 0x\w+ is not a symmetric address`}},
	{what: "lock_misaligned", status: aborted, say: []string{`PE \d: shmem_test_lock: the lock 0x\w+ is not aligned to 8 bytes`}},
	{what: "lock_freed", env: full, status: aborted, say: []string{`PE \d: shmem_test_lock: 8 bytes at 0x\w+: the allocation there has 0 bytes`}},
	{what: "hang_lock", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 1: shmem_set_lock has waited \d+ s: for the lock at 0x\w+ \(heap offset 0x\w+\) \(the wait goes on\)`}},
	{what: "team_destroyed", status: aborted, say: []string{`PE \d: shmem_team_sync: team \d+ was destroyed \(use its handle before shmem_team_destroy only\)`}},
	{what: "team_destroy_world", status: aborted, say: []string{`PE \d: shmem_team_destroy: team 0 is always there \(destroy only teams that a split has made\)`}},
	{what: "team_destroy_shared", status: aborted, say: []string{`PE \d: shmem_team_destroy: team 1 is always there`}},
	{what: "team_arguments_differ", status: aborted, say: []string{`PE \d: shmem_team_split_strided: number 3 of the description of the teams is 1 on a PE and 2 on another \(pass the same on every PE of the parent team\)`}},
	{what: "team_mask", status: aborted, say: []string{`PE \d: shmem_team_split_strided: the mask 0x6 has unknown bits \(use SHMEM_TEAM_NUM_CONTEXTS or 0\)`}},
	{what: "team_no_config", status: aborted, say: []string{`PE \d: shmem_team_split_strided: config is NULL \(pass a configuration, or a mask of 0\)`}},
	{what: "team_no_place", status: aborted, say: []string{`PE \d: shmem_team_split_2d: yaxis_team is NULL`}},
	{what: "team_root", status: aborted, say: []string{`PE \d: shmem_long_broadcast: root PE -1 does not exist, there are 2`}},
	{what: "collect_past_end", status: aborted, say: []string{`PE \d: shmem_long_collect: source 0x\w+ with \d+ bytes is not in the symmetric heap`}},
	{what: "collect_past_block", env: full, status: aborted, say: []string{`PE \d: shmem_long_collect: (96 bytes at 0x\w+: the allocation there has \d+ bytes|dest 0x\w+ .* overlap)`}},
	{what: "alltoalls_stride", status: aborted, say: []string{`PE \d: shmem_long_alltoalls: stride sst is 0 `}},
	{what: "alltoalls_overflow", status: aborted, say: []string{`PE \d: shmem_long_alltoalls: dest 0x\w+ with \d+ bytes is not in the symmetric heap`}},
	{what: "reduce_overlap", env: full, status: aborted, say: []string{`PE \d: shmem_long_sum_reduce: dest 0x\w+ with 16 bytes and source 0x\w+ with 16 bytes overlap \(pass arrays that have nothing in common\)`}},
	{what: "scan_overlap", env: full, status: aborted, say: []string{`PE \d: shmem_long_sum_inscan: dest 0x\w+ with 16 bytes and source 0x\w+ with 16 bytes overlap`}},
	{what: "fcollect_overlap", env: full, status: aborted, say: []string{`PE \d: shmem_long_fcollect: dest 0x\w+ with 32 bytes and source 0x\w+ with 16 bytes overlap`}},
	{what: "alltoall_overlap", env: full, status: aborted, say: []string{`PE \d: shmem_long_alltoall: dest 0x\w+ with 16 bytes and source 0x\w+ with 16 bytes overlap`}},
	{what: "quiet_wrong_pe", status: aborted, say: []string{`PE \d: shmem_pe_quiet: PE 2 does not exist, there are 2`}},
	{what: "hang_team", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 1: shmem_team_sync has waited \d+ s: for (the contribution|message \d+) of PE 0[,;].* \(the wait goes on\)`}},
}

// TestBadCalls is TestBadInput for the families of testdata/api.c.
func TestBadCalls(t *testing.T) { runRows(t, "api", apiRows) }
