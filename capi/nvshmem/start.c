/*
 * start.c: how programs of NVSHMEM join a job, and their queries about it.
 */
#include "own.h"

#include <shmem.h>
#include <shmemx.h>

/* Implements nvshmem_malloc, and returns what shmem_malloc returns. Programs of NVSHMEM may call
 * cudaSetDevice after init. The first allocation fixes the GPU of each PE, because the heap is in
 * the memory of that GPU. */
void *nvshmemi_malloc(size_t size)
{
    shmemi_settle_gpu("nvshmem_malloc");
    return shmem_malloc(size);
}

/* Implements nvshmem_calloc. The first allocation of a job fixes the GPUs of the PEs (see
 * nvshmemi_malloc). */
void *nvshmemi_calloc(size_t count, size_t size)
{
    shmemi_settle_gpu("nvshmem_calloc");
    return shmem_calloc(count, size);
}

/* Implements nvshmem_align. The first allocation of a job fixes the GPUs of the PEs (see
 * nvshmemi_malloc). */
void *nvshmemi_align(size_t alignment, size_t size)
{
    shmemi_settle_gpu("nvshmem_align");
    return shmem_align(alignment, size);
}

/*
 * Reports whether the version of init attributes is that of a later release, whose struct may have
 * another layout. Only such versions are refused. A version has a number in the upper half and the
 * size of the struct in the lower half. Any other value is accepted, as by NVIDIA's library,
 * because programs often leave it undefined: torch does not initialise its attributes, and
 * nvshmem4py takes memory of numpy for them. Numbers up to 15, with a size that a struct may have,
 * are unlikely in such memory. A size that a struct may have is a multiple of 8, at least that of
 * the first version, and at most 4096.
 */
static bool is_later_version(int version)
{
    int number = version >> 16, size = version & 0xffff;
    return number > NVSHMEM_INIT_ATTR_V2_IDENTIFIER >> 16 && number < 16 && size % 8 == 0 &&
           size >= (int)sizeof(nvshmemx_init_attr_v1) && size <= 4096;
}

/* The NVSHMEM release of the headers that the program, or a library of it, was compiled with
 * (nvshmem_api.h). */
extern int nvshmemi_headers_release __attribute__((weak));

/* Refuses a program that was compiled against headers of a newer NVSHMEM release than the library
 * has the names of. Warns once if another library of the same soname is loaded. Returns 0, or an
 * error that it has printed. */
static int check_headers(const char *call)
{
    static bool warned;
    /* major * 10000 + minor * 100 + patch; 0 if no header has defined it */
    int release = &nvshmemi_headers_release != NULL ? nvshmemi_headers_release : 0;
    if (!warned && nvshmemi_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED)
        nvshmemi_warn_of_another(call);
    warned = true;
    if (release <= NVSHMEM_VENDOR_VERSION)
        return 0;
    fprintf(stderr,
            "shmem: %s: the program was compiled against headers of NVSHMEM %d.%d.%d, the library "
            "has the names of %d.%d.%d (run it with the library that came with the headers, or "
            "compile it against those of this one)\n",
            call, release / 10000, release / 100 % 100, release % 100, NVSHMEM_VENDOR_MAJOR_VERSION,
            NVSHMEM_VENDOR_MINOR_VERSION, NVSHMEM_VENDOR_PATCH_VERSION);
    return NVSHMEMX_ERROR_NOT_SUPPORTED;
}

/* Ends an init, and returns its status, which was passed. If it was the first init of the job, and
 * has succeeded, all PEs agree whether to serve device code of NVIDIA's archive. */
static int finish_init(int status, bool first, const char *call)
{
    if (status == 0 && first)
        shmemi_archive_begin(nvshmemi_has_host_library(), call);
    return status;
}

/* Reports whether the next init is the first one, which joins the job. */
static bool is_first(void)
{
    return nvshmemi_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED;
}

/* Initialises libshmem for a program of NVSHMEM. Returns 0, or an error that has been printed. */
int nvshmemi_init_thread(int requested, int *provided, const char *call)
{
    bool first = is_first();
    int refused = check_headers(call);
    if (refused != 0)
        return refused;
    shmemi_as_nvshmem();
    if (!nvshmemi_joins_openshmem())
        return finish_init(shmem_init_thread(requested, provided), first, call);
    int status = nvshmemi_init_with_shmem(call);
    if (status == 0)
        shmem_query_thread(provided);
    return finish_init(status, first, call);
}

/* Initialises libshmem for a program of NVSHMEM; ends the process if that fails. */
void nvshmemi_init(const char *call)
{
    int provided;
    if (nvshmemi_init_thread(NVSHMEM_THREAD_SINGLE, &provided, call) != 0)
        exit(EXIT_FAILURE);
}

/* Joins a job by the flags and attributes of NVSHMEM, or counts one more init of a joined job.
 * Returns 0, or an error that has been printed. */
