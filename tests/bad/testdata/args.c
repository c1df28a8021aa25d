/*
 * args.c: as bad.c, for mistakes that only SHMEM_CHECKS=full finds: memory that was freed, operands
 * in wrong places, and arguments that are not the same on every PE.
 */
#include "cases.h"

static long *freed(void)
{
    shmem_free(block);
    return block;
}

CASE(put_freed)
{
    shmem_long_put(freed(), here, 1, (me + 1) % n);
}
CASE(put_nbi_freed)
{
    shmem_long_put_nbi(freed(), here, 1, (me + 1) % n);
}
CASE(get_freed)
{
    shmem_long_get(here, freed(), 1, (me + 1) % n);
}
CASE(p_freed)
{
    shmem_long_p(freed(), 1, (me + 1) % n);
}
CASE(g_freed)
{
    here[0] = shmem_long_g(freed(), (me + 1) % n);
}
CASE(iput_freed)
{
    shmem_long_iput(freed(), here, 2, 2, 3, (me + 1) % n);
}
CASE(amo_freed)
{
    shmem_long_atomic_inc(freed(), (me + 1) % n);
}
CASE(fetch_nbi_freed)
{
    shmem_long_atomic_fetch_nbi(here, freed(), (me + 1) % n);
}
CASE(signal_freed)
{
    long *data = shmem_malloc(8);
    shmem_long_put_signal(data, here, 1, (uint64_t *)freed(), 1, SHMEM_SIGNAL_SET, (me + 1) % n);
}
CASE(wait_freed)
{
    shmem_long_wait_until(freed(), SHMEM_CMP_EQ, 1);
}
CASE(broadcast_freed)
{
    long *data = shmem_malloc(8);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, freed(), data, 1, 0);
}
CASE(put_past_block)
{
    shmem_long_put(block + 8, here, 3, (me + 1) % n);
}
CASE(get_past_block)
{
    shmem_long_get(here, block + 8, 3, (me + 1) % n);
}

CASE(wait_misaligned)
{
    shmem_int_wait_until((int *)((char *)block + 2), SHMEM_CMP_EQ, 1);
}
CASE(signal_overlap)
{
    shmem_long_put_signal(block, here, 4, (uint64_t *)block + 3, 1, SHMEM_SIGNAL_SET, (me + 1) % n);
}

CASE(broadcast_overlap)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, block, block + 1, 2, 0);
}
CASE(alltoalls_overlap)
{
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, block, block + 1, 1, 1, 1);
}
CASE(collect_overlap)
{
    shmem_long_collect(SHMEM_TEAM_WORLD, block, block + 1, 1);
}

CASE(root_differs)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, block, block + 5, 1, me);
}
CASE(dest_differs)
{
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block + me, block + 5, 1);
}
CASE(source_differs)
{
    shmem_long_fcollect(SHMEM_TEAM_WORLD, block, block + 5 + me, 1);
}
CASE(size_differs)
{
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, block, block + 5, 1 + (size_t)me);
}
CASE(size_differs_by_all)
{
    shmem_long_sum_exscan(SHMEM_TEAM_WORLD, block, block + 5, (size_t)me);
}
CASE(stride_differs)
{
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, block, block + 5, 1 + me, 1, 1);
}
CASE(collect_dest_differs)
{
    shmem_long_collect(SHMEM_TEAM_WORLD, block + me, block + 5, 1);
}
CASE(call_differs)
{
    if (me == 0)
        shmem_long_alltoall(SHMEM_TEAM_WORLD, block, block + 5, 1);
    else
        shmem_long_fcollect(SHMEM_TEAM_WORLD, block, block + 5, 1);
}
CASE(type_differs)
{
    if (me == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block, block + 5, 1);
    else
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, (double *)block, (double *)block + 5, 1);
}
CASE(barrier_differs)
{
    if (me == 0)
        shmem_barrier_all();
    else
        shmem_calloc(1, 8);
}
CASE(team_differs)
{
    shmem_team_t team;
    if (me == 0)
        shmem_sync_all();
    else
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &team);
}
CASE(free_differs)
{
    long *other = shmem_malloc(8);
    shmem_free(me == 0 ? block : other);
}
CASE(realloc_differs)
{
    long *other = shmem_malloc(80);
    block = shmem_realloc(me == 0 ? block : other, 160);
}
