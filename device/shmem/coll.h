/*
 * coll.h: broadcast, fcollect and alltoall of a team. The data goes straight
 * into dest, which is ready when the collective is called; a flag follows it.
 */
#ifndef SHMEM_COLL_H
#define SHMEM_COLL_H

#include "sync.h"

#ifdef SHMEMI_KERNEL

/*
 * Sends a block to each PE and then a flag. BLOCKS: the PEs get consecutive
 * blocks of source, else all get the same. It begins with the PE after this one,
 * so that not all send to the same PE first, and ends with this PE itself, which
 * needs no data where SELF is 0.
 */
template <class SCOPE, int BLOCKS, int SELF>
SHMEMI_COLD void shmemi_send_all(const struct shmemi_device_image *image,
                                 const struct shmemi_members *m, char *dest, const char *source,
                                 uint64_t bytes, uint64_t *flag, uint64_t step)
{
    int n = m->n, me = m->me;
    int leader = SCOPE::rank() == 0;
    for (int i = 1; i <= n; i++) {
        int rank = (me + i) % n, pe = shmemi_pe_of(m, rank);
        const char *from = source + (BLOCKS ? (uint64_t)rank * bytes : 0);
        char *to = shmemi_direct(image, dest, pe);
        if (to == NULL && leader)
            shmemi_put_signal_ring<0>(image, dest, from, bytes, flag, step, SHMEMI_SIGNAL_SET, pe);
        else if (to != NULL && to != from && (SELF || rank != me))
            shmemi_copy<SCOPE, 0>(to, from, bytes);
    }
    SCOPE::meet();
    for (int i = (int)SCOPE::rank(); i < n; i += (int)SCOPE::size()) {
        char *at = shmemi_direct(image, flag, shmemi_pe_of(m, (me + 1 + i) % n));
        if (at != NULL)
            shmemi_store_signal(at, step);
    }
}

/*
 * Begins a step: all threads of the scope know its number, and rings keep it behind the step
 * before.
 */
template <class SCOPE>
SHMEMI_D uint64_t shmemi_step_begin(const struct shmemi_device_image *image,
                                    const uint64_t *counter)
{
    uint64_t step = shmemi_load_near(counter) + 1;
    SCOPE::meet();
    if (image->job.ring_count != 0) {
        if (SCOPE::rank() == 0)
            shmemi_order_rings(image);
        SCOPE::meet();
    }
    return step;
}

/* Waits until the flag of each PE has come to the step. */
template <class SCOPE>
SHMEMI_D void shmemi_await_all(const struct shmemi_device_image *image,
                               const struct shmemi_members *m, const uint64_t *flags, uint64_t step)
{
    for (int i = (int)SCOPE::rank(); i < m->n; i += (int)SCOPE::size())
        shmemi_await(image, m, flags + i, step);
}

template <class SCOPE> SHMEMI_D void shmemi_step_end(uint64_t *counter, uint64_t step)
{
    if (SCOPE::rank() == 0)
        shmemi_store_near(counter, step);
    SCOPE::meet();
}

template <class SCOPE>
SHMEMI_COLD int shmemi_broadcast(const struct shmemi_device_image *image, uint32_t call,
                                 shmemi_team_t team, void *dest, const void *source, uint64_t bytes,
                                 int root)
{
    struct shmemi_members m;
    if (shmemi_team_open(image, call, team, &m) != 0)
        return -1;
    if ((uint32_t)root >= (uint32_t)m.n)
        shmemi_fault(image, SHMEMI_FAULT_ROOT, call, root, (uint64_t)(uintptr_t)dest,
                     (uint64_t)m.n);
    shmemi_check_range(image, call, image->job.me, dest, bytes);
    uint64_t step = shmemi_step_begin<SCOPE>(image, m.work.step);
    if (m.me == root)
        shmemi_send_all<SCOPE, 0, 1>(image, &m, (char *)dest, (const char *)source, bytes,
                                     m.work.arrived + root, step);
    else if (SCOPE::rank() == 0)
        shmemi_await(image, &m, m.work.arrived + root, step);
    shmemi_step_end<SCOPE>(m.work.step, step);
    return 0;
}

/* BLOCKS: alltoall, else fcollect. */
template <class SCOPE, int BLOCKS>
SHMEMI_COLD int shmemi_exchange(const struct shmemi_device_image *image, uint32_t call,
                                shmemi_team_t team, void *dest, const void *source, uint64_t bytes)
{
    struct shmemi_members m;
    if (shmemi_team_open(image, call, team, &m) != 0)
        return -1;
    shmemi_check_range(image, call, image->job.me, dest, bytes * (uint64_t)m.n);
    uint64_t step = shmemi_step_begin<SCOPE>(image, m.work.step);
    shmemi_send_all<SCOPE, BLOCKS, 1>(image, &m, (char *)dest + (uint64_t)m.me * bytes,
                                      (const char *)source, bytes, m.work.arrived + m.me, step);
    shmemi_await_all<SCOPE>(image, &m, m.work.arrived, step);
    shmemi_step_end<SCOPE>(m.work.step, step);
    return 0;
}

#endif

#endif
