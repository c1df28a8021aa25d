package spec

// This file has the calls about errors: why a call failed, and calls for programs that continue
// after the loss of a PE.

// extensionConstants are the macros of the header of the extensions.
var extensionConstants = []ConstantGroup{
	startConstants,
	{
		Doc: "Predefined teams, beside those of the standard.",
		Constants: []Constant{
			{"SHMEMX_TEAM_NODE", "2", "the PEs of this PE's node"},
			{"SHMEMX_TEAM_SAME_MYPE_NODE", "3", "the PEs that have this PE's number within their node, one PE of each node that has enough PEs"},
			{"SHMEMX_TEAM_SAME_GPU", "4", "the PEs of this PE's node that use its GPU; only this PE when it has no GPU"},
			{"SHMEMX_TEAM_GPU_LEADERS", "5", "the first PE of each GPU, and the PEs without a GPU. Other PEs get the results of SHMEM_TEAM_INVALID"},
			{"SHMEMX_TEAM_MC_SHARED", "6", "the PEs that NVLink multicast reaches. The library does not use multicast, so it is this PE alone"},
		},
	},
	{
		Doc: "Why a call failed (shmemx_last_error). With SHMEM_ON_FAILURE=return calls return after a failure.",
		Constants: []Constant{
			{"SHMEMX_SUCCESS", "0", "no call has failed"},
			{"SHMEMX_ERROR_PE_LOST", "1", "the call needs a PE that has ended, or that the network cannot reach any more"},
			{"SHMEMX_ERROR_NETWORK", "2", "the network did not carry out an operation"},
			{"SHMEMX_ERROR_BUFFER", "3", "a buffer cannot be registered or unregistered; reported whatever the value of SHMEM_ON_FAILURE"},
			{"SHMEMX_ERROR_MESSAGE", "4", "a receive buffer is too small for its message; reported whatever the value of SHMEM_ON_FAILURE"},
		},
	},
	eagerConstants,
	messageConstants,
	meshConstants,
	meshFlags,
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
 * @pe PE that the error concerns: the lost one, the target of the operation, or the sender of the
 *     message; -1 when none is known
 * @text the call and what was wrong; valid until the function returns
 * @arg as it was passed to shmemx_set_error_handler
 */
typedef void (*shmemx_error_handler_t)(int error, int pe, const char *text, void *arg);
` + eagerTypes + meshTypes

// errorRow completes the table row of a function about errors, which may be called at any time.
func errorRow(f Family) Family {
	f.Since, f.Section = "0.1", "errors"
	f.Errors = "None. It may be called at any time."
	return f
}

var errorCalls = []Family{
	errorRow(Family{
		Name: "last_error", Result: "int",
		Front: "shmemi_last_error($call)",
		Doc: "Returns the error of the last call of the calling thread that failed since the thread last called this " +
			"function. Calls that register buffers, and receives whose buffer is too small, always return after a " +
			"failure; other calls do so only with SHMEM_ON_FAILURE=return. docs/guides/failure.md of the library says what they return.",
		Returns: "SHMEMX_SUCCESS, or one of the SHMEMX_ERROR constants.",
	}),
	errorRow(Family{
		Name: "last_error_pe", Result: "int",
		Front:   "shmemi_last_error_pe($call)",
		Doc:     "Returns the PE that the last failure of the calling thread concerned, also after shmemx_last_error.",
		Returns: "The number of the PE, or -1 when there was no failure or it concerned no single PE.",
	}),
	errorRow(Family{
		Name: "last_error_text", Result: "const char *",
		Front:   "shmemi_last_error_text($call)",
		Doc:     "Describes the last failure of the calling thread, also after shmemx_last_error: the call and the cause.",
		Returns: "A text for people, which is valid until the next call of this thread fails; empty when none has.",
	}),
	errorRow(Family{
		Name: "set_error_handler",
		Params: []Param{
			{Name: "handler", C: "shmemx_error_handler_t", Doc: "called for each call that fails; NULL: none"},
			{Name: "arg", C: "void *", Doc: "passed to handler; what it points to must stay valid as long as handler may run"},
		},
		Front: "shmemi_set_error_handler(handler, arg, $call)",
		Doc: "Sets the function that the library calls, in the thread of the call, when a call of any thread fails. It takes the " +
			"place of the one before, which may still run for a call of another thread that has failed already.",
	}),
	errorRow(Family{
		Name: "wait_limit", Result: "int",
		Params: []Param{
			{Name: "limit_ns", C: "uint64_t", Doc: "nanoseconds; 0: none, as at first"},
		},
		Front: "shmemi_wait_limit(limit_ns, $call)",
		Doc: "Limits how long the calling thread waits on memory. shmem_wait_until and its variants and shmem_signal_wait_until " +
			"then return after that time although their condition does not hold. They also return at once when a signal handler has " +
			"run in the thread while it slept. The program can do other work and call again. A wait may exceed the limit by 10 ms, and " +
			"by what the scheduler adds on a busy machine. For the report of long waits (SHMEM_TIMEOUT) the next wait continues one that the limit ended.",
		Returns: "1 if the limit or a signal handler has ended a wait since the thread last called this function, else 0.",
	}),
	{
		Name: "failure_ack", Section: "errors", Since: "0.1", Result: "int",
		Front: "shmemi_failure_ack($call)",
		Doc: "Acknowledges all PEs that are lost so far. A wait in a kernel, for memory or for other kernels, names no PE. Therefore, " +
			"when a PE is lost, every wait in a kernel ends its threads, including waits that begin later, until the program makes " +
			"this call. After it kernels wait again. Make the call when the kernels that were running have ended. These PEs no longer " +
			"end waits of the calling thread either. Collective calls of all PEs in kernels still end the threads that wait for " +
			"a lost PE.",
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
		Doc: "Makes a team of the PEs of another team that are alive. All of these make the call together; the calling thread's earlier " +
			"calls on the parent team have ended by then, with or without success. The PEs agree on the set of lost PEs, also when more " +
			"PEs die during the call, so that the team is the same on each PE. The caller's " +
			"operations to them are then complete, as after shmem_quiet, and a wait of its thread no longer ends because of a PE " +
			"that is not in the team.",
		Returns: "0, or non-zero on every PE when there is no room for another team, and when the parent is SHMEM_TEAM_INVALID.",
		Errors:  teamUsed,
	},
}
