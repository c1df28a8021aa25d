/*
 * load.c: finds the MPI library that the program has loaded, and calls it.
 *
 * It loads nothing: a second MPI in a process would be another job. It searches the loaded files of
 * the process, because the symbols of MPI may not be visible to other libraries, as under mpi4py.
 * The two kinds of MPI have different handles: a pointer in Open MPI, an int in MPICH and its
 * relatives.
 */
#define _GNU_SOURCE
#include "load.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <time.h>

/* Handles of MPICH and of the libraries that share its interface (mpi.h of each). */
enum { MPICH_COMM_WORLD = 0x44000000, MPICH_BYTE = 0x4c00010d };
#define MPICH_STATUS_IGNORE ((void *)1)

static struct {
    void *file;
    char *ompi_world; /* NULL: MPICH */
    char *ompi_byte;
    int (*initialized)(int *);
    int (*finalized)(int *);
    void *rank, *size, *ibcast, *test; /* functions whose types differ between the two kinds */
} mpi;

/* Callback of dl_iterate_phdr: stores the path of the first loaded file that is an MPI library. */
static int find_object(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    if (strncmp(name, "libmpi.so", 9) != 0 && strncmp(name, "libmpich.so", 11) != 0 &&
        strncmp(name, "libmpi_cray.so", 14) != 0)
        return 0;
    *(const char **)found = info->dlpi_name;
    return 1;
}

/* Returns the address of a data object of the library. If the program itself refers to the object,
 * the loader has copied it into the program (copy relocation), and the library uses that copy. */
static void *object(void *file, const char *name)
{
    void *used = dlsym(RTLD_DEFAULT, name);
    return used ? used : dlsym(file, name);
}

/* Finds the MPI library that the program has loaded, and its functions. Returns 1, or 0 if there is
 * none. */
int shmemi_mpi_find(void)
{
    const char *name = NULL;
    if (mpi.file != NULL)
        return 1;
    dl_iterate_phdr(find_object, &name);
    void *file = name ? dlopen(name, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    if (file == NULL)
        return 0;
    mpi.ompi_world = object(file, "ompi_mpi_comm_world");
    mpi.ompi_byte = object(file, "ompi_mpi_byte");
    *(void **)&mpi.initialized = dlsym(file, "MPI_Initialized");
    *(void **)&mpi.finalized = dlsym(file, "MPI_Finalized");
    mpi.rank = dlsym(file, "MPI_Comm_rank");
    mpi.size = dlsym(file, "MPI_Comm_size");
    mpi.ibcast = dlsym(file, "MPI_Ibcast");
    mpi.test = dlsym(file, "MPI_Test");
    if (!mpi.initialized || !mpi.finalized || !mpi.rank || !mpi.size || !mpi.ibcast || !mpi.test ||
        !mpi.ompi_world != !mpi.ompi_byte) {
        dlclose(file);
        return 0;
    }
    mpi.file = file;
    return 1;
}

/* Reports whether the program is between MPI_Init and MPI_Finalize. */
int shmemi_mpi_up(void)
{
    int begun = 0, over = 0;
    return shmemi_mpi_find() && mpi.initialized(&begun) == 0 && begun &&
           mpi.finalized(&over) == 0 && !over;
}

/* Returns the communicator at a pointer to an MPI_Comm, or MPI_COMM_WORLD for NULL, as a number: an
 * MPI_Comm is a pointer in Open MPI, and an int in MPICH. */
uint64_t shmemi_mpi_comm(const void *pointer)
{
    if (mpi.ompi_world != NULL)
        return (uintptr_t)(pointer ? *(void *const *)pointer : mpi.ompi_world);
    return (uint32_t)(pointer ? *(const int *)pointer : MPICH_COMM_WORLD);
}

/* Calls MPI_Comm_rank and MPI_Comm_size. A communicator is a pointer in Open MPI and an int in
 * MPICH, so the functions are called with the type of the library that was found. Returns MPI's
 * error code. */
int shmemi_mpi_rank(uint64_t comm, int *rank, int *size)
{
    int code;
    if (mpi.ompi_world != NULL) {
        void *c = (void *)(uintptr_t)comm;
        code = ((int (*)(void *, int *))mpi.rank)(c, rank);
        return code ? code : ((int (*)(void *, int *))mpi.size)(c, size);
    }
    code = ((int (*)(int, int *))mpi.rank)((int)comm, rank);
    return code ? code : ((int (*)(int, int *))mpi.size)((int)comm, size);
}

/* Starts a broadcast of n bytes from rank 0, by MPI_Ibcast, with the handles of Open MPI or of
 * MPICH. Returns MPI's error code. */
static int begin(uint64_t comm, void *bytes, int n, void *request)
{
    if (mpi.ompi_world != NULL)
        return ((int (*)(void *, int, void *, int, void *, void *))mpi.ibcast)(
            bytes, n, mpi.ompi_byte, 0, (void *)(uintptr_t)comm, request);
    return ((int (*)(void *, int, int, int, int, void *))mpi.ibcast)(bytes, n, MPICH_BYTE, 0,
                                                                     (int)comm, request);
}

/* Returns the time of the monotonic clock, in milliseconds. */
static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Broadcasts n bytes from rank 0, by MPI_Ibcast and MPI_Test, because MPI_Bcast has no timeout.
 * Returns MPI's error code, or SHMEMI_MPI_LATE after ms milliseconds: then the broadcast is still
 * under way, and MPI may write to bytes. */
int shmemi_mpi_broadcast(uint64_t comm, void *bytes, int n, int64_t ms)
{
    union {
        void *ompi;
        int mpich;
    } request = {NULL};
    int code = begin(comm, bytes, n, &request), done = 0;
    int64_t end = now_ms() + ms;
    while (code == 0) {
        code = ((int (*)(void *, int *, void *))mpi.test)(
            &request, &done, mpi.ompi_world ? NULL : MPICH_STATUS_IGNORE);
        if (code != 0 || done)
            break;
        if (now_ms() >= end)
            return SHMEMI_MPI_LATE;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); /* 100 us between the tests */
    }
    return code;
}
