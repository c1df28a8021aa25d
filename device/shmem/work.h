/*
 * work.h: the work memory of kernels' collectives. It is symmetric, at the same place in every PE's
 * heap, and zero when the job begins:
 *
 *   a counter of steps, a counter of rounds of data, a count of blocks that have arrived, and a
 *   claim of the warp that makes a collective call   used by this PE only
 *   a flag for each round of a dissemination          written by one peer each
 *   arrived[n]          the step that a PE has reached, written by that PE
 *   pushed[n]           the round of data that it has sent, written by that PE
 *   two sets of lines   for short reductions of up to WORK_PACKED_PES PEs (packed.h)
 *   two buffers, each with space for a chunk from every PE
 *
 * Flags only grow, so nothing is ever reset, and a PE that is ahead does no harm: a wait for a step
 * also ends at a later step.
 *
 * Each team has an area of its own, since teams overlap. When a team has been destroyed and another
 * one gets its area, the host sets counters and flags back to zero before any PE of the new team
 * has the handle.
 */
#ifndef SHMEM_WORK_H
#define SHMEM_WORK_H

#include "zz_wire.h"

/*
 * Returns the bytes of a chunk, one PE's part of a buffer: the largest power of two, within its
 * limits, with which the two buffers of n_pes PEs take no more than `data` bytes.
 */
SHMEMI_HD uint64_t shmemi_work_fit(uint64_t n_pes, uint64_t data)
{
    uint64_t chunk = SHMEMI_WORK_MOST;
    while (chunk > SHMEMI_WORK_LEAST && 2 * n_pes * chunk > data)
        chunk /= 2;
    return chunk;
}

/* Returns where the lines of short reductions begin, in bytes from the start of the work memory of
 * n PEs: after arrived and pushed, 8 bytes each, at a multiple of a cache line of 128 bytes. */
SHMEMI_HD uint64_t shmemi_work_lines(uint64_t n_pes)
{
    return (SHMEMI_WORK_HEAD + 16 * n_pes + 127) & ~(uint64_t)127;
}

/*
 * Returns where the two buffers of collectives begin, in bytes from the start of the work memory of
 * n PEs. A job of more PEs than have lines may have teams of fewer, so it has lines as well.
 */
SHMEMI_HD uint64_t shmemi_work_buffers(uint64_t n_pes)
{
    uint64_t pes = n_pes < SHMEMI_WORK_PACKED_PES ? n_pes : SHMEMI_WORK_PACKED_PES;
    return shmemi_work_lines(n_pes) + 2 * pes * SHMEMI_WORK_PACKED;
}

/* Returns the bytes of the work memory of SHMEM_TEAM_WORLD, in a job of n_pes PEs. The areas of
 * other teams, and what the library's own kernels use, are behind it. */
SHMEMI_HD uint64_t shmemi_work_size(uint64_t n_pes)
{
    return shmemi_work_buffers(n_pes) + 2 * n_pes * shmemi_work_fit(n_pes, SHMEMI_WORK_DATA);
}

/* Returns the bytes of the work memory of each other team than the world, in a job of n_pes PEs. */
SHMEMI_HD uint64_t shmemi_work_team(uint64_t n_pes)
{
    uint64_t least = 2 * n_pes * SHMEMI_WORK_LEAST;
    return shmemi_work_buffers(n_pes) + (least > SHMEMI_WORK_TEAM ? least : SHMEMI_WORK_TEAM);
}

#endif
