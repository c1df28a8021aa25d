/*
 * sets.c: collectives on active sets that cannot be served.
 */
#define SHMEM_ALLOW_DEPRECATED
#include "cases.h"

/* A pSync of its own allocation. */
static long *new_sync(void)
{
    long *sync = shmem_malloc(SHMEM_SYNC_SIZE * sizeof *sync);
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
        sync[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    return sync;
}

static long *new_work(void)
{
    return shmem_malloc(SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(long));
}

CASE(set_beyond)
{
    shmem_barrier(0, 1, n, new_sync());
}
CASE(set_of_nobody)
{
    shmem_sync(0, 0, 0, new_sync());
}
CASE(set_stride)
{
    shmem_sync(0, -1, 2, new_sync());
}
CASE(set_not_in_it)
{
    shmem_barrier(0, 0, 1, new_sync());
}
CASE(set_root)
{
    shmem_broadcast64(block, block + 1, 1, n, 0, 0, n, new_sync());
}
CASE(set_private_sync)
{
    if (me < n - 1)
        shmem_fcollect64(block + 1, block, 1, 0, 0, n - 1, here);
}
CASE(set_private_work)
{
    long *sync = new_sync();
    if (me < n - 1)
        shmem_long_sum_to_all(block + 1, block, 1, 0, 0, n - 1, here, sync);
}
CASE(set_negative)
{
    shmem_long_sum_to_all(block + 1, block, -1, 0, 0, n, new_work(), new_sync());
}
CASE(set_short_work)
{
    long *sync = new_sync();
    if (me < n - 1)
        shmem_long_sum_to_all(block + 1, block, 1, 0, 0, n - 1, block + 5, sync);
}
CASE(set_short_sync)
{
    if (me < n - 1)
        shmem_sync(0, 0, n - 1, block);
}
/* A mistake that programs make: the size of one in place of the other. */
CASE(set_work_of_sync_size)
{
    long *sync = new_sync(), *work = shmem_malloc(SHMEM_REDUCE_SYNC_SIZE * sizeof *work);
    if (me < n - 1)
        shmem_long_sum_to_all(block + 1, block, 1, 0, 0, n - 1, work, sync);
    shmem_barrier_all();
    printf("PE %d went on\n", me);
}
CASE(set_overlap)
{
    shmem_long_sum_to_all(block + 1, block, 2, 0, 0, n, new_work(), new_sync());
}
/* On all PEs, and on some: members of a set may have messages before they make the call. */
CASE(set_not_initialised)
{
    long *sync = new_sync();
    sync[31] = 1;
    if (me < n - 1)
        shmem_sync(0, 0, n - 1, sync);
}
CASE(set_not_initialised_of_some)
{
    long *sync = new_sync();
    sync[0] = -1;
    if (me < n - 1)
        shmem_sync(0, 0, n - 1, sync);
}
/* The root sends twice the elements that the others receive. */
CASE(set_sync_again)
{
    long *sync = new_sync();
    if (me == 0) {
        shmem_broadcast64(block, block + 1, 1, 0, 0, 0, 3, sync);
        shmem_broadcast64(block, block + 1, 1, 0, 0, 0, 3, sync);
        shmem_quiet();
    }
    shmem_barrier_all();
    if (me == 1 || me == 2)
        shmem_broadcast64(block, block + 1, 1, 0, 0, 0, 3, sync);
    shmem_barrier_all();
}
CASE(hang_set)
{
    long *sync = new_sync();
    if (me == 0)
        await_go();
    if (me < 2)
        shmem_barrier(0, 0, 2, sync);
}
