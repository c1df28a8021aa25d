package seeded

// NVSHMEM: what a change of names alone gets wrong.
var nvshmemDefects = []defect{
	{
		id: "nvshmem/same-triple", file: "capi/front/team.c",
		was:  "{each ? 0 : p.start, each ? 0 : p.stride, each ? 0 : p.size}",
		is:   "{p.start, p.stride, p.size}",
		user: "nvshmem_team_split_strided ends jobs that make two teams in one call",
		by:   job("./tests/nvshmem", "^TestPrograms$/^sem01$"), says: `number 1 of what describes the teams is`,
	},
	{
		id: "nvshmem/any-version", file: "capi/nvshmem/start.c",
		was:  "    if (!known(attr->version)) {",
		is:   "    if (attr->version == 0) {",
		user: "attributes of another version are read as if they were of this one",
		by:   job("./tests/nvshmem", "^TestPrograms$/^sem03$"), says: `PE 0 ended with status 6`,
	},
	{
		id: "nvshmem/config-of-the-other", file: "capi/nvshmem/teams.c",
		was:  "    config->num_contexts = below.num_contexts;\n",
		is:   "",
		user: "nvshmem_team_get_config says 0 contexts for each team",
		by:   job("./tests/nvshmem", "^TestPrograms$/^ring$"), says: `PE \d: the configuration`,
	},
}
