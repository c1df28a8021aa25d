package spec

const ctxUsed = "Ends the job when the context does not exist, and when called before init or after finalize."

const ctxMade = "A context has its own order and completion: its fence and quiet concern only its own operations, " +
	"and the fence and quiet of other contexts do not concern it. With a heap in GPU memory its quiet may also wait for other contexts."

var (
	paramCtx   = Param{Name: "ctx", C: "shmem_ctx_t", Doc: "a context that this PE has made, or SHMEM_CTX_DEFAULT"}
	paramNoCtx = Param{Name: "ctx", C: "shmem_ctx_t", Doc: "a context that this PE has made, SHMEM_CTX_DEFAULT or SHMEM_CTX_INVALID"}
	ctxOptions = Param{Name: "options", C: "long", Doc: "SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE, combined " +
		"with |, or 0"}
	ctxMadeAt = Param{Name: "ctx", C: "shmem_ctx_t *", Role: Result, Doc: "the context, or SHMEM_CTX_INVALID"}
)

var contexts = Chapter{
	File:  "contexts",
	Title: "Communication Management Routines",
	Over:  []string{"context_make.h"},
	Families: []Family{
		{
			Name: "ctx_create", Section: "SHMEM_CTX_CREATE", Since: "0.1",
			Result: "int", Params: []Param{ctxOptions, ctxMadeAt},
			Front:   "shmemi_ctx_create(options, ctx, $call)",
			Doc:     "Makes a context of all PEs. " + ctxMade + " No other PE takes part.",
			Returns: "0, or non-zero when the PE has 1023 contexts already, beside the default one.",
			Errors: "Ends the job when options has other bits, when ctx is NULL, and when called before init or " +
				"after finalize.",
		},
		{
			Name: "team_create_ctx", Section: "SHMEM_TEAM_CREATE_CTX", Since: "0.1",
			Result: "int",
			Params: []Param{
				{Name: "team", C: "shmem_team_t", Doc: "a team that the caller is in, or SHMEM_TEAM_INVALID"},
				ctxOptions, ctxMadeAt,
			},
			Front: "shmemi_team_create_ctx(team, options, ctx, $call)",
			Doc: "Makes a context on which PEs have the numbers that they have in a team. It lives until the context or " +
				"the team is destroyed. No other PE takes part.",
			Returns: "As ctx_create; also non-zero for SHMEM_TEAM_INVALID.",
			Errors:  "As ctx_create, and when the team does not exist.",
		},
		{
			Name: "ctx_destroy", Section: "SHMEM_CTX_DESTROY", Since: "0.1",
			Params: []Param{{Name: "ctx", C: "shmem_ctx_t", Doc: "a context that this PE has made; SHMEM_CTX_INVALID: nothing happens"}},
			Front:  "shmemi_ctx_destroy(ctx, $call)",
			Doc:    "Completes the operations of a context as quiet does, and destroys it.",
			Errors: ctxUsed + " Also for SHMEM_CTX_DEFAULT.",
		},
		{
			Name: "ctx_get_team", Section: "SHMEM_CTX_GET_TEAM", Since: "0.1",
			Result:  "int",
			Params:  []Param{paramNoCtx, {Name: "team", C: "shmem_team_t *", Role: Result, Doc: "its team, or SHMEM_TEAM_INVALID"}},
			Front:   "shmemi_ctx_get_team(ctx, team, $call)",
			Doc:     "Finds the team for which a context was made; SHMEM_TEAM_WORLD for a context that was made without a team.",
			Returns: "0, or non-zero for SHMEM_CTX_INVALID.",
			Errors:  ctxUsed + " Also when team is NULL.",
		},
		{
			Name: "ctx_session_start", Section: "SHMEM_CTX_SESSION_START", Since: "0.1",
			Params: []Param{
				paramNoCtx,
				{Name: "options", C: "long", Doc: "SHMEM_CTX_SESSION_BATCH, or 0; other bits mean nothing"},
				{Name: "config", C: "const shmem_ctx_session_config_t *", Role: Source, Doc: "may be NULL when the mask is 0"},
				{Name: "config_mask", C: "long", Doc: "the fields of config that are used: SHMEM_CTX_SESSION_TOTAL_OPS, or 0"},
			},
			Front: "shmemi_ctx_session_start(ctx, options, config, config_mask, $call)",
			Doc: "Announces the coming operations on a context. With SHMEM_CTX_SESSION_BATCH small operations between " +
				"hosts share messages from the first one on. Their meaning does not change.",
			Errors: ctxUsed,
		},
		{
			Name: "ctx_session_stop", Section: "SHMEM_CTX_SESSION_STOP", Since: "0.1",
			Params: []Param{paramNoCtx},
			Front:  "shmemi_ctx_session_stop(ctx, $call)",
			Doc:    "Ends the session that ctx_session_start began on a context; does nothing without one.",
			Errors: ctxUsed,
		},
	},
}
