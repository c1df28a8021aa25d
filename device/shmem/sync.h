/*
 * sync.h: sync and barrier of a team, by the threads of a scope, and the steps of the other
 * collectives.
 *
 * Each PE counts its steps, and the counts of a team agree, since all PEs call the same collectives
 * in the same order. One scope of a PE at a time may be in a collective of a team.
 */
#ifndef SHMEM_SYNC_H
#define SHMEM_SYNC_H

#include "signal.h"
#include "team.h"
#include "wait.h"

#ifdef SHMEMI_KERNEL

/*
 * Up to this number of PEs each PE signals every other one; with more, and over rings, they signal
 * each other in rounds.
 */
#define SHMEMI_SYNC_ALL_TO_ALL 64

/* Waits until a flag in this PE's memory has reached a step. Steps only grow, and are compared by
 * their difference, because the number may wrap around. */
SHMEMI_D void shmemi_await(const struct shmemi_device_image *image, const struct shmemi_members *m,
                           const uint64_t *flag, uint64_t step)
{
    uint32_t polls = 0;
    while ((int64_t)(shmemi_poll(flag) - step) < 0)
        shmemi_keep_waiting_for(image, &polls, m->losses);
}

/*
 * Sets a flag of PE pe to a step, after everything that this thread has written or seen, on any
 * path. flag is the flag's address in this PE's heap, where each PE has it. A flag through the ring
 * is a relaxed store, and a thread that passes on another PE's signal needs a release before it:
 * the writes that the acquired flag announces may be another PE's, into memory of this flag's
 * target, and in the PTX memory model only a release passes them on. So each hop has the fence:
 * 1117 cycles on an H200 while writes are under way (memory.h), of the microseconds that a hop
 * takes.
 */
SHMEMI_D void shmemi_flag(const struct shmemi_device_image *image, uint64_t *flag, uint64_t step,
                          int pe)
{
    char *at = shmemi_direct(image, flag, pe);
    if (at != NULL) {
        shmemi_store_signal(at, step);
    } else {
        shmemi_before_slots();
        shmemi_signal_ring(image, flag, step, SHMEMI_SIGNAL_SET, pe);
    }
}

/* Pushes a fence into the rings, if there are any, so that later operations stay after earlier
 * ones. */
SHMEMI_D void shmemi_order_rings(const struct shmemi_device_image *image)
{
    if (image->job.ring_count != 0)
        shmemi_fence_rings(image);
}

/* Returns the rank that comes i after `rank` in a team of n PEs, where rank 0 follows the last one.
 * i is at most n. */
SHMEMI_D int shmemi_rank_after(int rank, int i, int n)
{
    uint32_t at = (uint32_t)rank + (uint32_t)i;
    return (int)(at < (uint32_t)n ? at : at - (uint32_t)n);
}

/* Sends this PE's signal of round k of a dissemination (shmemi_disseminate): to the PE whose rank
 * is 2^k higher. */
SHMEMI_COLD void shmemi_round_send(const struct shmemi_device_image *image,
                                   const struct shmemi_members *m, uint64_t step, int k)
{
    int pe = shmemi_pe_of(m, shmemi_rank_after(m->me, 1 << k, m->n));
    shmemi_flag(image, m->work.rounds + k, step, pe);
}

/* Waits for the signal of round k of a dissemination (shmemi_disseminate), which the PE whose rank
 * is 2^k lower sends. */
SHMEMI_COLD void shmemi_round_await(const struct shmemi_device_image *image,
                                    const struct shmemi_members *m, uint64_t step, int k)
{
    shmemi_await(image, m, m->work.rounds + k, step);
}

/*
 * Syncs by dissemination: in round k a PE signals the PE 2^k ranks after it and waits for the
 * signal of the PE 2^k ranks before it, so that after log2 n rounds each PE knows that all PEs have
 * called. One thread does it, because its signal of a round must follow the one that it received in
 * the round before. In a network that keeps no order a flag could overtake the flag of the step
 * before; so the caller has made a quiet or a fence of the rings since that step.
 */
SHMEMI_D void shmemi_disseminate(const struct shmemi_device_image *image,
                                 const struct shmemi_members *m, uint64_t step)
{
#pragma unroll 1
    for (int k = 0; k < 31 /* 1 << k fits into an int */ && 1 << k < m->n; k++) {
        shmemi_round_send(image, m, step, k);
        shmemi_round_await(image, m, step, k);
    }
}

/*
 * Signals all PEs of a team, this one included, in which this GPU can address the memory of each:
 * every thread of the scope signals some of them. The stores are relaxed: each thread that signals
 * has made a fence before.
 */
template <class SCOPE>
SHMEMI_COLD void shmemi_signal_direct(const struct shmemi_device_image *image,
                                      const struct shmemi_members *m, uint64_t step)
{
#pragma unroll 1
    for (int i = (int)SCOPE::rank(); i < m->n; i += (int)SCOPE::size()) {
        int pe = shmemi_pe_of(m, shmemi_rank_after(m->me, i, m->n));
        shmemi_store_element(shmemi_direct(image, m->work.arrived + m->me, pe), step);
    }
}

/*
 * Syncs a team: waits until all its PEs have called it. COMPLETE: the earlier operations of the
 * threads of the scope are then complete as well. All threads have read the counter of steps when
 * the first thread changes it, because they synchronise before.
 *
 * Where all PEs are reached directly, thread i signals one of them and waits for it. Each of these
 * threads makes its own fence, at the same time as the others. The fence covers the whole scope,
 * since its threads have synchronised, and is the only one of the step.
 */
template <class SCOPE, int COMPLETE>
SHMEMI_D void shmemi_sync_members(const struct shmemi_device_image *image,
                                  const struct shmemi_members *m)
{
    uint64_t step = shmemi_load_near(m->work.step) + 1;
    SCOPE::sync();
    if (image->job.ring_count == 0 && m->n <= SHMEMI_SYNC_ALL_TO_ALL) {
        if ((int)SCOPE::rank() < m->n) {
            if (COMPLETE)
                shmemi_complete_system();
            else
                shmemi_fence_system();
            shmemi_signal_direct<SCOPE>(image, m, step);
#pragma unroll 1
            for (int i = (int)SCOPE::rank(); i < m->n; i += (int)SCOPE::size())
                shmemi_await(image, m, m->work.arrived + i, step);
        }
    } else if (SCOPE::rank() == 0) {
        if (COMPLETE) {
            shmemi_quiet_rings(image);
            shmemi_complete_system();
        } else {
            shmemi_order_rings(image);
        }
        shmemi_disseminate(image, m, step);
    }
    if (SCOPE::rank() == 0)
        shmemi_store_near(m->work.step, step);
    SCOPE::sync();
}

/* Syncs the team with a handle, by the threads of a scope. COMPLETE: earlier operations of the
 * threads are then complete as well. Returns 0, or -1 for SHMEM_TEAM_INVALID. */
template <class SCOPE, int COMPLETE>
SHMEMI_D int shmemi_sync(const struct shmemi_device_image *image, uint32_t call, shmemi_team_t team)
{
    struct shmemi_members m;
    if (shmemi_team_open(image, call, team, &m) != 0)
        return -1;
    shmemi_sync_members<SCOPE, COMPLETE>(image, &m);
    return 0;
}

#endif

#endif
