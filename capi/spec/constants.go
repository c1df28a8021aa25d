package spec

import "slices"

// standardConstants are the macros of the public header. Each is an integer constant expression or
// a string, so that #if and static initialisers can use it. The handles of teams and contexts are
// integers as well: a device compiler and a Python program cannot know the address of an exported
// object.
var standardConstants = []ConstantGroup{
	{
		Doc: "The version of the OpenSHMEM specification that this header follows.",
		Constants: []Constant{
			{"SHMEM_MAJOR_VERSION", "1", ""},
			{"SHMEM_MINOR_VERSION", "6", ""},
		},
	},
	{
		Doc: "The name and version of this library, and the room that shmem_info_get_name needs.",
		Constants: []Constant{
			{"SHMEM_VENDOR_STRING", `"libshmem $VERSION"`, ""},
			{"SHMEM_MAX_NAME_LEN", "256", "bytes, the closing null byte included"},
		},
	},
	{
		Doc: "Which threads of a PE may call the library (shmem_init_thread).",
		Constants: []Constant{
			{"SHMEM_THREAD_SINGLE", "0", "the PE has one thread"},
			{"SHMEM_THREAD_FUNNELED", "1", "only the thread that called init"},
			{"SHMEM_THREAD_SERIALIZED", "2", "any thread, one at a time"},
			{"SHMEM_THREAD_MULTIPLE", "3", "any thread at any time"},
		},
	},
	{
		Doc: "Comparisons of wait and test: variable, operator, value. The numbers are NVSHMEM's.",
		Constants: []Constant{
			{"SHMEM_CMP_EQ", "0", "equal"},
			{"SHMEM_CMP_NE", "1", "not equal"},
			{"SHMEM_CMP_GT", "2", "greater"},
			{"SHMEM_CMP_LE", "3", "less or equal"},
			{"SHMEM_CMP_LT", "4", "less"},
			{"SHMEM_CMP_GE", "5", "greater or equal"},
		},
	},
	{
		Doc: "What a put with signal does to the signal word. The numbers are NVSHMEM's.",
		Constants: []Constant{
			{"SHMEM_SIGNAL_SET", "9", "writes the value"},
			{"SHMEM_SIGNAL_ADD", "10", "adds the value"},
		},
	},
	{
		Doc: "Hints of shmem_malloc_with_hints; several are combined with |, and 0 is none.",
		Constants: []Constant{
			{"SHMEM_MALLOC_ATOMICS_REMOTE", "1L", "mostly for atomics by other PEs"},
			{"SHMEM_MALLOC_SIGNAL_REMOTE", "2L", "mostly for signals by other PEs"},
		},
	},
	{
		Doc: "Arrays of collectives on active sets: by pSync the PEs wait for each other, in pWrk they reduce.",
		Constants: []Constant{
			{"SHMEM_SYNC_VALUE", "0L", "the value of every element of pSync before the first call"},
			{"SHMEM_SYNC_SIZE", "128", "elements of pSync for any collective; the next sizes are for one each"},
			{"SHMEM_BARRIER_SYNC_SIZE", "128", ""},
			{"SHMEM_BCAST_SYNC_SIZE", "128", ""},
			{"SHMEM_COLLECT_SYNC_SIZE", "128", ""},
			{"SHMEM_ALLTOALL_SYNC_SIZE", "128", ""},
			{"SHMEM_ALLTOALLS_SYNC_SIZE", "128", ""},
			{"SHMEM_REDUCE_SYNC_SIZE", "128", ""},
			{"SHMEM_REDUCE_MIN_WRKDATA_SIZE", "128", "the least elements of pWrk; it needs nreduce / 2 + 1 if that is more"},
		},
	},
	{
		Doc: "Contexts.",
		Constants: []Constant{
			{"SHMEM_CTX_INVALID", "(-1)", "no context"},
			{"SHMEM_CTX_DEFAULT", "0", "the context of calls that name none"},
			{"SHMEM_CTX_SERIALIZED", "1L", "option: threads use it one at a time"},
			{"SHMEM_CTX_PRIVATE", "2L", "option: only the thread that makes it uses it"},
			{"SHMEM_CTX_NOSTORE", "4L", "option: its quiet and fence need not order plain stores"},
			{"SHMEM_CTX_SESSION_BATCH", "1L", "option of a session: many small operations follow each other"},
			{"SHMEM_CTX_SESSION_TOTAL_OPS", "1L", "mask: total_ops of a shmem_ctx_session_config_t is used"},
		},
	},
	{
		Doc: "Teams.",
		Constants: []Constant{
			{"SHMEM_TEAM_INVALID", "(-1)", "no team"},
			{"SHMEM_TEAM_WORLD", "0", "every PE of the job"},
			{"SHMEM_TEAM_SHARED", "1", "the PEs of this PE's node"},
			{"SHMEM_TEAM_NUM_CONTEXTS", "1L", "mask: num_contexts of a shmem_team_config_t is used"},
		},
	},
	{
		Doc: "Deprecated: the same without the underscore. A compiler does not warn about macros.",
		Constants: old("MAJOR_VERSION", "MINOR_VERSION", "MAX_NAME_LEN", "VENDOR_STRING",
			"SYNC_VALUE", "BARRIER_SYNC_SIZE", "BCAST_SYNC_SIZE", "COLLECT_SYNC_SIZE", "REDUCE_SYNC_SIZE",
			"REDUCE_MIN_WRKDATA_SIZE", "CMP_EQ", "CMP_NE", "CMP_GT", "CMP_LE", "CMP_LT", "CMP_GE"),
	},
}

// old returns the deprecated constants _SHMEM_<name> of these names, each with the value of
// SHMEM_<name>.
func old(names ...string) []Constant {
	var out []Constant
	for _, n := range names {
		out = append(out, Constant{"_SHMEM_" + n, "SHMEM_" + n, ""})
	}
	return out
}

// enum returns the constants of an enumeration with the comment doc. namesAndValues has the name
// and the value of each constant in turn.
func enum(doc string, namesAndValues ...string) ConstantGroup {
	g := ConstantGroup{Doc: doc, Enum: true}
	for pair := range slices.Chunk(namesAndValues, 2) {
		g.Constants = append(g.Constants, constant(pair[0], pair[1]))
	}
	return g
}
