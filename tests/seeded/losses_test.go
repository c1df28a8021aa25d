package seeded

// What calls do when a PE is lost.
var lossDefects = []defect{
	{
		id: "losses/told-by-a-put", file: "capi/front/failure.c",
		was:  "    last.code = code;\n",
		is:   "    last.code = code;\n    end_no_wait(shmemi_state.n_lost);\n",
		user: "a server whose client dies during a put to it waits for ever in its next receive",
		by:   job("./tests/failure", "^TestMessages$/^node$"), says: `shmemx_recv has waited`, hangs: true,
	},
	{
		id: "losses/one-for-all-kinds", file: "capi/front/failure.c",
		was:  "return shmemi_state.losses[mine.ended[whom]++];",
		is:   "end_no_wait(mine.ended[whom] + 1);\n        return shmemi_state.losses[mine.ended[whom] - 1];",
		user: "a receive waits for ever after a loss that has ended a wait on memory, which returns nothing",
		by:   job("./tests/failure", "^TestSurvive$/^two_of_one_node$"), says: `shmemx_notify_wait has waited`, hangs: true,
	},
	{
		id: "losses/outside-the-team", file: "capi/front/failure.c",
		was:  "mine.broken = pe < 0 || shmemi_team_rank(mine.team, pe) >= 0;",
		is:   "mine.broken = true;",
		user: "a put to a lost PE leaves the others waiting in a collective call of a team without it",
		by:   job("./tests/failure", "^TestOutside$/^hosts$"), says: `shmem_long_sum_reduce has waited`, hangs: true,
	},
}
