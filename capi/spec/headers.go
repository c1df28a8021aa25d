package spec

// shmemAbout and the constants below are the texts of Shmem's headers before the first function.
const shmemAbout = `shmem.h: OpenSHMEM 1.6 for C and C++.

A symmetric address is an address within a block of shmem_malloc and similar
functions, or within a global or static variable of the program. It names the same
place in every PE's memory; the argument pe selects the PE. Pass the caller's own
address wherever a function takes a symmetric address. The whole range must be
within the heap or within those variables.

A mistake for which the specification has no return value ends the job: the
caller prints the PE, the function, the cause and the remedy on standard
error, and every PE ends with a non-zero status.

Compilers warn about functions that the specification calls deprecated, unless
SHMEM_ALLOW_DEPRECATED is defined before this header is included.

Below, <T> is the name of an element type and T the type itself.
`
const shmemTypes = `
/* A set of PEs. Handles may be copied and compared. */
typedef int32_t shmem_team_t;

/* Requirements of a new team. */
typedef struct {
    int num_contexts; /* that will exist at once; taken as 0 unless the mask contains SHMEM_TEAM_NUM_CONTEXTS */
} shmem_team_config_t;

/* A context: operations with their own order and completion. Handles may be copied and compared. */
typedef int32_t shmem_ctx_t;

/* The expected size of a session. */
typedef struct {
    size_t total_ops; /* calls at most; ignored unless the mask contains SHMEM_CTX_SESSION_TOTAL_OPS */
} shmem_ctx_session_config_t;
`

const shmemxAbout = `shmemx.h: libshmem's extensions of OpenSHMEM: jobs that start without a launcher,
buffers of the program as symmetric memory, counters, the errors of calls that
return although a PE is lost, and calls for programs with a GPU.

shmemx_..._on_stream enqueues a call on a CUDA stream: the function returns at
once, and the stream carries the call out in its order. Such calls may be captured
in a graph, which may be replayed. A collective is one call on a stream of each PE;
the PEs make their collectives in the same order, and one at a time.

Calls on streams, and kernels, need a symmetric heap in memory that the GPU
reaches (SHMEM_HEAP=device or pinned). docs/reference/gpu-host-calls.md says which
calls work while kernels of the program occupy the whole GPU.

Neither this header nor the program needs CUDA's headers: a cudaStream_t and a
CUstream are a struct CUstream_st *.
`
