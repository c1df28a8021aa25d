/*
 * below.h: what libraries of other names call of libshmem.so, beside its public functions.
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
    size_t size; /* of an element */
};

/* A reduction by an operation of the caller's, which does not depend on the order. 0, or
 * non-zero when the arguments cannot be used. */
int shmemi_reduce_by(shmem_team_t team, void *dest, const void *source, size_t nelems,
                     const struct shmemi_reducer *reducer, const char *call);

/* Each PE gets nelems elements of the result: those behind what the PEs before it get. dest may
 * be where source begins, or the caller's part of it. */
int shmemi_reducescatter(shmem_team_t team, void *dest, const void *source, size_t nelems,
                         const struct shmemi_reducer *reducer, const char *call);

/* The same on a stream: width and op as the generator writes them. */
struct CUstream_st;
int shmemi_stream_reducescatter(shmem_team_t team, void *dest, const void *source, size_t n,
                                uint32_t width, int op, struct CUstream_st *stream,
                                const char *call);

/*
 * Does what shmem_team_split_strided does, but each PE of the parent passes the numbers of its
 * own team. Teams of one call have no PE in common. A PE whose numbers are not usable, or are
 * those of a team without it, is in none.
 */
int shmemi_team_split_each(shmem_team_t parent_team, int start, int stride, int size,
                           const shmem_team_config_t *config, long config_mask,
                           shmem_team_t *new_team);

/* Completes the caller's operations and waits until every PE of a team has called it. As
 * shmem_team_sync answers. */
int shmemi_team_barrier(shmem_team_t team, const char *call);

/*
 * A team of n PEs that know only an id and their own rank in it. The id is made by one PE, which
 * need not be of the team, and passed on by the program. 0, or non-zero after a message on every PE
 * of the team. One thread of a PE makes such a team at a time.
 */
int shmemi_team_uniqueid(uint64_t *id, const char *call);
int shmemi_team_init(uint64_t id, int n, int rank, int num_contexts, shmem_team_t *new_team,
                     const char *call);

/* Before init: the program comes in by the names of NVSHMEM. Those of the environment are settings
 * then, and its kernels are not those that this library sees: the heap is in the memory of the GPU,
 * where there is one and SHMEM_HEAP does not say otherwise, and grows to what that has. */
void shmemi_as_nvshmem(void);

/*
 * Collective, before the program's first call that needs the GPU. Where no GPU was chosen at init,
 * PEs have one by their number on the node. If the thread of any PE has another one by now, all
 * PEs leave the job and join it again, with the GPUs that they have. Teams would be lost, so there
 * may be none.
 */
void shmemi_settle_gpu(const char *call);

/* Reports whether there is a GPU that the program has not chosen, and may still choose. */
bool shmemi_gpu_pending(void);

#pragma GCC visibility pop

#endif
