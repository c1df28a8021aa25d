package bad

import "testing"

// With three PEs a set of two is not the world, and has messages of its own.
var setRows = []row{
	{what: "set_beyond", pes: "3", status: aborted, say: []string{`PE \d: shmem_barrier: the active set of 3 PEs from 0 with a stride of 2\^1 is not within 3 PEs \(name PEs that exist\)`}},
	{what: "set_of_nobody", status: aborted, say: []string{`PE \d: shmem_sync: the active set of 0 PEs from 0 `}},
	{what: "set_stride", status: aborted, say: []string{`PE \d: shmem_sync: the active set of 2 PEs from 0 with a stride of 2\^-1 `}},
	{what: "set_not_in_it", status: aborted, say: []string{`PE 1: shmem_barrier: PE 1 is not in the active set of 1 PEs from 0 with a stride of 2\^0 \(call it on the PEs of the set only\)`}},
	{what: "set_root", status: aborted, say: []string{`PE \d: shmem_broadcast64: root PE 2 does not exist, there are 2`}},
	{what: "set_private_sync", pes: "3", status: aborted, say: []string{`PE \d: shmem_fcollect64: pSync 0x\w+ with 416 bytes is not in the symmetric heap`}},
	{what: "set_private_work", pes: "3", status: aborted, say: []string{`PE \d: shmem_long_sum_to_all: pWrk 0x\w+ with 1024 bytes is not in the symmetric heap`}},
	{what: "set_negative", status: aborted, say: []string{`PE \d: shmem_long_sum_to_all: nreduce is -1 \(use 0 or more\)`}},
	{what: "set_short_work", pes: "3", env: full, status: aborted, say: []string{`PE \d: shmem_long_sum_to_all: 1024 bytes at 0x\w+: the allocation there has 40 bytes`}},
	{what: "set_short_sync", pes: "3", env: full, status: aborted, say: []string{`PE \d: shmem_sync: 416 bytes at 0x\w+: the allocation there has 80 bytes`}},
	{what: "set_overlap", env: full, status: aborted, say: []string{`PE \d: shmem_long_sum_to_all: dest 0x\w+ with 16 bytes and source 0x\w+ with 16 bytes overlap`}},
	{what: "set_work_of_sync_size", pes: "3", env: full, status: 0, say: []string{`PE 0 went on`, `PE 1 went on`}},
	{what: "set_not_initialised", pes: "3", env: full, status: aborted, say: []string{`PE \d: shmem_sync: element 31 of pSync 0x\w+ is 1 \(set all SHMEM_SYNC_SIZE elements to SHMEM_SYNC_VALUE on every PE`}},
	{what: "set_not_initialised_of_some", pes: "3", env: full, status: aborted, say: []string{`PE \d: shmem_sync: element 0 of pSync 0x\w+ is -1 `}},
	{what: "set_sync_again", pes: "4", env: full, status: aborted, say: []string{`PE [12]: shmem_broadcast64: pSync 0x\w+ has 2 messages where 1 are due: a PE is already using it again \(use another pSync, or wait until the call has ended on every PE\)`}},
	{what: "hang_set", pes: "3", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 1: shmem_barrier has waited \d+ s: for 1 messages in pSync at 0x\w+, has 0.* \(the wait goes on\)`}},
}

// TestBadSets is TestBadInput for the calls of testdata/sets.c.
func TestBadSets(t *testing.T) { runRows(t, "sets", setRows) }
