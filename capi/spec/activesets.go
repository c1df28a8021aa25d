package spec

// This file has the collectives on active sets, which the specification has in addition to those on
// teams.

const (
	setOrder = "dest, pSync and pWrk must be ready on every PE before the first one calls; on return dest of " +
		"the caller is complete, source may be reused, and pSync is as it was. It is not a barrier: pSync and " +
		"pWrk may be used again once the call is over on every PE."
	setErrors = "Ends the job when the set names a PE that does not exist or leaves the caller out, and when an array that " +
		"the call uses is not symmetric or too short; a set of all PEs uses neither pSync nor pWrk. " +
		"SHMEM_CHECKS=full also finds arrays that overlap, a pSync that was not initialised, and most uses of a pSync " +
		"before the earlier call is over. The library cannot check the length of a pWrk that lies within a larger object."
	sameForSet = "Every PE of the set makes the same call: the arrays are the same symmetric objects, and the numbers are equal."
)

var activeSet = []Param{
	{Name: "PE_start", C: "int", Doc: "the lowest PE of the set"},
	{Name: "logPE_stride", C: "int", Doc: "log2 of the distance from one PE to the next"},
	{Name: "PE_size", C: "int", Doc: "how many PEs"},
}

var paramSync = Param{Name: "pSync", C: "long *", Role: CollWrite,
	Doc: "SHMEM_SYNC_SIZE numbers of type long, each SHMEM_SYNC_VALUE before the first call"}

// onSet returns the parameters of a collective function on an active set: `before`, then the three
// numbers of the set, then pSync.
func onSet(before ...Param) []Param {
	return append(append(before, activeSet...), paramSync)
}

const theSet = "PE_start, logPE_stride, PE_size, "

