package spec

// What a program asks when a call could not do its work because a PE is lost.

// extensionConstants are the macros of the header of the extensions.
var extensionConstants = []ConstantGroup{
	startConstants,
	{
		Doc: "Teams that are always there, beside those of the standard.",
		Constants: []Constant{
			{"SHMEMX_TEAM_NODE", "2", "the PEs of this PE's node"},
			{"SHMEMX_TEAM_SAME_MYPE_NODE", "3", "the PEs that have this PE's number in the team of their node, one of each node that has so many"},
			{"SHMEMX_TEAM_SAME_GPU", "4", "the PEs of this PE's node that have its GPU; without one: this PE"},
			{"SHMEMX_TEAM_GPU_LEADERS", "5", "the first PE of each GPU, and the PEs without one. At the others it is as SHMEM_TEAM_INVALID"},
			{"SHMEMX_TEAM_MC_SHARED", "6", "the PEs that multicast by NVLink reaches, which the library does not use: this PE"},
		},
	},
	{
		Doc: "Why a call could not do its work (shmemx_last_error), where SHMEM_ON_FAILURE=return has calls return.",
		Constants: []Constant{
			{"SHMEMX_SUCCESS", "0", "no call has failed"},
			{"SHMEMX_ERROR_PE_LOST", "1", "it needs a PE that has ended, or that the network cannot reach any more"},
			{"SHMEMX_ERROR_NETWORK", "2", "the network did not do what was asked"},
			{"SHMEMX_ERROR_BUFFER", "3", "a buffer cannot be registered, or unregistered; whatever SHMEM_ON_FAILURE is"},
		},
	},
}

// extensionTypes are the types of the header of the extensions.
const extensionTypes = startTypes + `
/*
 * A program's function for calls that could not do their work. It is called in the
 * thread of the call, before that returns, and may call the library, but for
 * shmem_init, shmem_finalize and collectives. Calls of its own that fail do not
 * call it again.
 *
 * @error one of the SHMEMX_ERROR constants
 * @pe PE that is lost, or -1
 * @text the call and what was wrong; valid until the function returns
 * @arg as it was given to shmemx_set_error_handler
 */
typedef void (*shmemx_error_handler_t)(int error, int pe, const char *text, void *arg);
`

func errorRow(f Family) Family {
	f.Since, f.Section = "0.1", "errors"
	f.Errors = "None. It may be called at any time."
	return f
}

var errorCalls = []Family{
	errorRow(Family{
		Name: "last_error", Result: "int",
		Front: "shmemi_last_error($call)",
		Doc: "Tells why a call of the calling thread could not do its work: the last one that failed since this " +
			"function was called last. Each thread has its own. But for those that register buffers, calls return after a failure only with " +
			"SHMEM_ON_FAILURE=return; docs/guides/failure.md of the library says what they return.",
		Returns: "SHMEMX_SUCCESS, or one of the SHMEMX_ERROR constants.",
	}),
	errorRow(Family{
		Name: "last_error_pe", Result: "int",
		Front:   "shmemi_last_error_pe($call)",
		Doc:     "Tells which PE the last failure of the calling thread was about, also after shmemx_last_error.",
		Returns: "The number of the PE, or -1 when there was no failure or it was about no single PE.",
	}),
	errorRow(Family{
		Name: "last_error_text", Result: "const char *",
		Front:   "shmemi_last_error_text($call)",
		Doc:     "Describes the last failure of the calling thread, also after shmemx_last_error: the call, and what was wrong.",
		Returns: "A text for people, which is valid until the next call of this thread fails; empty when none has.",
	}),
	errorRow(Family{
		Name: "set_error_handler",
		Params: []Param{
			{Name: "handler", C: "shmemx_error_handler_t", Doc: "called for each call that fails; NULL: none"},
			{Name: "arg", C: "void *", Doc: "passed to handler"},
		},
		Front: "shmemi_set_error_handler(handler, arg, $call)",
		Doc: "Gives the program a function that is called when a call of any thread could not do its work. It takes the " +
			"place of the one before.",
	}),
	errorRow(Family{
		Name: "wait_limit", Result: "int",
		Params: []Param{
			{Name: "limit_ns", C: "uint64_t", Doc: "nanoseconds; 0: none, as at first"},
		},
		Front: "shmemi_wait_limit(limit_ns, $call)",
		Doc: "Limits how long the calling thread waits for memory. Then shmem_wait_until and its relatives and shmem_signal_wait_until " +
			"return though what they wait for has not come; also at once when a handler of a signal has run in the thread while " +
			"it slept. So a program can see to something else and call again. The time may be exceeded by 10 ms, and by what the " +
			"scheduler adds where others compute. The next wait after one that ended so goes on with its report (SHMEM_TIMEOUT).",
		Returns: "1 where such a wait has ended so since this function was called last, else 0.",
	}),
	{
		Name: "failure_ack", Section: "errors", Since: "0.1", Result: "int",
		Front: "shmemi_failure_ack($call)",
		Doc: "Says that the program knows of all PEs that are lost so far. A wait in a kernel, for memory or for other kernels, names " +
			"no PE, so when one is lost all that are under way end their threads, and so do those that begin later, until " +
			"this call: then kernels wait again. It comes when the kernels that were running have ended. Waits of the calling " +
			"thread do not end because of these PEs any more either. Collective calls of all PEs in kernels go on to end " +
			"those threads that wait for a lost PE.",
		Returns: "How many PEs are lost.",
		Errors:  "Ends the job when called before init or after finalize.",
	},
	{
		Name: "team_survivors", Section: "errors", Since: "0.1", Result: "int",
		Params: []Param{
			{Name: "parent_team", C: "shmem_team_t", Doc: "the team to take PEs from"},
			{Name: "new_team", C: "shmem_team_t *", Role: Result, Doc: "the team, or SHMEM_TEAM_INVALID"},
		},
		Front: "shmemi_team_survivors(parent_team, new_team, $call)",
		Doc: "Makes a team of those PEs of another that are alive. All of these make the call together; what other calls on " +
			"the parent team are under way in the caller's thread has ended by then, for better or worse. They agree on who is " +
			"lost, also when more PEs die during the call, so that the team is the same at each. The caller's " +
			"operations to them are complete, as after shmem_quiet, and no wait of its thread ends any more because of a PE " +
			"that is not in the team.",
		Returns: "0, or non-zero on every PE when there is no room for another team, and when the parent is SHMEM_TEAM_INVALID.",
		Errors:  teamUsed,
	},
}
