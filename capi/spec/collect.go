package spec

// What a program that knows how long its arrays are asks of collect. It costs nothing more: the
// PEs tell each other how much they give in any case.

var collectCalls = []Family{
	{
		Name: "collectmem_room", Section: "collect with room", Since: "0.1", Result: "int", Range: RangeColl,
		Params: []Param{
			collTeam,
			{Name: "dest", C: "void *", Doc: "symmetric, written at every PE"},
			{Name: "source", C: "const void *", Doc: "symmetric, read at every PE"},
			{Name: "nbytes", C: "size_t", Unit: "bytes", Doc: "from the caller; may differ from PE to PE, and be 0"},
			{Name: "room", C: "size_t", Unit: "bytes", Doc: "at dest of the caller; may differ from PE to PE"},
			{Name: "needed", C: "size_t *", Doc: "set to the bytes that all PEs give together"},
			{Name: "least", C: "size_t *", Doc: "set to the bytes of room at the PE that has least"},
		},
		Front: "shmemi_collect_room(team, dest, source, nbytes, room, needed, least, $call)",
		Doc: "Does as shmem_collectmem where there is room for it at every PE; else no PE writes anything. " +
			"shmem_collectmem cannot know that, and writes to what lies behind dest. It takes as long.",
		Returns: "0; 1, on every PE alike, when *needed is more than *least; below 0 when team is SHMEM_TEAM_INVALID, or as " +
			"docs/guides/failure.md has it when a PE is lost. Below 0 nothing is set.",
		Errors: collErrors,
		Order:  collOrder,
	},
}
