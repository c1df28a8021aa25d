/*
 * coll.h: broadcast, fcollect and alltoall of all PEs. The data goes straight
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
SHMEMI_COLD void shmemi_send_all(const struct shmemi_device_image *image, char *dest,
                                 const char *source, uint64_t bytes, uint64_t *flag, uint64_t step)
{
    int n = image->job.n_pes, me = image->job.me;
    int leader = SCOPE::rank() == 0;
    for (int i = 1; i <= n; i++) {
        int pe = (me + i) % n;
        const char *from = source + (BLOCKS ? (uint64_t)pe * bytes : 0);
        char *to = shmemi_direct(image, dest, pe);
        if (to == NULL && leader)
            shmemi_put_signal_ring(image, dest, from, bytes, flag, step, SHMEM_SIGNAL_SET, pe, 0);
        else if (to != NULL && to != from && (SELF || pe != me))
            shmemi_copy<SCOPE, 0>(to, from, bytes);
    }
    SCOPE::meet();
    for (int i = (int)SCOPE::rank(); i < n; i += (int)SCOPE::size()) {
        int pe = (me + 1 + i) % n;
        char *at = shmemi_direct(image, flag, pe);
        if (at != NULL)
            shmemi_store_signal(at, step);
    }
}

/* Begins a step: all threads of the scope know its number, and rings keep it behind the last. */
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

/* Waits until each PE's flag has come to the step. */
template <class SCOPE>
SHMEMI_D void shmemi_await_all(const struct shmemi_device_image *image, const uint64_t *flags,
                               uint64_t step)
{
    for (int i = (int)SCOPE::rank(); i < image->job.n_pes; i += (int)SCOPE::size())
        shmemi_await(image, flags + i, step);
}

template <class SCOPE> SHMEMI_D void shmemi_step_end(uint64_t *counter, uint64_t step)
{
    if (SCOPE::rank() == 0)
        shmemi_store_near(counter, step);
    SCOPE::meet();
}

template <class SCOPE>
SHMEMI_COLD int shmemi_broadcast(const struct shmemi_device_image *image, uint32_t call,
                                 shmem_team_t team, void *dest, const void *source, uint64_t bytes,
                                 int root)
{
    struct shmemi_work w = shmemi_work_of(image, call);
    if (shmemi_check_team(image, call, team) != 0)
        return -1;
    shmemi_check_pe(image, call, root, dest, bytes);
    shmemi_check_range(image, call, root, dest, bytes);
    uint64_t step = shmemi_step_begin<SCOPE>(image, w.step);
    if (image->job.me == root)
        shmemi_send_all<SCOPE, 0, 1>(image, (char *)dest, (const char *)source, bytes,
                                     w.arrived + root, step);
    else if (SCOPE::rank() == 0)
        shmemi_await(image, w.arrived + root, step);
    shmemi_step_end<SCOPE>(w.step, step);
    return 0;
}

/* BLOCKS: alltoall, else fcollect. */
template <class SCOPE, int BLOCKS>
SHMEMI_COLD int shmemi_exchange(const struct shmemi_device_image *image, uint32_t call,
                                shmem_team_t team, void *dest, const void *source, uint64_t bytes)
{
    struct shmemi_work w = shmemi_work_of(image, call);
    if (shmemi_check_team(image, call, team) != 0)
        return -1;
    shmemi_check_range(image, call, image->job.me, dest, bytes * (uint64_t)image->job.n_pes);
    uint64_t step = shmemi_step_begin<SCOPE>(image, w.step);
    shmemi_send_all<SCOPE, BLOCKS, 1>(image, (char *)dest + (uint64_t)image->job.me * bytes,
                                      (const char *)source, bytes, w.arrived + image->job.me, step);
    shmemi_await_all<SCOPE>(image, w.arrived, step);
    shmemi_step_end<SCOPE>(w.step, step);
    return 0;
}

#endif

#endif
