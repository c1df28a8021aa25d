package spec

var setup = Chapter{
	File:   "setup",
	Title:  "Library Setup, Exit, and Query Routines",
	Over:   []string{"lifecycle.h", "query.h"},
	Kernel: kernelSetup,
	Families: []Family{
		{
			Name: "init", Section: "SHMEM_INIT", Since: "0.1",
			Front: "shmemi_init($call)",
			Doc: "Joins the job and makes the symmetric heap. Every PE calls it; it returns when all " +
				"PEs have called it. It may be called again: the library stays in use until " +
				"shmem_finalize has been called as often.",
			Errors: "Ends the job with a message when the PEs cannot find each other, or when the memory or " +
				"the network that the settings ask for is not available.",
		},
		{
			Name: "init_thread", Section: "SHMEM_INIT_THREAD", Since: "0.1",
			Result: "int",
			Params: []Param{
				{Name: "requested", C: "int", Doc: "a level from SHMEM_THREAD_SINGLE to SHMEM_THREAD_MULTIPLE"},
				{Name: "provided", C: "int *", Role: Result, Doc: "the level that the library grants, not below requested; may be NULL"},
			},
			Front: "shmemi_init_thread(requested, provided, $call)",
			Doc: "Does what shmem_init does, and says which threads of this PE will call the library. " +
				"The first call of a program sets the level.",
			Returns: "0, or non-zero after a message when the PE cannot join the job or requested is not a level.",
		},
		{
			Name: "my_pe", Section: "SHMEM_MY_PE", Since: "0.1",
			Result:  "int",
			Front:   "shmemi_my_pe($call)",
			Kernel:  []Kernel{{Body: "shmemi_my_pe($job, $call)"}},
			Doc:     "Returns the number of the calling PE.",
			Returns: "0 to shmem_n_pes() - 1.",
			Errors:  "Ends the job when called before init or after finalize.",
		},
		{
			Name: "n_pes", Section: "SHMEM_N_PES", Since: "0.1",
			Result:  "int",
			Front:   "shmemi_n_pes($call)",
			Kernel:  []Kernel{{Body: "shmemi_n_pes($job, $call)"}},
			Doc:     "Returns the number of PEs in the job.",
			Returns: "1 or more.",
			Errors:  "Ends the job when called before init or after finalize.",
		},
		{
			Name: "finalize", Section: "SHMEM_FINALIZE", Since: "0.1",
			Front: "shmemi_finalize($call)",
			Doc: "Completes all communication, waits for every PE, and frees the symmetric heap and " +
				"all other resources. After the call that matches the first init, only the functions " +
				"that query the version and the state may be called.",
			Errors: "A call without a matching init only prints a warning on standard error.",
		},
		{
			Name: "global_exit", Section: "SHMEM_GLOBAL_EXIT", Since: "0.1",
			Params: []Param{{Name: "status", C: "int", Doc: "exit status of the job"}},
			Front:  "shmemi_global_exit(status, $call)",
			Kernel: []Kernel{{Body: "shmemi_global_exit($job, $call, status)"}},
			Doc:    "Ends every PE of the job at once, without waiting for communication. It does not return.",
		},
		{
			Name: "pe_accessible", Section: "SHMEM_PE_ACCESSIBLE", Since: "0.1",
			Result:  "int",
			Params:  []Param{{Name: "pe", C: "int", Doc: "any number"}},
			Front:   "shmemi_pe_accessible(pe, $call)",
			Doc:     "Reports whether pe is a PE of the job that is not lost: one that the caller can reach.",
			Returns: "1, or 0 for every other number.",
			Errors:  "Ends the job when called before init or after finalize.",
		},
		{
			Name: "info_get_version", Section: "SHMEM_INFO_GET_VERSION", Since: "0.1",
			Params: []Param{
				{Name: "major", C: "int *", Role: Result, Doc: "SHMEM_MAJOR_VERSION of the library"},
				{Name: "minor", C: "int *", Role: Result, Doc: "SHMEM_MINOR_VERSION of the library"},
			},
			Front: "shmemi_info_get_version(major, minor, $call)",
			Doc: "Returns the version of the specification that the loaded library follows. It may be " +
				"called at any time.",
		},
		{
			Name: "info_get_name", Section: "SHMEM_INFO_GET_NAME", Since: "0.1",
			Params: []Param{{Name: "name", C: "char *", Role: Result,
				Doc: "room for SHMEM_MAX_NAME_LEN bytes"}},
			Front: "shmemi_info_get_name(name, $call)",
			Doc:   "Copies the SHMEM_VENDOR_STRING of the loaded library. It may be called at any time.",
		},
		{
			Name: "query_initialized", Section: "SHMEM_QUERY_INITIALIZED", Since: "0.1",
			Params: []Param{{Name: "initialized", C: "int *", Role: Result,
				Doc: "non-zero between init and the finalize that matches it"}},
			Front: "shmemi_query_initialized(initialized, $call)",
			Doc:   "Reports whether the library is in use. It may be called at any time.",
		},
		{
			Name: "query_thread", Section: "SHMEM_QUERY_THREAD", Since: "0.1",
			Params: []Param{{Name: "provided", C: "int *", Role: Result,
				Doc: "a level from SHMEM_THREAD_SINGLE to SHMEM_THREAD_MULTIPLE"}},
			Front:  "shmemi_query_thread(provided, $call)",
			Doc:    "Returns the thread level that init granted.",
			Errors: "Ends the job when called before init or after finalize.",
		},
		{
			Name: "pcontrol", Section: "SHMEM_PCONTROL", Since: "0.1",
			Params: []Param{
				{Name: "level", C: "const int", Doc: "0 or less: no records; 1: the default; 2 or more: defined by the tool"},
				{Name: "...", Doc: "arguments for the tool"},
			},
			Front: "shmemi_pcontrol(level, $call)",
			Doc: "Sets how much a profiling tool records. Such a tool replaces this function by its own; " +
				"without one the call does nothing. It may be called at any time.",
		},
	},
}
