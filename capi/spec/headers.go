package spec

// What the headers of Shmem say before the first row.

const shmemAbout = `shmem.h: OpenSHMEM 1.6 for C and C++.

A symmetric address is an address within a block of shmem_malloc and its
relatives, or a global or static variable of the program. It names the same
place in every PE's memory; a pe argument says whose. Wherever a function takes
one it must be the caller's own address, and the whole range must be within the
heap or among those variables.

A mistake that the specification gives no return value for ends the job: the
caller prints the PE, the function, the cause and the remedy on standard
error, and every PE ends with a non-zero status.

Compilers warn of functions that the specification calls deprecated, unless
SHMEM_ALLOW_DEPRECATED is defined before this header is included.

Below, <T> is the name of an element type and T the type itself.
`
const shmemTypes = `
/* A set of PEs. Handles may be copied and compared. */
typedef int32_t shmem_team_t;

/* What a new team is asked for. */
typedef struct {
    int num_contexts; /* that will exist at once; 0 unless SHMEM_TEAM_NUM_CONTEXTS says that it counts */
} shmem_team_config_t;

/* A stream of operations that is ordered and completed by itself. Handles may be copied and compared. */
typedef int32_t shmem_ctx_t;

/* What a session is expected to have. */
typedef struct {
    size_t total_ops; /* calls at most; it counts where SHMEM_CTX_SESSION_TOTAL_OPS says so */
} shmem_ctx_session_config_t;
`

const shmemxAbout = `shmemx.h: what libshmem has beyond OpenSHMEM: jobs that the program brings together
itself, buffers of the program as symmetric memory, counters, the errors of calls that
return although a PE is lost, and calls for programs with a GPU.

shmemx_..._on_stream puts a call into a CUDA stream: it returns at once, and is
done when the stream comes to it. Such calls may be captured in a graph, which
may be replayed. A collective is one call in a stream of each PE; the PEs make
their collectives in the same order, and one at a time.

The symmetric heap has to be in memory that the GPU reaches (SHMEM_HEAP=device
or pinned). docs/reference/gpu-host-calls.md says which calls work while kernels of the
program occupy the whole GPU.

Neither this header nor the program needs CUDA's: a cudaStream_t and a CUstream
are a struct CUstream_st *.
`
