package spec

const (
	collOrder = "dest must be ready on every PE before the first one calls; on return dest of the " +
		"caller is complete and source may be reused. It is not a barrier."
	collErrors = "Ends the job when team is not a team, when an array is not symmetric or too short, and " +
		"when called before init or after finalize."
	// zeroOnGood is for calls on streams, which return before any PE has taken part.
	zeroOnGood  = "0, or non-zero when team is SHMEM_TEAM_INVALID."
	collReturns = "0; non-zero when team is SHMEM_TEAM_INVALID, and when a PE of the team is lost (SHMEM_ON_FAILURE=return)."
	sameForAll  = "Every PE of the team makes the same call: dest and source name the same symmetric objects, and the other arguments are equal."
	apartOrSame = " dest and source are the same array or do not overlap."
)

var (
	collTeam   = Param{Name: "team", C: "shmem_team_t", Doc: "the PEs that take part"}
	collDest   = Param{Name: "dest", C: "T *", Role: CollWrite}
	collSource = Param{Name: "source", C: "const T *", Role: CollRead}
)

var collectives = Chapter{
	File:   "collectives",
	Title:  "Collective Routines",
	Over:   []string{"broadcast.h", "coll.h", "sync.h"},
	Range:  RangeColl,
	Kernel: kernelCollectives,
	Families: []Family{
		{
			Name: "barrier_all", Section: "SHMEM_BARRIER_ALL", Since: "0.1",
			Front: "shmemi_barrier_all($call)",
			Kernel: []Kernel{{
				Scopes: allScopes, Body: "(void)shmemi_sync<$scope, 1>($job, $call, SHMEMI_TEAM_WORLD)",
				Doc: "Waits until every PE has called it, and all earlier operations are complete.",
			}},
			Stream: &Stream{
				Range: RangeColl, Front: "(void)shmemi_stream_barrier(SHMEM_TEAM_WORLD, stream, $call)",
				Doc: "Makes the stream wait until a stream of every PE has reached the call, and until all earlier operations of streams and " +
					"kernels are complete at every PE.",
			},
			Doc: "Waits until every PE has called it, and until all operations that the PEs issued before the call on " +
				"their default contexts are complete.",
			Errors: "Ends the job when called before init or after finalize.",
			Order:  "Includes a quiet.",
		},
		{
			Name: "sync_all", Section: "SHMEM_SYNC_ALL", Since: "0.1",
			Front: "shmemi_sync_all($call)",
			Kernel: []Kernel{{
				Scopes: allScopes, Body: "(void)shmemi_sync<$scope, 0>($job, $call, SHMEMI_TEAM_WORLD)",
				Doc: "Waits until every PE has called it. It completes only stores and loads.",
			}},
			Stream: &Stream{
				Range: RangeColl, Front: "(void)shmemi_stream_sync(SHMEM_TEAM_WORLD, stream, $call)",
				Doc: "Makes the stream wait until a stream of every PE has reached the call.",
			},
			Doc: "Waits until every PE has called it. Unlike a barrier it completes only plain stores, " +
				"not the operations of this library.",
			Errors: "Ends the job when called before init or after finalize.",
		},
		{
			Name: "broadcast", Section: "SHMEM_BROADCAST", Since: "0.1",
			Types: RMATypes, Variants: Mem, Result: "int",
			Params: []Param{
				collTeam, collDest,
				{Name: "source", C: "const T *", Doc: "symmetric, read at PE_root alone"},
				{Name: "nelems", C: "size_t", Unit: "elements", Doc: "to copy"},
				{Name: "PE_root", C: "int", Doc: "number, in the team, of the PE that sends"},
			},
			Front: "shmemi_broadcast(team, dest, source, $nbytes, PE_root, $call)",
			Kernel: []Kernel{{
				Types: KernelTypes, Variants: Mem, Scopes: allScopes,
				Body: "shmemi_broadcast<$scope>($job, $call, team, dest, source, $bytes, PE_root)",
				Doc:  "Copies an array of one PE to every PE of the team; PE_root is its number there.",
			}},
			Stream: &Stream{
				Types: StreamTypes, Variants: Mem, Range: RangeColl,
				Front: "shmemi_stream_broadcast(team, dest, source, $nbytes, PE_root, stream, $call)",
				Doc:   "Copies an array of one PE to every PE of the team, that one included.", Returns: zeroOnGood,
			},
			Doc:     "Copies an array of one PE to every PE of the team, that one included. " + sameForAll,
			Returns: collReturns, Errors: "As fcollect, and when the team has no PE_root.", Order: collOrder,
			Check: CheckMove,
		},
		{
			Name: "fcollect", Section: "SHMEM_FCOLLECT", Since: "0.1",
			Types: RMATypes, Variants: Mem, Result: "int",
			Params: []Param{
				collTeam,
				{Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the team"},
				collSource,
				{Name: "nelems", C: "size_t", Unit: "elements", Doc: "from each PE"},
			},
			Front: "shmemi_fcollect(team, dest, source, $nbytes, $call)",
			Kernel: []Kernel{{
				Types: KernelTypes, Variants: Mem, Scopes: allScopes,
				Body: "shmemi_exchange<$scope, 0>($job, $call, team, dest, source, $bytes)",
				Doc:  "Concatenates the arrays of all PEs of the team at every PE, in the order of their numbers.",
			}},
			Stream: &Stream{
				Types: StreamTypes, Variants: Mem, Range: RangeColl,
				Front: "shmemi_stream_fcollect(team, dest, source, $nbytes, stream, $call)",
				Doc:   "Concatenates the arrays of all PEs of the team, in the order of their numbers, at every PE.", Returns: zeroOnGood,
			},
			Doc: "Concatenates the arrays of all PEs of the team, in the order of their numbers, at " +
				"every PE. " + sameForAll,
			Returns: collReturns, Errors: collErrors, Order: collOrder,
			Check: CheckMove,
		},
		{
			Name: "alltoall", Section: "SHMEM_ALLTOALL", Since: "0.1",
			Types: RMATypes, Variants: Mem, Result: "int",
			Params: []Param{
				collTeam,
				{Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the team"},
				{Name: "source", C: "const T *", Role: CollRead, Doc: "nelems times the size of the team"},
				{Name: "nelems", C: "size_t", Unit: "elements", Doc: "for each PE"},
			},
			Front: "shmemi_alltoall(team, dest, source, $nbytes, $call)",
			Kernel: []Kernel{{
				Types: KernelTypes, Variants: Mem, Scopes: allScopes,
				Body: "shmemi_exchange<$scope, 1>($job, $call, team, dest, source, $bytes)",
				Doc:  "Block j of PE i's source becomes block i of PE j's dest.",
			}},
			Stream: &Stream{
				Types: StreamTypes, Variants: Mem, Range: RangeColl,
				Front: "shmemi_stream_alltoall(team, dest, source, $nbytes, stream, $call)",
				Doc:   "Exchanges blocks of nelems elements: block j of PE i's source becomes block i of PE j's dest.", Returns: zeroOnGood,
			},
			Doc: "Exchanges blocks of nelems elements: block j of PE i's source becomes block i of " +
				"PE j's dest. " + sameForAll,
			Returns: collReturns, Errors: collErrors, Order: collOrder,
			Check: CheckMove,
		},
		{
			Name: "collect", Section: "SHMEM_COLLECT", Since: "0.1",
			Types: RMATypes, Variants: Mem, Result: "int",
			Params: []Param{
				collTeam,
				{Name: "dest", C: "T *", Role: CollWrite, Doc: "room for the arrays of all PEs"},
				collSource,
				{Name: "nelems", C: "size_t", Unit: "elements", Doc: "from the caller; may differ from PE to PE, and be 0"},
			},
			Front: "shmemi_collect(team, dest, source, $nbytes, $call)",
			Doc: "Concatenates the arrays of all PEs of the team, in the order of their numbers, at " +
				"every PE. Every PE of the team makes the same call with the same dest, each with its own nelems. " +
				"source may be another array on each PE, which OpenSHMEM does not promise.",
			Returns: collReturns, Errors: collErrors, Order: collOrder,
			Check: CheckMove,
		},
		{
			Name: "alltoalls", Section: "SHMEM_ALLTOALLS", Since: "0.1",
			Types: RMATypes, Variants: Mem, Result: "int",
			Params: []Param{
				collTeam,
				{Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the team, dst apart"},
				{Name: "source", C: "const T *", Role: CollRead, Doc: "nelems times the size of the team, sst apart"},
				{Name: "dst", C: "ptrdiff_t", Unit: "elements", Doc: "from one element of dest to the next; at least 1"},
				{Name: "sst", C: "ptrdiff_t", Unit: "elements", Doc: "from one element of source to the next; at least 1"},
				{Name: "nelems", C: "size_t", Unit: "elements", Doc: "for each PE"},
			},
			Front: "shmemi_alltoalls(team, dest, source, dst, sst, nelems, $size, $call)",
			Doc: "Exchanges blocks of nelems elements as alltoall does, where the elements of source are sst " +
				"apart and those of dest dst. " + sameForAll,
			Returns: collReturns, Errors: collErrors + " Also when a stride is less than 1.", Order: collOrder,
			Check: CheckMove,
		},
	},
}
