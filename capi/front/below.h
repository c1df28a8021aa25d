/*
 * below.h: functions that libshmem.so exports beside its public ones, for the libraries that offer
 * its calls by other names (NVSHMEM's, for example).
 */
#ifndef SHMEMI_BELOW_H
#define SHMEMI_BELOW_H

#include <shmem.h>
#include <shmem/zz_wire.h>

#include <stdbool.h>

#pragma GCC visibility push(default)

/* acc[i] = acc[i] op in[i] for n elements; generated for each type. */
struct shmemi_reducer {
    void (*combine)(void *acc, const void *in, size_t nelems);
    size_t size; /* bytes of an element */
};

/* Reduces by an operation that the caller supplies, whose result must not depend on the order of
 * operands. Returns 0, or non-zero if the arguments cannot be used. */
int shmemi_reduce_by(shmem_team_t team, void *dest, const void *source, size_t nelems,
                     const struct shmemi_reducer *reducer, const char *call);

/* Reduces, and splits the result: PE i of the team gets the i-th run of nelems elements. dest may
 * be where source begins, or the caller's part of it. Returns what shmemi_reduce_by returns. */
int shmemi_reducescatter(shmem_team_t team, void *dest, const void *source, size_t nelems,
                         const struct shmemi_reducer *reducer, const char *call);

/* shmemi_reducescatter on a CUDA stream, with width and op as in the generated calls on streams. */
struct CUstream_st;
int shmemi_stream_reducescatter(shmem_team_t team, void *dest, const void *source, size_t n,
                                uint32_t width, int op, struct CUstream_st *stream,
                                const char *call);

/*
 * Splits a team: each PE of the parent passes start, stride and size of the new team that it wants
 * to be in. Otherwise like shmem_team_split_strided, with the same results. Teams of one call have
 * no PE in common. A PE whose arguments are invalid, or describe a team without it, is in no new
 * team.
 */
int shmemi_team_split_each(shmem_team_t parent_team, int start, int stride, int size,
                           const shmem_team_config_t *config, long config_mask,
                           shmem_team_t *new_team);

/* Completes the caller's operations and waits until every PE of a team has called it. Returns what
 * shmem_team_sync returns. */
int shmemi_team_barrier(shmem_team_t team, const char *call);

/* Makes the id of a team that does not exist yet, at one PE, which need not be of the team. The
 * program passes the id to the team's PEs, which call shmemi_team_init. Returns 0, or non-zero
 * after a message. */
int shmemi_team_uniqueid(uint64_t *id, const char *call);
/*
 * Makes the team of an id, of which each of the n PEs knows only its own rank. Returns 0, or
 * non-zero. Threads of a PE that call it at once make their teams one after the other, so all PEs
 * must make the teams that they have in common in the same order.
 *
 * If the arguments of two PEs do not fit together, or a PE lacks memory or a free slot, every PE of
 * the team prints a message and gets non-zero. If the id, n or the rank of a PE is out of range,
 * only this PE prints a message and returns: the others wait for it, and their hang reports name
 * the call. If a PE is lost, those that wait for it return non-zero.
 */
int shmemi_team_init(uint64_t id, int n, int rank, int num_contexts, shmem_team_t *new_team,
                     const char *call);

/* Called before init if the program calls the library by the names of NVSHMEM. Then NVSHMEM's
 * environment variables are settings, and this library cannot tell whether the program has kernels:
 * so the heap is in the memory of the GPU, if there is one and SHMEM_HEAP does not choose
 * otherwise, and may grow to the size of that memory. */
void shmemi_as_nvshmem(void);

/*
 * Fixes the GPU of each PE. Collective, before the program's first call that needs the GPU. If no
 * GPU was chosen at init, PEs have one by their number on the node. If the calling thread of any PE
 * uses another GPU by now, all PEs leave the job and join it again, with the GPUs that they use.
 * Teams would be lost, so there may be none.
 */
void shmemi_settle_gpu(const char *call);

/* Reports whether this PE has a GPU that the library chose, and that the program may still replace
 * by another. */
bool shmemi_gpu_pending(void);

/* Device code of NVIDIA's device archive in a program: its release, 3.minor.patch, and a function
 * that finds the program's variables for the state of the job and of a transport. */
struct shmemi_archive_program {
    int major, minor, patch;
    int (*find)(const struct shmemi_archive_program *p, void **state, void **transport);
    void *callback; /* for find */
};

/* Called by all PEs at the end of the first init. possible: this process may load code of NVIDIA's
 * device archive, because it has this library under the soname of NVIDIA's. */
void shmemi_archive_begin(bool possible, const char *call);

/* Checks that this library knows the layout of a release. Returns 0, or -1 with the reason in
 * error. */
int shmemi_archive_check(int major, int minor, int patch, char *error, size_t size);

/* Copies the state of the job to a program's variable: at once or, while the program may still
 * choose its GPU, when that is fixed. Returns 0, or -1 with the reason in error. */
int shmemi_archive_add(const struct shmemi_archive_program *p, char *error, size_t size);

/* Clears the variable again, when as many calls as shmemi_archive_add have named it. */
void shmemi_archive_drop(void *state);

#pragma GCC visibility pop

#endif
