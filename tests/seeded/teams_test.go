package seeded

// Teams: their members, the numbers of their PEs, and their shared state.
var teamDefects = []defect{
	{
		id: "teams/argument-by-its-name", file: "capi/front/team_split.c",
		was:  `{"size", each ? 0 : p.size}`,
		is:   `{"stride", each ? 0 : p.size}`,
		user: "the error for PEs that pass different sizes to shmem_team_split_strided names the stride",
		by:   job("./tests/bad", "^TestBadCalls$/^team_arguments_differ"), says: `nothing says .*size is 1 on one PE`,
	},
	{
		id: "teams/last-of-the-parent", file: "capi/front/team_split.c",
		was:  "int64_t last = (int64_t)p.start + (int64_t)p.stride * ((int64_t)p.size - 1);",
		is:   "int64_t last = (int64_t)p.start + (int64_t)p.stride * (int64_t)p.size;",
		user: "shmem_team_split_strided refuses a team that has the last PE",
		by:   program("teams", "node-4"), says: `PE \d: 4 PEs from 3 by -1: returned -1`,
	},
	{
		id: "teams/rank-of-the-world", file: "capi/front/team_split.c",
		was:  "pes[i] = parent->pes[p->start + p->stride * i];",
		is:   "pes[i] = parent->pes[0] + p->start + p->stride * i;",
		user: "a team of a team whose PEs are apart has other PEs",
		by:   program("teams", "node-4"), says: `shmem_team_split_strided: PE \d: of a team: 1 is PE -1, should be 1`,
	},
	{
		id: "teams/between-two-members", file: "capi/front/team.c",
		was:  "return rank >= 0 && rank < t->n && rank * t->stride == distance ? (int)rank : -1;",
		is:   "return rank >= 0 && rank < t->n ? (int)rank : -1;",
		user: "shmem_team_translate_pe gives a PE that is not in the team a number",
		by:   program("teams", "node-4"), says: `shmem_team_split_strided: PE 0: of the world: PE 1 is 0, should be -1`,
	},
	{
		id: "teams/last-row-of-a-column", file: "capi/front/team_split.c",
		was:  "{x, width, (n - x + width - 1) / width, contexts_of",
		is:   "{x, width, n / width, contexts_of",
		user: "shmem_team_split_2d of 3 PEs in rows of 2 forgets one of a column",
		by:   program("teams", "node-3"), says: `shmem_team_split_2d: PE \d: column: 1 PEs, should be 2`,
	},
	{
		id: "teams/one-slot-for-two", file: "capi/front/team_ids.c",
		was:  "bit_at(free, 0, SHMEMI_FIRST_PLACE, i),",
		is:   "bit_at(free, 0, SHMEMI_FIRST_PLACE, 0),",
		user: "collectives of the two teams of shmem_team_split_2d take each other's messages",
		by:   program("teams", "node-4"), says: `team \d+ (does not exist|was destroyed)`,
	},
	{
		id: "teams/slot-that-another-pe-uses", file: "capi/front/team_split.c",
		was:  "            a->free[i] &= b->free[i];",
		is:   "            a->free[i] |= b->free[i];",
		user: "a split takes the slot of a team that the caller is not in",
		by:   program("teams", "node-4"), says: `got signal 15 \(terminated\): ending 4 PEs`, hangs: true,
	},
	{
		id: "teams/words-of-the-last-team", file: "capi/front/team_ids.c",
		was:  "    memset(my_base + area, 0, (size_t)(scratch - area));\n",
		is:   "    memset(my_base + t->lines, 0, (size_t)(scratch - t->lines));\n",
		user: "a new team counts the messages of one that was destroyed",
		by:   program("teams", "node-4"), says: `on teams: PE \d: inscan of 1: element 0 is`,
	},
	{
		id: "teams/lines-of-the-last-team", file: "capi/front/team_ids.c",
		was:  "    memset(my_base + area, 0, (size_t)(scratch - area));\n",
		is:   "    memset(my_base + area, 0, (size_t)(t->lines - area));\n",
		user: "a new team takes the contributions of one that was destroyed",
		by:   program("steps", "node-8"), says: `shmem_team_destroy: PE \d: the sum in team 2 is`,
	},
	{
		id: "teams/contexts-are-forgotten", file: "capi/front/team_split.c",
		was:  "    shmemi_ctx_end_team(team, call);\n",
		is:   "",
		user: "a context of a destroyed team still works, and keeps its place for ever",
		by:   job("./tests/bad", "^TestBadContexts$"), says: `nothing says .*shmem_ctx_long_iput: context .* does not exist`,
	},
	{
		id: "teams/context-in-the-job", file: "capi/front/context.h",
		was:  "    return c->pes[pe];\n",
		is:   "    return pe;\n",
		user: "a put by a context of a team goes to the PE of that number in the job",
		by:   program("contexts", "node-4"), says: `shmem_team_create_ctx: PE \d: PE \d has added \d`,
	},
}
