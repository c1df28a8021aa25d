/*
 * redirect_openmpi.c: the constants that the headers of Open MPI's OSHMEM compile into programs:
 * those that differ from libshmem's, and those that must not differ. tests/redirect compares every
 * row with both headers and has a program for each row that is translated.
 */
#include "redirect.h"

/* In each row of a table of values: the name, Open MPI's value, libshmem's value. */

/* Options of contexts: the bits of PRIVATE and SERIALIZED are exchanged. */
static const struct redirect_value options[] = {
    {"SHMEM_CTX_PRIVATE", 1, 2},
    {"SHMEM_CTX_SERIALIZED", 2, 1},
    {"SHMEM_CTX_NOSTORE", 4, 4},
    {NULL, 0, 0},
};

/* For Open MPI 4, which has no signals. */
static const struct redirect_value no_values[] = {{NULL, 0, 0}};

/* Operations of signals. */
static const struct redirect_value signals[] = {
    {"SHMEM_SIGNAL_SET", 1, 9},
    {"SHMEM_SIGNAL_ADD", 2, 10},
    {NULL, 0, 0},
};

/* How many elements pSync and pWrk have, and the value with which programs fill pSync. */
static const struct redirect_value sizes[] = {
    {"SHMEM_SYNC_VALUE", -1, 0},
    {"SHMEM_SYNC_SIZE", 3, 128},
    {"SHMEM_BARRIER_SYNC_SIZE", 1, 128},
    {"SHMEM_BCAST_SYNC_SIZE", 2, 128},
    {"SHMEM_COLLECT_SYNC_SIZE", 3, 128},
    {"SHMEM_REDUCE_SYNC_SIZE", 3, 128},
    {"SHMEM_ALLTOALL_SYNC_SIZE", 1, 128},
    {"SHMEM_ALLTOALLS_SYNC_SIZE", 1, 128},
    {"SHMEM_REDUCE_MIN_WRKDATA_SIZE", 1, 128},
    {NULL, 0, 0},
};

/* Constants that are equal: first the three that only version 5 has. */
enum { ONLY_5 = 3 };
static const struct redirect_value same_5[] = {
    {"SHMEM_MALLOC_ATOMICS_REMOTE", 1, 1},
    {"SHMEM_MALLOC_SIGNAL_REMOTE", 2, 2},
    {"SHMEM_TEAM_NUM_CONTEXTS", 1, 1},
    {"SHMEM_CMP_EQ", 0, 0},
    {"SHMEM_CMP_NE", 1, 1},
    {"SHMEM_CMP_GT", 2, 2},
    {"SHMEM_CMP_LE", 3, 3},
    {"SHMEM_CMP_LT", 4, 4},
    {"SHMEM_CMP_GE", 5, 5},
    {"SHMEM_THREAD_SINGLE", 0, 0},
    {"SHMEM_THREAD_FUNNELED", 1, 1},
    {"SHMEM_THREAD_SERIALIZED", 2, 2},
    {"SHMEM_THREAD_MULTIPLE", 3, 3},
    {"SHMEM_MAX_NAME_LEN", 256, 256},
    {NULL, 0, 0},
};

/* Variables of Open MPI 4 and of 5, each with libshmem's handle: 0 is the default context and also
 * the team of all PEs, 1 is the team of the PEs that share memory. */
static const struct redirect_symbol symbols_4[] = {
    {"oshmem_ctx_default", 0},
    {NULL, 0},
};

static const struct redirect_symbol symbols_5[] = {
    {"oshmem_ctx_default", 0},
    {"oshmem_team_world", 0},
    {"oshmem_team_shared", 1},
    {NULL, 0},
};

const struct redirect_library redirect_openmpi_4 = {
    .name = "Open MPI 4",
    .pointers = true,
    .symbols = symbols_4,
    .options = options,
    .signals = no_values,
    .small_sync = true,
    .sizes = sizes,
    .same = same_5 + ONLY_5,
    .major = 1,
    .minor = 4,
    .vendor = "http://www.open-mpi.org/",
    .heap = "SHMEM_SYMMETRIC_HEAP_SIZE",
};

const struct redirect_library redirect_openmpi_5 = {
    .name = "Open MPI 5",
    .pointers = true,
    .symbols = symbols_5,
    .options = options,
    .signals = signals,
    .small_sync = true,
    .sizes = sizes,
    .same = same_5,
    .major = 1,
    .minor = 4,
    .vendor = "https://www.open-mpi.org/",
    .heap = "SHMEM_SYMMETRIC_HEAP_SIZE",
};
