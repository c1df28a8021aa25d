package bad

import "testing"

var contextRows = []row{
	{what: "ctx_unknown", status: aborted, say: []string{`PE \d: shmem_ctx_long_p: context 4711 does not exist \(pass SHMEM_CTX_DEFAULT or a context of shmem_ctx_create that no call has destroyed\)`}},
	{what: "ctx_negative", status: aborted, say: []string{`PE \d: shmem_ctx_long_g: context -7 does not exist`}},
	{what: "ctx_invalid", status: aborted, say: []string{`PE \d: shmem_ctx_long_put: the context is SHMEM_CTX_INVALID \(check whether the call that made it returned 0\)`}},
	{what: "ctx_destroyed", status: aborted, say: []string{`PE \d: shmem_ctx_long_atomic_fetch_add: context \d+ does not exist`}},
	{what: "ctx_destroyed_and_made", status: aborted, say: []string{`PE \d: shmem_ctx_putmem_signal: context \d+ does not exist`}},
	{what: "ctx_of_destroyed_team", status: aborted, say: []string{`PE \d: shmem_ctx_long_iput: context \d+ does not exist`}},
	{what: "ctx_destroy_default", status: aborted, say: []string{`PE \d: shmem_ctx_destroy: SHMEM_CTX_DEFAULT is always there \(destroy only contexts of shmem_ctx_create and shmem_team_create_ctx\)`}},
	{what: "ctx_destroy_twice", status: aborted, say: []string{`PE \d: shmem_ctx_destroy: context \d+ does not exist`}},
	{what: "ctx_options", status: aborted, say: []string{`PE \d: shmem_ctx_create: the options 0x101 have unknown bits \(use SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE or 0\)`}},
	{what: "ctx_no_place", status: aborted, say: []string{`PE \d: shmem_team_create_ctx: ctx is NULL \(pass the address of a shmem_ctx_t\)`}},
	{what: "ctx_no_team_place", status: aborted, say: []string{`PE \d: shmem_ctx_get_team: team is NULL \(pass the address of a shmem_team_t\)`}},
	{what: "ctx_unknown_team", status: aborted, say: []string{`PE \d: shmem_team_create_ctx: team 4711 does not exist`}},
	{what: "ctx_wrong_pe", status: aborted, say: []string{`PE \d: shmem_ctx_long_put: PE 2 does not exist, there are 2`}},
	{what: "ctx_wrong_pe_of_team", status: aborted, say: []string{`PE \d: shmem_ctx_long_p: PE 1 does not exist in the team of context \d+, which has 1 \(use 0 to shmem_team_n_pes - 1 of the context's team\)`}},
	{what: "ctx_other_thread", env: full, status: aborted, say: []string{`PE \d: shmem_ctx_long_p: context \d+ belongs to another thread \(make it without SHMEM_CTX_PRIVATE, or one in each thread\)`}},
	{what: "ctx_quiet_unknown", status: aborted, say: []string{`PE \d: shmem_ctx_quiet: context 4711 does not exist`}},
	{what: "ctx_fence_unknown", status: aborted, say: []string{`PE \d: shmem_ctx_fence: context 4711 does not exist`}},
	{what: "ctx_quiet_wrong_pe", status: aborted, say: []string{`PE \d: shmem_ctx_pe_quiet: PE 2 does not exist, there are 2`}},
	{what: "ctx_session_no_config", status: aborted, say: []string{`PE \d: shmem_ctx_session_start: config is NULL \(pass a configuration, or a mask of 0\)`}},
	{what: "hang_ctx", env: []string{"SHMEM_TIMEOUT=1"}, only: onHosts, status: 0, say: []string{`PE 0: shmem_ctx_quiet has waited \d+ s: for the operations of PE 0.* \(the wait goes on\)`}},
}

// TestBadContexts is TestBadInput for testdata/contexts.c.
func TestBadContexts(t *testing.T) { runRows(t, "contexts", contextRows) }
