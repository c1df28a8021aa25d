package spec

var (
	// DeviceNumbers: those that can be put in order, added and multiplied.
	DeviceNumbers = append(without(without(RMATypes, tLongDouble), tPtrdiff), tHalf, tBFloat16)
	// DeviceBits: those that can be combined bit by bit.
	DeviceBits = []Type{
		tUChar, tUShort, tUInt, tULong, tULongLong, tInt8, tInt16, tInt32, tInt64,
		tUInt8, tUInt16, tUInt32, tUInt64, tSize,
	}
)

var deviceCollectives = DeviceChapter{
	File: "collectives", Over: "coll.h", Doc: "collectives of teams",
	Families: []DeviceFamily{
		{
			Name: "barrier_all", Scopes: allScopes,
			Body: "(void)shmemi_sync<$scope, 1>($job, $call, SHMEM_TEAM_WORLD)",
			Doc:  "Waits until every PE has called it, and all operations before are complete.",
		},
		{
			Name: "barrier", Scopes: allScopes, Result: "int", Params: []Param{collTeam},
			Body: "shmemi_sync<$scope, 1>($job, $call, team)",
			Doc:  "The same for the PEs of a team.",
		},
		{
			Name: "sync_all", Scopes: allScopes,
			Body: "(void)shmemi_sync<$scope, 0>($job, $call, SHMEM_TEAM_WORLD)",
			Doc:  "Waits until every PE has called it. It completes only stores and loads.",
		},
		{
			Name: "team_sync", Scopes: allScopes, Result: "int", Params: []Param{collTeam},
			Body: "shmemi_sync<$scope, 0>($job, $call, team)",
			Doc:  "The same for a team.",
		},
		{
			Name: "sync", Scopes: allScopes, Result: "int", Params: []Param{collTeam},
			Body: "shmemi_sync<$scope, 0>($job, $call, team)",
			Doc:  "The same, by the specification's other name.",
		},
		{
			Name: "broadcast", Types: DeviceTypes, Variants: Mem, Scopes: allScopes, Result: "int",
			Params: []Param{
				collTeam, collDest, collSource, {Name: "nelems", C: "size_t"}, {Name: "PE_root", C: "int"},
			},
			Body: "shmemi_broadcast<$scope>($job, $call, team, dest, source, $bytes, PE_root)",
			Doc:  "Copies an array of one PE to every PE of the team; PE_root is its number there.",
		},
		{
			Name: "fcollect", Types: DeviceTypes, Variants: Mem, Scopes: allScopes, Result: "int",
			Params: []Param{collTeam, collDest, collSource, {Name: "nelems", C: "size_t"}},
			Body:   "shmemi_exchange<$scope, 0>($job, $call, team, dest, source, $bytes)",
			Doc:    "Concatenates the arrays of all PEs of the team at every PE, in the order of their numbers.",
		},
		{
			Name: "alltoall", Types: DeviceTypes, Variants: Mem, Scopes: allScopes, Result: "int",
			Params: []Param{collTeam, collDest, collSource, {Name: "nelems", C: "size_t"}},
			Body:   "shmemi_exchange<$scope, 1>($job, $call, team, dest, source, $bytes)",
			Doc:    "Block j of PE i's source becomes block i of PE j's dest.",
		},
	},
}

var deviceReductions = DeviceChapter{
	File: "reduce", Over: "reduce.h", Doc: "reductions over teams",
	Families: []DeviceFamily{
		deviceReduce("sum", DeviceNumbers), deviceReduce("prod", DeviceNumbers),
		deviceReduce("min", DeviceNumbers), deviceReduce("max", DeviceNumbers),
		deviceReduce("and", DeviceBits), deviceReduce("or", DeviceBits), deviceReduce("xor", DeviceBits),
	},
}

func deviceReduce(op string, types []Type) DeviceFamily {
	return DeviceFamily{
		Name: op + "_reduce", Types: types, Scopes: allScopes, Result: "int",
		Params: []Param{collTeam, collDest, collSource, {Name: "nreduce", C: "size_t"}},
		Body:   "shmemi_reduce<$scope, shmemi_$late" + op + ", $T>($job, $call, team, dest, source, nreduce)",
		Doc:    "Combines the elements at each place of the sources of a team, at every PE of it.",
	}
}
