package spec

// nvshmemxLater are the extensions that NVSHMEM has since 3.7 or 3.8.
var nvshmemxLater = []Family{
	nvshmemFamily(Family{
		Name: "team_get_uniqueid", Result: "int",
		Params: []Param{{Name: "uniqueid", C: "nvshmemx_team_uniqueid_t *", Role: Result, Doc: "the id"}},
		Front:  "nvshmemi_team_get_uniqueid($args, $call)",
		Doc: "Makes an id for a team. One PE calls it, in the team or not, and the program passes the id to the members. When the team is made, " +
			"the id may be used for another one.",
		Returns: "0, or NVSHMEMX_ERROR_INVALID_VALUE after a message when uniqueid is NULL.",
	}),
	nvshmemFamily(Family{
		Name: "team_init", Result: "int",
		Params: []Param{
			{Name: "team", C: "nvshmem_team_t *", Role: Result, Doc: "the team, or NVSHMEM_TEAM_INVALID"},
			{Name: "config", C: "nvshmem_team_config_t *", Role: Source, Doc: "with the id of the team in uniqueid"},
			{Name: "config_mask", C: "long", Doc: "the fields of config that are used: NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, which is required, and possibly NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS"},
			{Name: "npes", C: "int", Doc: "how many PEs the team has; the same on each"},
			{Name: "pe_idx_in_team", C: "int", Doc: "number of the caller in it, from 0 to npes - 1, different on each PE"},
		},
		Front: "nvshmemi_team_init($args, $call)",
		Doc: "Makes a team of any PEs, in any order. Only the PEs of the team make the call; two threads of a PE make it one after the other. " +
			"The team counts against the limit of teams, like a team that was made by a split.",
		Returns: "0, or non-zero after a message: NVSHMEMX_ERROR_INVALID_VALUE.",
	}),
	nvshmemFamily(Family{
		Name: "buffer_register_symmetric_at_preferred_address", Result: "void *",
		Params: []Param{
			{Name: "buf_ptr", C: "void *", Doc: "as for nvshmemx_buffer_register_symmetric"},
			{Name: "length", C: "size_t", Unit: "bytes", Doc: "of the buffer"},
			{Name: "preferred_addr", C: "void *", Doc: "ignored: the library chooses the place in its heap"},
			{Name: "flags", C: "int", Doc: "0: no flag is defined"},
		},
		Front:   "((void)preferred_addr, shmemx_buffer_register_symmetric(buf_ptr, length, flags))",
		Doc:     "Does what nvshmemx_buffer_register_symmetric does. The result says where the buffer is.",
		Returns: "The symmetric address of the buffer, or NULL.",
	}),
}