var activeSets = Chapter{
	File:   "activesets",
	Title:  "Collective Routines",
	Over:   []string{"activeset.h"},
	Range:  RangeColl,
	Kernel: kernelCollectives,
	Families: []Family{
		{
			Name: "barrier", Section: "SHMEM_BARRIER", Since: "0.1", Instead: "shmem_quiet and shmem_team_sync",
			Params: onSet(),
			Front:  "shmemi_activeset_barrier(" + theSet + "pSync, $call)",
			// In kernels and on streams there are only teams, and no active sets.
			Kernel: []Kernel{{
				Scopes: allScopes, Result: "int", Params: []Param{collTeam},
				Body: "shmemi_sync<$scope, 1>($job, $call, team)",
				Doc:  "Waits until every PE of a team has called it, and all earlier operations are complete.",
			}},
			Stream: &Stream{
				Range: RangeColl, Result: "int", Params: []Param{collTeam},
				Front: "shmemi_stream_barrier(team, stream, $call)",
				Doc:   "Does what barrier_all does, for the PEs of a team.", Returns: zeroOnGood,
			},
			Doc: "Waits until every PE of the active set has called it, and until all operations that these PEs issued " +
				"before the call are complete. The next barrier or sync of the same set may have the same pSync.",
			Errors: setErrors, Order: "Includes a quiet.",
		},
		{
			Name: "sync", Section: "SHMEM_SYNC", Since: "0.1", Instead: "shmem_team_sync",
			Params: onSet(),
			Front:  "shmemi_activeset_sync(" + theSet + "pSync, $call)",
			Kernel: []Kernel{{
				Scopes: allScopes, Result: "int", Params: []Param{collTeam},
				Body: "shmemi_sync<$scope, 0>($job, $call, team)",
				Doc:  "Does the same as team_sync, under the specification's other name.",
			}},
			Doc: "Waits until every PE of the active set has called it. It completes only plain stores, not the " +
				"operations of this library. The next barrier or sync of the same set may have the same pSync.",
			Errors: setErrors,
		},
		activeSetRow(Family{
			Name: "broadcast", Section: "SHMEM_BROADCAST",
			Params: onSet(
				Param{Name: "dest", C: "T *", Role: CollWrite, Doc: "except that of PE_root"},
				Param{Name: "source", C: "const T *", Doc: "symmetric, read at PE_root"},
				Param{Name: "nelems", C: "size_t", Unit: "elements", Doc: "to copy"},
				Param{Name: "PE_root", C: "int", Doc: "number, in the set, of the PE that sends"},
			),
			Front: "shmemi_activeset_broadcast(dest, source, $nbytes, PE_root, " + theSet + "pSync, $call)",
			Doc:   "Copies an array of one PE to every other PE of the active set.",
		}),
		activeSetRow(Family{
			Name: "collect", Section: "SHMEM_COLLECT",
			Params: onSet(
				Param{Name: "dest", C: "T *", Role: CollWrite, Doc: "room for the arrays of all PEs"},
				collSource,
				Param{Name: "nelems", C: "size_t", Unit: "elements", Doc: "from the caller; may differ from PE to PE, and be 0"},
			),
			Front: "shmemi_activeset_collect(dest, source, $nbytes, " + theSet + "pSync, $call)",
			Doc:   "Concatenates the arrays of all PEs of the active set, in the order of their numbers, at every PE.",
		}),
		activeSetRow(Family{
			Name: "fcollect", Section: "SHMEM_FCOLLECT",
			Params: onSet(
				Param{Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the set"},
				collSource,
				Param{Name: "nelems", C: "size_t", Unit: "elements", Doc: "from each PE"},
			),
			Front: "shmemi_activeset_fcollect(dest, source, $nbytes, " + theSet + "pSync, $call)",
			Doc: "Concatenates the arrays of all PEs of the active set, in the order of their numbers, at every PE; " +
				"they all have the same length.",
		}),
		activeSetRow(Family{
			Name: "alltoall", Section: "SHMEM_ALLTOALL",
			Params: onSet(
				Param{Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the set"},
				Param{Name: "source", C: "const T *", Role: CollRead, Doc: "nelems times the size of the set"},
				Param{Name: "nelems", C: "size_t", Unit: "elements", Doc: "for each PE"},
			),
			Front: "shmemi_activeset_alltoall(dest, source, $nbytes, " + theSet + "pSync, $call)",
			Doc: "Exchanges blocks of nelems elements: block j of the i-th PE's source becomes block i of the j-th " +
				"PE's dest.",
		}),
		activeSetRow(Family{
			Name: "alltoalls", Section: "SHMEM_ALLTOALLS",
			Params: onSet(
				Param{Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the set, dst apart"},
				Param{Name: "source", C: "const T *", Role: CollRead, Doc: "nelems times the size of the set, sst apart"},
				Param{Name: "dst", C: "ptrdiff_t", Unit: "elements", Doc: "from one element of dest to the next; at least 1"},
				Param{Name: "sst", C: "ptrdiff_t", Unit: "elements", Doc: "from one element of source to the next; at least 1"},
				Param{Name: "nelems", C: "size_t", Unit: "elements", Doc: "for each PE"},
			),
			Front: "shmemi_activeset_alltoalls(dest, source, dst, sst, nelems, $size, " + theSet + "pSync, $call)",
			Doc: "Exchanges blocks of nelems elements as alltoall does, where the elements of source are sst apart and " +
				"those of dest dst.",
		}),
	},
}

// activeSetRow completes the table row of a collective on active sets that moves elements: it fills
// in the fields that are the same for all of them. They are defined for elements of 32 and 64 bits.
func activeSetRow(f Family) Family {
	f.Since, f.Variants, f.Widths = "0.1", Sized, []int{32, 64}
	f.Instead = "shmem_" + f.Name + " on a team"
	f.Doc += " " + sameForSet
	f.Errors, f.Order, f.Check = setErrors, setOrder, CheckSubset
	return f
}

// toAll returns the table rows of the reductions on active sets (shmem_int_sum_to_all and others).
// They combine elements by the functions of the reductions on teams.
func toAll() []Family {
	whole := []Type{tShort, tInt, tLong, tLongLong}
	ordered := append(append([]Type{}, whole...), tFloat, tDouble, tLongDouble)
	summed := append(append([]Type{}, ordered...), tComplexD, tComplexF)
	var out []Family
	for _, op := range []struct {
		name, what, reducer string
		types               []Type
	}{
		{"and", "the bitwise and", "u$type_and_reduce", whole},
		{"or", "the bitwise or", "u$type_or_reduce", whole},
		{"xor", "the bitwise exclusive or", "u$type_xor_reduce", whole},
		{"max", "the maximum", "$type_max_reduce", ordered},
		{"min", "the minimum", "$type_min_reduce", ordered},
		{"sum", "the sum", "$type_sum_reduce", summed},
		{"prod", "the product", "$type_prod_reduce", summed},
	} {
		out = append(out, Family{
			Name: op.name + "_to_all", Section: "SHMEM_REDUCTIONS", Since: "0.1",
			Types: op.types, Plain: true, Instead: "shmem_" + op.name + "_reduce on a team",
			Params: append(append([]Param{
				collDest, collSource,
				{Name: "nreduce", C: "int", Unit: "elements", Doc: "of each array"},
			}, activeSet...),
				Param{Name: "pWrk", C: "T *", Role: CollWrite, Doc: "nreduce / 2 + 1 elements, and at least " +
					"SHMEM_REDUCE_MIN_WRKDATA_SIZE"},
				paramSync),
			Front: "shmemi_activeset_reduce(dest, source, nreduce, " + theSet + "pWrk, pSync, &" + op.reducer + ", $call)",
			Doc: "Makes each element of dest, at every PE of the active set, " + op.what + " of the elements at that " +
				"place in the set's sources. " + sameForSet + apartOrSame,
			Errors: setErrors + " Also when nreduce is negative.", Order: setOrder,
			Check: CheckToAll,
		})
	}
	return out
}
