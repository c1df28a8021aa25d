package spec

const (
	teamUsed   = "Ends the job when a team does not exist, and when called before init or after finalize."
	teamSplits = "All PEs of the parent team make the call together, with the same numbers. A PE has at " +
		"most 505 teams at a time; in jobs of more than some hundred PEs the limit is lower."
	splitErrors = teamUsed + " Also when the PEs ask for different teams, when a mask has other bits, and " +
		"when a config that the mask needs or a pointer for a result is NULL."
	splitReturns = "0, or non-zero on every PE of the parent when the numbers are not usable, when there is " +
		"no room for another team, and when the parent is SHMEM_TEAM_INVALID."
)

var (
	teamHandle   = Param{Name: "team", C: "shmem_team_t", Doc: "a team that the caller is in, or SHMEM_TEAM_INVALID"}
	parentHandle = Param{Name: "parent_team", C: "shmem_team_t", Doc: "the team to take PEs from"}
)

var teams = Chapter{
	File:   "teams",
	Title:  "Team Management Routines",
	Over:   []string{"sync.h", "team_query.h", "team_split.h"},
	Kernel: kernelSetup,
	Families: []Family{
		{
			Name: "team_my_pe", Section: "SHMEM_TEAM_MY_PE", Since: "0.1",
			Result: "int", Params: []Param{teamHandle},
			Front: "shmemi_team_my_pe(team, $call)",
			Kernel: []Kernel{{
				Body: "shmemi_team_my_pe($job, $call, team)",
				Doc:  "Returns the number of this PE in a team, or -1 when there is no such team.",
			}},
			Doc:     "Returns the caller's number in a team.",
			Returns: "0 to shmem_team_n_pes(team) - 1; -1 for SHMEM_TEAM_INVALID.",
			Errors:  teamUsed,
		},
		{
			Name: "team_n_pes", Section: "SHMEM_TEAM_N_PES", Since: "0.1",
			Result: "int", Params: []Param{teamHandle},
			Front: "shmemi_team_n_pes(team, $call)",
			Kernel: []Kernel{{
				Body: "shmemi_team_n_pes($job, $call, team)",
				Doc:  "Returns the number of PEs in a team, or -1 when there is no such team.",
			}},
			Doc:     "Returns the number of PEs in a team.",
			Returns: "1 or more; -1 for SHMEM_TEAM_INVALID.",
			Errors:  teamUsed,
		},
		{
			Name: "team_get_config", Section: "SHMEM_TEAM_GET_CONFIG", Since: "0.1",
			Result: "int",
			Params: []Param{
				teamHandle,
				{Name: "config_mask", C: "long", Doc: "the fields to return: SHMEM_TEAM_NUM_CONTEXTS, or 0"},
				{Name: "config", C: "shmem_team_config_t *", Role: Result, Doc: "only the fields in the mask"},
			},
			Front:   "shmemi_team_get_config(team, config_mask, config, $call)",
			Doc:     "Returns the configuration of a team.",
			Returns: "0, or non-zero for SHMEM_TEAM_INVALID.",
			Errors:  teamUsed + " Also when the mask has other bits, and when config is needed and NULL.",
		},
		{
			Name: "team_translate_pe", Section: "SHMEM_TEAM_TRANSLATE_PE", Since: "0.1",
			Result: "int",
			Params: []Param{
				{Name: "src_team", C: "shmem_team_t", Doc: "the team in which src_pe is a number"},
				{Name: "src_pe", C: "int", Doc: "any number"},
				{Name: "dest_team", C: "shmem_team_t", Doc: "the team in which its number is wanted"},
			},
			Front: "shmemi_team_translate_pe(src_team, src_pe, dest_team, $call)",
			Kernel: []Kernel{{
				Body: "shmemi_team_translate_pe($job, $call, src_team, src_pe, dest_team)",
				Doc:  "Returns the number that a PE of one team has in another, or -1.",
			}},
			Doc:     "Returns the number that a PE of one team has in another.",
			Returns: "The number; -1 when the PE is not in both, and for SHMEM_TEAM_INVALID.",
			Errors:  teamUsed,
		},
		{
			Name: "team_split_strided", Section: "SHMEM_TEAM_SPLIT_STRIDED", Since: "0.1",
			Result: "int",
			Params: []Param{
				parentHandle,
				{Name: "start", C: "int", Doc: "number, in the parent, of the first PE"},
				{Name: "stride", C: "int", Doc: "from the number of one PE in the parent to the next; negative: downwards; 0: only with a size of 1"},
				{Name: "size", C: "int", Doc: "how many PEs"},
				{Name: "config", C: "const shmem_team_config_t *", Role: Source, Doc: "may be NULL when the mask is 0"},
				{Name: "config_mask", C: "long", Doc: "the fields of config that are used: SHMEM_TEAM_NUM_CONTEXTS, or 0"},
				{Name: "new_team", C: "shmem_team_t *", Role: Result, Doc: "the team, or SHMEM_TEAM_INVALID at PEs that " +
					"are not in it"},
			},
			Front:   "shmemi_team_split_strided(parent_team, start, stride, size, config, config_mask, new_team, $call)",
			Doc:     "Makes a team of PEs of a parent team that are the same distance apart. " + teamSplits,
			Returns: splitReturns,
			Errors:  splitErrors,
		},
		{
			Name: "team_split_2d", Section: "SHMEM_TEAM_SPLIT_2D", Since: "0.1",
			Result: "int",
			Params: []Param{
				parentHandle,
				{Name: "xrange", C: "int", Doc: "length of a row, at least 1"},
				{Name: "xaxis_config", C: "const shmem_team_config_t *", Role: Source, Doc: "may be NULL when the mask is 0"},
				{Name: "xaxis_mask", C: "long", Doc: "the fields of xaxis_config that are used: SHMEM_TEAM_NUM_CONTEXTS, or 0"},
				{Name: "xaxis_team", C: "shmem_team_t *", Role: Result, Doc: "the PEs of the caller's row"},
				{Name: "yaxis_config", C: "const shmem_team_config_t *", Role: Source, Doc: "may be NULL when the mask is 0"},
				{Name: "yaxis_mask", C: "long", Doc: "the fields of yaxis_config that are used: SHMEM_TEAM_NUM_CONTEXTS, or 0"},
				{Name: "yaxis_team", C: "shmem_team_t *", Role: Result, Doc: "the PEs of the caller's column"},
			},
			Front: "shmemi_team_split_2d(parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, " +
				"yaxis_config, yaxis_mask, yaxis_team, $call)",
			Doc: "Lays the PEs of a team out in rows of xrange and makes a team of each row and of each " +
				"column; the last row may be shorter. " + teamSplits,
			Returns: splitReturns,
			Errors:  splitErrors,
		},
		{
			Name: "team_destroy", Section: "SHMEM_TEAM_DESTROY", Since: "0.1",
			Params: []Param{{Name: "team", C: "shmem_team_t", Doc: "a team made by a split; SHMEM_TEAM_INVALID: nothing happens"}},
			Front:  "shmemi_team_destroy(team, $call)",
			Doc:    "Destroys a team, and the caller's contexts that were made for it. All of its PEs make the call together.",
			Errors: teamUsed + " Also for predefined teams.",
		},
		{
			Name: "team_sync", Section: "SHMEM_SYNC", Since: "0.1",
			Result: "int", Params: []Param{teamHandle},
			Front: "shmemi_team_sync(team, $call)",
			Kernel: []Kernel{{
				In: kernelCollectives, Scopes: allScopes, Body: "shmemi_sync<$scope, 0>($job, $call, team)",
				Doc: "Waits until every PE of a team has called it. It completes only stores and loads.",
			}},
			Stream: &Stream{
				Range: RangeColl, Front: "shmemi_stream_sync(team, stream, $call)",
				Params: []Param{collTeam},
				Doc:    "Does what sync_all does, for the PEs of a team.", Returns: zeroOnGood,
			},
			Doc: "Waits until every PE of the team has called it. It completes only plain stores, not the " +
				"operations of this library. In C11 shmem_sync(team) is the same.",
			Returns: collReturns,
			Errors:  teamUsed,
		},
		{
			Name: "team_ptr", Section: "SHMEM_TEAM_PTR", Since: "0.1",
			Result: "void *",
			Params: []Param{
				teamHandle,
				{Name: "dest", C: "const void *", Doc: "symmetric address"},
				{Name: "pe", C: "int", Doc: "number of a PE in the team"},
			},
			Front:   "shmemi_team_ptr(team, dest, pe, $call)",
			Doc:     "Does what shmem_ptr does, for a PE by its number in a team.",
			Returns: "As shmem_ptr; NULL also for SHMEM_TEAM_INVALID.",
			Errors:  teamUsed,
		},
	},
}
