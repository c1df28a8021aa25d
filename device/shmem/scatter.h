/*
 * scatter.h: reduce-scatter over a team. It uses the buffers and the rounds of reduce.h, but each
 * PE sends a different part of its source to each PE.
 */
#ifndef SHMEM_SCATTER_H
#define SHMEM_SCATTER_H

#include "reduce.h"

#ifdef SHMEMI_KERNEL

/*
 * Does one round of a reduce-scatter: sends each PE its part (parts are stride bytes apart), waits
 * for the parts of all others, and returns the buffer that has them, at the place of each PE's
 * rank. dest and flag are addresses in this PE's heap, and the same places at each PE. A put waits
 * until its source may be used again, because the program may change it after the last round.
 */
template <class SCOPE>
SHMEMI_COLD const char *shmemi_scatter_round(const struct shmemi_device_image *image,
                                             const struct shmemi_rounds *r, const char *source,
                                             uint64_t stride, uint64_t bytes)
{
    const struct shmemi_members *m = &r->team;
    int n = m->n, me = m->me;
    char *buffer = m->work.buffers + (r->round & 1) * (uint64_t)n * r->chunk;
    char *dest = buffer + (uint64_t)me * r->chunk;
    uint64_t *flag = m->work.pushed + me;
    if (n == 1)
        return buffer;
    for (int i = 1; i < n; i++) {
        int rank = (me + i) % n, pe = shmemi_pe_of(m, rank);
        const char *from = source + (uint64_t)rank * stride;
        char *to = shmemi_direct(image, dest, pe);
        if (to != NULL)
            shmemi_copy<SCOPE, 0 /* FAR */>(to, from, bytes);
        else if (SCOPE::rank() == 0)
            shmemi_put_signal_ring<0 /* NBI */>(image, dest, from, bytes, flag, r->round,
                                                SHMEMI_SIGNAL_SET, pe);
    }
    shmemi_signal_all<SCOPE>(image, m, flag, r->round);
    shmemi_await_all<SCOPE>(image, m, m->work.pushed, r->round);
    SCOPE::sync();
    return buffer;
}

/*
 * Reduces the sources of all PEs of a team; each PE gets count elements of the result. Before the
 * next round all threads have combined the parts of this one, because the next message of this PE
 * says so; and rings carry out its messages after those of this round. With no elements there is no
 * round. Returns 0, or -1 for SHMEM_TEAM_INVALID.
 */
template <class SCOPE, class OP, class T>
SHMEMI_D int shmemi_reducescatter(const struct shmemi_device_image *image, uint32_t call,
                                  shmemi_team_t team, T *dest, const T *source, size_t count)
{
    struct shmemi_rounds r = shmemi_reduce_begin<SCOPE>(image, call, team, dest, count * sizeof(T));
    if (r.chunk == 0)
        return -1;
    if (shmemi_in_lines<OP, T>::template takes<SCOPE>(image, &r.team, count)) {
        shmemi_in_lines<OP, T>::template reduce<SCOPE, 1 /* PARTS */>(image, &r.team, r.round, dest,
                                                                      source, (uint32_t)count);
        shmemi_step_end<SCOPE>(r.team.work.round, r.round);
        return 0;
    }
    const T *mine = source + (uint64_t)r.team.me * count;
    for (uint64_t done = 0, part; done < count; done += part, r.round++) {
        part = r.chunk / sizeof(T);
        part = part < count - done ? part : count - done;
        const char *buffer = shmemi_scatter_round<SCOPE>(image, &r, (const char *)(source + done),
                                                         count * sizeof(T), part * sizeof(T));
        shmemi_combine<SCOPE, OP, T>(dest + done, mine + done, buffer, r.chunk, r.team.me, r.team.n,
                                     part);
        SCOPE::sync();
        if (SCOPE::rank() == 0)
            shmemi_order_rings(image);
    }
    shmemi_step_end<SCOPE>(r.team.work.round, r.round - 1);
    return 0;
}

#endif

#endif