static int join(unsigned int flags, const nvshmemx_init_attr_t *attr)
{
    shmemx_init_attr_t a = SHMEMX_INIT_ATTR_INITIALIZER;
    int refused = check_headers("nvshmemx_init_attr");
    if (refused != 0)
        return refused;
    shmemi_as_nvshmem();
    switch (flags) {
    case 0:
        return nvshmemi_joins_openshmem() ? nvshmemi_init_with_shmem("nvshmemx_init_attr")
                                          : shmemx_init_attr(/* flags */ 0, NULL);
    case NVSHMEMX_INIT_WITH_SHMEM:
        return nvshmemi_init_with_shmem("nvshmemx_init_attr");
    case NVSHMEMX_INIT_WITH_MPI_COMM:
    case NVSHMEMX_INIT_WITH_UNIQUEID:
        break;
    default:
        fprintf(stderr,
                "shmem: nvshmemx_init_attr: flags %#x (use NVSHMEMX_INIT_WITH_UNIQUEID, "
                "NVSHMEMX_INIT_WITH_MPI_COMM, NVSHMEMX_INIT_WITH_SHMEM, or 0)\n",
                flags);
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    if (attr == NULL) {
        fprintf(stderr, "shmem: nvshmemx_init_attr: attributes is NULL (pass the attributes that "
                        "the flags need)\n");
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    if (is_later_version(attr->version)) {
        fprintf(stderr,
                "shmem: nvshmemx_init_attr: attributes of version %#x, the library has %#x and %#x "
                "(the program's headers are newer than the library: compile it against those of "
                "this one)\n",
                (unsigned)attr->version, (unsigned)NVSHMEM_INIT_ATTR_V1_IDENTIFIER,
                (unsigned)NVSHMEM_INIT_ATTR_V2_IDENTIFIER);
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    if (flags == NVSHMEMX_INIT_WITH_MPI_COMM) {
        a.mpi_comm = attr->mpi_comm;
        return shmemx_init_attr(SHMEMX_INIT_WITH_MPI_COMM, &a);
    }
    const nvshmemx_uniqueid_args_t *unique = &attr->args.uid_args;
    if (shmemx_set_attr_uniqueid_args(unique->myrank, unique->nranks,
                                      (const shmemx_uniqueid_t *)unique->id, &a) != 0)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    return shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &a);
}

/* Initialises libshmem by the flags and attributes of NVSHMEM. Returns 0, or an error that has been
 * printed. */
int nvshmemi_hostlib_init_attr(unsigned int flags, const nvshmemx_init_attr_t *attr)
{
    bool first = is_first();
    return finish_init(join(flags, attr), first, "nvshmemx_init_attr");
}

/* Implements nvshmemx_init_attr. Returns 0, or an error that has been printed. */
int nvshmemi_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr)
{
    return nvshmemi_hostlib_init_attr(flags, attr);
}

/* Implements nvshmemx_get_uniqueid. */
int nvshmemi_get_uniqueid(nvshmemx_uniqueid_t *id)
{
    shmemi_as_nvshmem(); /* before init, for the names in messages */
    return shmemx_get_uniqueid((shmemx_uniqueid_t *)id);
}

/* Implements nvshmemx_set_attr_uniqueid_args: stores this PE's number, the number of PEs and their
 * common ID in the arguments of init, after libshmem has checked them. Returns 0, or an error that
 * has been printed. */
int nvshmemi_set_attr_uniqueid_args(int rank, int n, const nvshmemx_uniqueid_t *id,
                                    nvshmemx_init_attr_t *attr)
{
    shmemx_init_attr_t a = SHMEMX_INIT_ATTR_INITIALIZER;
    if (attr == NULL) {
        fprintf(stderr, "shmem: nvshmemx_set_attr_uniqueid_args: attr is NULL (pass the "
                        "address of the attributes)\n");
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    shmemi_as_nvshmem(); /* as in nvshmemi_get_uniqueid */
    if (shmemx_set_attr_uniqueid_args(rank, n, (const shmemx_uniqueid_t *)id, &a) != 0)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    attr->args.uid_args = (nvshmemx_uniqueid_args_t)NVSHMEMX_UNIQUEID_ARGS_INITIALIZER;
    attr->args.uid_args.id = (nvshmemx_uniqueid_t *)id;
    attr->args.uid_args.myrank = rank;
    attr->args.uid_args.nranks = n;
    return 0;
}

/* Implements nvshmemx_set_attr_mpi_comm_args: stores the address of an MPI communicator in the
 * arguments of init. Returns 0, or an error, without a message, if an argument is NULL. */
int nvshmemi_set_attr_mpi_comm_args(void *comm, nvshmemx_init_attr_t *attr)
{
    if (comm == NULL || attr == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    attr->mpi_comm = comm;
    return 0;
}

/* Implements nvshmemx_init_status. In a job it returns NVSHMEM_STATUS_IS_BOOTSTRAPPED while the
 * program may still choose its GPU, and then NVSHMEM_STATUS_IS_INITIALIZED. */
int nvshmemi_init_status(void)
{
    int initialized = 0;
    shmem_query_initialized(&initialized);
    if (!initialized)
        return NVSHMEM_STATUS_NOT_INITIALIZED;
    return shmemi_gpu_pending() ? NVSHMEM_STATUS_IS_BOOTSTRAPPED : NVSHMEM_STATUS_IS_INITIALIZED;
}

/* Implements nvshmem_info_get_version: the version of the specification. */
void nvshmemi_info_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

/* Implements nvshmemx_vendor_get_version_info: the release of NVSHMEM whose functions the library
 * has. */
void nvshmemi_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

/* Returns the text of a status that a function of NVSHMEM has returned. */
const char *nvshmemi_status_string(int status)
{
    switch (status) {
    case NVSHMEMX_SUCCESS:
        return "success";
    case NVSHMEMX_ERROR_INVALID_VALUE:
        return "invalid value";
    case NVSHMEMX_ERROR_OUT_OF_MEMORY:
        return "out of memory";
    case NVSHMEMX_ERROR_NOT_SUPPORTED:
        return "not supported";
    case NVSHMEMX_ERROR_SYMMETRY:
        return "the PEs did not pass the same";
    case NVSHMEMX_ERROR_GPU_NOT_SELECTED:
        return "no GPU is selected";
    case NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED:
        return "the collective launch failed";
    case NVSHMEMX_ERROR_INTERNAL:
        return "internal error";
    }
    return "unknown status";
}
