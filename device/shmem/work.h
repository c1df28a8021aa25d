/*
 * work.h: the memory that collectives of kernels work with. It is symmetric, at
 * the same place in every PE's heap, and zero when the job begins:
 *
 *   a counter of steps, a counter of rounds of data   this PE's own
 *   a flag for each round of a dissemination          written by one peer each
 *   arrived[n_pes]      the step that a PE has come to, written by that PE
 *   pushed[n_pes]       the round of data that it has sent, written by that PE
 *   two buffers, each with room for a chunk from every PE
 *
 * Flags only grow, so nothing is ever reset, and a PE that is ahead does no harm:
 * who waits for a step is content with a later one.
 */
#ifndef SHMEM_WORK_H
#define SHMEM_WORK_H

#include "zz_wire.h"

/* Bytes of a chunk: a power of two. */
SHMEMI_HD uint64_t shmemi_work_chunk(uint64_t n_pes)
{
    uint64_t chunk = SHMEMI_WORK_MOST;
    while (chunk > SHMEMI_WORK_LEAST && 2 * n_pes * chunk > SHMEMI_WORK_DATA)
        chunk /= 2;
    return chunk;
}

/* Where the buffers begin. */
SHMEMI_HD uint64_t shmemi_work_buffers(uint64_t n_pes)
{
    return (SHMEMI_WORK_HEAD + 16 * n_pes + 127) & ~(uint64_t)127;
}

SHMEMI_HD uint64_t shmemi_work_size(uint64_t n_pes)
{
    return shmemi_work_buffers(n_pes) + 2 * n_pes * shmemi_work_chunk(n_pes);
}

#endif
