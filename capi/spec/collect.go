package spec

// collectCalls has collect with the length of dest, for programs that know it. It costs no more
// than collect, in which the PEs also exchange the lengths of their contributions.
var collectCalls = []Family{
	{
		Name: "collectmem_room", Section: "collect with room", Since: "0.1", Result: "int", Range: RangeColl,
		Params: []Param{
			collTeam,
			{Name: "dest", C: "void *", Doc: "symmetric, written at every PE"},
			{Name: "source", C: "const void *", Doc: "symmetric, read at every PE"},
			{Name: "nbytes", C: "size_t", Unit: "bytes", Doc: "from the caller; may differ from PE to PE, and be 0"},
			{Name: "room", C: "size_t", Unit: "bytes", Doc: "at dest of the caller; may differ from PE to PE"},
			{Name: "needed", C: "size_t *", Doc: "set to the sum of nbytes over all PEs"},
			{Name: "least", C: "size_t *", Doc: "set to the smallest room of any PE"},
		},
		Front: "shmemi_collect_room(team, dest, source, nbytes, room, needed, least, $call)",
		Doc: "Does what shmem_collectmem does when every PE has room for the result; else no PE writes anything. " +
			"shmem_collectmem does not know the room, and writes beyond the end of dest. Both calls take the same time.",
		Returns: "0; 1, on every PE, when *needed is more than *least; a negative number when team is SHMEM_TEAM_INVALID, and when a PE is " +
			"lost (docs/guides/failure.md). With a negative result needed and least are not set.",
		Errors: collErrors,
		Order:  collOrder,
	},
}
