package spec

// Functions that another library has and libshmem lacks. The shim of capi/preload defines them, so
// that modes see calls by programs of that library. Their Front is not used; it only marks them as
// functions of the host.
var (
	// OtherLibraries are the functions of Open MPI's OSHMEM that the standard does not have.
	OtherLibraries = otherLibraries()
	// OtherNvshmem are functions that NVIDIA's headers and device archive call for the program:
	// there nvshmem_init and nvshmem_finalize are inline. The version is a struct of three ints,
	// which passes in two registers, here version and patch.
	OtherNvshmem = []Family{
		{
			Name: "hostlib_init_attr", Symbol: "nvshmemid_hostlib_init_attr", Result: "int", Front: elsewhere, surface: Nvshmem,
			Params: []Param{
				{Name: "requested", C: "int"}, {Name: "provided", C: "int *", Role: Result}, {Name: "flags", C: "unsigned int"},
				{Name: "attr", C: "void *"}, {Name: "version", C: "uint64_t"}, {Name: "patch", C: "uint64_t"}, {Name: "cb", C: "void *"},
			},
		},
		{
			Name: "hostlib_finalize", Symbol: "nvshmemid_hostlib_finalize", Front: elsewhere, surface: Nvshmem,
			Params: []Param{{Name: "device_ctx", C: "void *"}, {Name: "transport_device_ctx", C: "void *"}},
		},
	}
)

// elsewhere is the Front of functions that the shim defines and libshmem does not: a text that no
// generator reads.
const elsewhere = "elsewhere"

// signedBitwise are the types for which Open MPI has bitwise atomics and the standard has none.
var signedBitwise = []Type{tInt, tLong, tLongLong}

// The types of functions in Open MPI's shmemx.h: of p, g and reductions, of other functions, and of
// bitwise atomics.
var (
	olderShort = []Type{tInt16, tInt32, tInt64}
	olderTypes = []Type{tInt32, tInt64}
	olderBits  = []Type{tInt32, tInt64, tUInt32, tUInt64}
)

// otherLibraries returns the rows of OtherLibraries: the functions that Open MPI's OSHMEM has and
// libshmem lacks. Only the shim of capi/preload defines them, so that it sees calls to them by
// programs of Open MPI.
func otherLibraries() []Family {
	var out []Family
	add := func(row Family) {
		row.Front, row.Since = elsewhere, ""
		out = append(out, row)
	}
	dest := Param{Name: "dest", C: "T *", Role: Updated}
	source := Param{Name: "source", C: "const T *", Role: Read}
	value, cond, pe := Param{Name: "value", C: "T"}, Param{Name: "cond", C: "T"}, Param{Name: "pe", C: "int"}
	for _, op := range []string{"and", "or", "xor"} {
		add(Family{Name: "atomic_" + op, Types: signedBitwise, Contexts: true, Params: []Param{dest, value, pe}})
		add(Family{Name: "atomic_" + op, X: true, Types: olderBits, Params: []Param{dest, value, pe}})
		add(Family{Name: "atomic_fetch_" + op, Types: signedBitwise, Contexts: true, Result: "T", Params: []Param{dest, value, pe}})
		add(Family{Name: "atomic_fetch_" + op, X: true, Types: olderBits, Result: "T", Params: []Param{dest, value, pe}})
	}
	add(Family{Name: "g", X: true, Types: olderShort, Result: "T", Params: []Param{source, pe}})
	add(Family{Name: "p", X: true, Types: olderShort, Params: []Param{{Name: "dest", C: "T *", Role: Written}, value, pe}})
	add(Family{Name: "set", X: true, Types: olderTypes, Params: []Param{dest, value, pe}})
	add(Family{Name: "add", X: true, Types: olderTypes, Params: []Param{dest, value, pe}})
	add(Family{Name: "inc", X: true, Types: olderTypes, Params: []Param{dest, pe}})
	add(Family{Name: "fetch", X: true, Types: olderTypes, Result: "T", Params: []Param{source, pe}})
	add(Family{Name: "finc", X: true, Types: olderTypes, Result: "T", Params: []Param{dest, pe}})
	add(Family{Name: "fadd", X: true, Types: olderTypes, Result: "T", Params: []Param{dest, value, pe}})
	add(Family{Name: "swap", X: true, Types: olderTypes, Result: "T", Params: []Param{dest, value, pe}})
	add(Family{Name: "cswap", X: true, Types: olderTypes, Result: "T", Params: []Param{dest, cond, value, pe}})
	watched := Param{Name: "ivar", C: "T *", Role: Watched}
	until := Param{Name: "cmp_value", C: "T"}
	add(Family{Name: "wait", X: true, Types: olderTypes, Params: []Param{watched, until}})
	add(Family{Name: "wait_until", X: true, Types: olderTypes, Params: []Param{watched, {Name: "cmp", C: "int"}, until}})
	for _, op := range []string{"and", "or", "xor", "max", "min", "sum", "prod"} {
		add(Family{Name: op + "_to_all", X: true, Types: olderShort, Params: []Param{
			{Name: "dest", C: "T *", Role: CollWrite}, {Name: "source", C: "const T *", Role: CollRead}, {Name: "nreduce", C: "int"},
			{Name: "PE_start", C: "int"}, {Name: "logPE_stride", C: "int"}, {Name: "PE_size", C: "int"},
			{Name: "pWrk", C: "T *", Role: CollWrite}, {Name: "pSync", C: "long *", Role: CollWrite},
		}})
	}
	return out
}
