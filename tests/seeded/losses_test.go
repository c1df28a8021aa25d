package seeded

// What calls do when a PE is lost.
var lossDefects = []defect{
	{
		id: "losses/never-reached", file: "runtime/job/network/network.go",
		was:  "	return nw.contact(all)\n",
		is:   "	return nil\n",
		user: "PEs whose data ports a firewall closes wait in their first barrier for ever",
		by:   job("./tests/run", "^TestUnreached$/^packets_vanish_tcp$"), says: `nothing matches .*the provider has made no connection`, hangs: true,
	},
	{
		id: "losses/one-address-for-two-hosts", file: "runtime/job/network/contact.go",
		was:  "		if nw.First[first] != nw.First[pe] {\n",
		is:   "		if nw.First[first] != nw.First[pe] && first == pe {\n",
		user: "PEs that are forced onto the bridge of a container engine try to reach themselves for a minute",
		by:   job("./tests/run", "^TestUnreached$/^one_address_for_both_tcp$"), says: `nothing matches .*have the same address`,
	},
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
		id: "losses/root-of-an-id", file: "capi/front/team_init.c",
		was:  "(lost = shmemi_is_lost(m->root)),",
		is:   "(lost = false),",
		user: "nvshmemx_team_init waits for ever for the PE that gave out the id, after another call has told of its loss",
		by:   job("./tests/nvshmem", "^TestTeamInitAfterLoss$/^-n_3$"), says: `timeout of 20s is over with 2 of 3 PEs running`, hangs: true,
	},
	{
		id: "losses/outside-the-team", file: "capi/front/failure.c",
		was:  "mine.broken = pe < 0 || shmemi_team_rank(mine.team, pe) >= 0;",
		is:   "mine.broken = true;",
		user: "a put to a lost PE leaves the others waiting in a collective call of a team without it",
		by:   job("./tests/failure", "^TestOutside$/^hosts$"), says: `shmem_long_sum_reduce has waited`, hangs: true,
	},
	{
		id: "losses/ends-unflushed", file: "capi/front/lifecycle.c",
		was:  "if (status != 0 || shmemi_state.n_pes == 0 ||",
		is:   "if (status == 0 || shmemi_state.n_pes == 0 ||",
		user: "the others wait for ever in the last barrier of a program that returns from main without shmem_finalize",
		by:   job("./tests/failure", "^TestEnds$/^barrier"), says: `shmem_barrier_all has waited`, hangs: true,
	},
	{
		id: "losses/waits-for-the-gone", file: "runtime/proxy/quiet/quiet.go",
		was:  "\tif p.Left {\n\t\tg.LeavePE(p)\n",
		is:   "\tif p.Left && p.Late {\n\t\tg.LeavePE(p)\n",
		user: "a PE waits for ever in its last reduction for the answer of one whose program has ended",
		by:   unit("./runtime/proxy", "^TestPlayedLeave$"), says: `\d of 3 PEs have ended`,
	},
	{
		id: "losses/gone-with-answers", file: "runtime/proxy/leave.go",
		was:  "case p.Parked > 0: // answers",
		is:   "case p.Parked > 0 && !p.Left: // answers",
		user: "a process that exits takes along the answer that another one waits for",
		by:   unit("./runtime/proxy", "^TestPlayedLeave$"), says: `\d of 3 PEs have ended|has applied`,
	},
	{
		id: "losses/absent-for-ever", file: "runtime/bootstrap/wire/payload.go",
		was:  "return f.How == Exited && f.Code == 0 && f.Init",
		is:   "return f.How == Left && f.Code == 0 && f.Init",
		user: "a job stays for ever whose PE returned from main before a barrier of the others",
		by:   job("./tests/failure", "^TestLate$/^exit_node$"), says: `nothing says .*the job ends`,
	},
}
