package spec

// constant returns a constant of a header, by its name and its value, without a comment.
func constant(name, value string) Constant { return Constant{Name: name, Value: value} }

var nvshmemConstants = []ConstantGroup{
	{
		Doc: "The release of NVSHMEM whose names and types these are.",
		Constants: []Constant{
			constant("NVSHMEM_VENDOR_MAJOR_VERSION", "3"),
			constant("NVSHMEM_VENDOR_MINOR_VERSION", "8"),
			constant("NVSHMEM_VENDOR_PATCH_VERSION", "0"),
			constant("NVSHMEM_VENDOR_PACKAGE_VERSION", "0"),
			constant("NVSHMEM_VENDOR_VERSION", "30800"),
		},
	},
	{
		Doc: "Plugins of that release. The library loads none of them: it uses libfabric for networks, and its own bootstraps.",
		Constants: []Constant{
			constant("NVSHMEM_TRANSPORT_PLUGIN_MAJOR_VERSION", "7"),
			constant("NVSHMEM_TRANSPORT_PLUGIN_MINOR_VERSION", "0"),
			constant("NVSHMEM_TRANSPORT_PLUGIN_PATCH_VERSION", "0"),
			constant("NVSHMEM_BOOTSTRAP_PLUGIN_MAJOR_VERSION", "3"),
			constant("NVSHMEM_BOOTSTRAP_PLUGIN_MINOR_VERSION", "0"),
			constant("NVSHMEM_BOOTSTRAP_PLUGIN_PATCH_VERSION", "0"),
		},
	},
	{
		Doc: "Masks for the fields of a team configuration that count, and initial values.",
		Constants: []Constant{
			constant("NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS", "1"),
			constant("NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID", "2"),
			constant("NVSHMEM_TEAM_UNIQUID_INITIALIZER", "((nvshmemx_team_uniqueid_t)-1)"),
			constant("NVSHMEM_INIT_ATTR_VER", "1"),
			constant("NVSHMEMX_REGION_ATTRS_RESERVED_BYTES", "60"),
		},
	},
	enum("Which threads of a PE may call the library.",
		"NVSHMEM_THREAD_SINGLE", "0", "NVSHMEM_THREAD_FUNNELED", "1", "NVSHMEM_THREAD_SERIALIZED", "2",
		"NVSHMEM_THREAD_MULTIPLE", "3", "NVSHMEM_THREAD_TYPE_SENTINEL", "INT32_MAX"),
	enum("Comparisons of wait and test.",
		"NVSHMEM_CMP_EQ", "0", "NVSHMEM_CMP_NE", "1", "NVSHMEM_CMP_GT", "2", "NVSHMEM_CMP_LE", "3",
		"NVSHMEM_CMP_LT", "4", "NVSHMEM_CMP_GE", "5", "NVSHMEM_CMP_SENTINEL", "INT32_MAX"),
	enum("What a put with signal does to the signal word.",
		"NVSHMEM_SIGNAL_SET", "9", "NVSHMEM_SIGNAL_ADD", "10"),
	enum("Teams.",
		"NVSHMEM_TEAM_INVALID", "-1", "NVSHMEM_TEAM_WORLD", "0", "NVSHMEM_TEAM_WORLD_INDEX", "0",
		"NVSHMEM_TEAM_SHARED", "1", "NVSHMEM_TEAM_SHARED_INDEX", "1", "NVSHMEMX_TEAM_NODE", "2", "NVSHMEM_TEAM_NODE_INDEX", "2",
		"NVSHMEMX_TEAM_SAME_MYPE_NODE", "3", "NVSHMEM_TEAM_SAME_MYPE_NODE_INDEX", "3",
		"NVSHMEMI_TEAM_SAME_GPU", "4", "NVSHMEM_TEAM_SAME_GPU_INDEX", "4", "NVSHMEMI_TEAM_GPU_LEADERS", "5", "NVSHMEM_TEAM_GPU_LEADERS_INDEX", "5",
		"NVSHMEM_TEAM_MC_SHARED", "6", "NVSHMEM_TEAM_MC_SHARED_INDEX", "6", "NVSHMEM_TEAMS_MIN", "7", "NVSHMEM_TEAM_INDEX_MAX", "INT32_MAX"),
	enum("No PE, any and all of them.",
		"NVSHMEM_PE_INVALID", "-1", "NVSHMEMX_PE_ANY", "1 << 15", "NVSHMEMX_PE_ALL", "1 << 15"),
	enum("Predefined handles of queues. In kernels each stands for all queues of the PE.",
		"NVSHMEMX_QP_HOST", "0", "NVSHMEMX_QP_DEFAULT", "1", "NVSHMEMX_QP_ANY", "INT32_MAX",
		"NVSHMEMX_QP_ALL", "INT32_MAX"),
	enum("Results of nvshmemx_init_status, which returns one of the first three.",
		"NVSHMEM_STATUS_NOT_INITIALIZED", "0", "NVSHMEM_STATUS_IS_BOOTSTRAPPED", "1",
		"NVSHMEM_STATUS_IS_INITIALIZED", "2", "NVSHMEM_STATUS_LIMITED_MPG", "3",
		"NVSHMEM_STATUS_FULL_MPG", "4", "NVSHMEM_STATUS_INVALID", "INT32_MAX"),
	enum("Flags of nvshmemx_init_attr: it takes 0 or one whose name has WITH.",
		"NVSHMEMX_INIT_THREAD_PES", "1", "NVSHMEMX_INIT_WITH_MPI_COMM", "2", "NVSHMEMX_INIT_WITH_SHMEM", "4",
		"NVSHMEMX_INIT_WITH_UNIQUEID", "8", "NVSHMEMX_INIT_MAX", "INT32_MIN"),
	enum("Results of calls.",
		"NVSHMEMX_SUCCESS", "0", "NVSHMEMX_ERROR_INVALID_VALUE", "1", "NVSHMEMX_ERROR_OUT_OF_MEMORY", "2",
		"NVSHMEMX_ERROR_NOT_SUPPORTED", "3", "NVSHMEMX_ERROR_SYMMETRY", "4",
		"NVSHMEMX_ERROR_GPU_NOT_SELECTED", "5", "NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED", "6",
		"NVSHMEMX_ERROR_INTERNAL", "7", "NVSHMEMX_ERROR_SENTINEL", "INT32_MAX"),
	enum("Hints of regions. They have no effect.",
		"NVSHMEMX_REGION_HINT_NONE", "0", "NVSHMEMX_REGION_HINT_BATCH_RMA", "1"),
	enum("Values of NVSHMEM_TMA_POLICY. It has no effect, because kernels do not copy through shared memory.",
		"NVSHMEMX_TMA_DISABLE", "0", "NVSHMEMX_TMA_ENABLE", "1", "NVSHMEMX_TMA_FORCE", "2", "NVSHMEMX_TMA_POLICY_MAX", "INT32_MAX"),
}

// nvshmemConstant reports whether NVSHMEM has a constant of the table as a macro, and sets its
// value if NVSHMEM's differs. Constants that NVSHMEM has in enumerations are among
// nvshmemConstants.
func nvshmemConstant(c *Constant) bool {
	switch c.Name {
	case "NVSHMEM_MAJOR_VERSION", "NVSHMEM_VENDOR_STRING", "NVSHMEM_MAX_NAME_LEN":
		return true
	case "NVSHMEM_MINOR_VERSION":
		c.Value = "3" // the version of NVSHMEM's interface is 1.3
		return true
	}
	return false
}
