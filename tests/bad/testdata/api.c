/*
 * api.c: as bad.c, for the later families: makes one call that cannot be served.
 */
#include "cases.h"

CASE(wait_any_comparison)
{
    shmem_long_wait_until_any(block, 10, NULL, -1, 0);
}
CASE(wait_any_private)
{
    shmem_long_wait_until_any(here, 2, NULL, SHMEM_CMP_EQ, 1);
}
CASE(wait_all_overflow)
{
    shmem_long_wait_until_all(block, SIZE_MAX / 4, NULL, SHMEM_CMP_EQ, 0);
}
CASE(wait_some_no_indices)
{
    shmem_long_wait_until_some(block, 10, NULL, NULL, SHMEM_CMP_EQ, 0);
}
CASE(test_all_no_values)
{
    shmem_long_test_all_vector(block, 10, NULL, SHMEM_CMP_EQ, NULL);
}
CASE(test_any_past_block)
{
    shmem_long_test_any(block, 11, NULL, SHMEM_CMP_EQ, 0);
}
CASE(test_any_misaligned)
{
    shmem_long_test_any((long *)((char *)block + 4), 2, NULL, SHMEM_CMP_EQ, 0);
}
CASE(test_some_overlap)
{
    shmem_long_test_some(block, 5, (size_t *)block + 4, NULL, SHMEM_CMP_EQ, 0);
}
CASE(hang_all)
{
    const int status[4] = {0, 0, 1, 0};
    if (me == 1) {
        await_go();
        shmem_long_p(block + 3, 5, 0);
    } else {
        block[0] = block[1] = 5;
        shmem_long_wait_until_all(block, 4, status, SHMEM_CMP_EQ, 5);
    }
}

CASE(iput_stride_zero)
{
    shmem_long_iput(block, block, 0, 1, 2, 0);
}
CASE(iget_stride_negative)
{
    shmem_long_iget(here, block, 1, -1, 2, (me + 1) % n);
}
CASE(iput_wrong_pe)
{
    shmem_long_iput(block, here, 1, 1, 2, n);
}
CASE(iput_wrong_pe_of_nothing)
{
    shmem_long_iput(block, here, 1, 1, 0, -1);
}
CASE(iput_overflow)
{
    shmem_long_iput(block, here, PTRDIFF_MAX, 1, 3, 0);
}
CASE(iput_overflow_to_little)
{
    /* A stride of 2^61 elements of 8 bytes: 2^64 bytes, or 0. */
    shmem_long_iput(block, here, (ptrdiff_t)1 << 61, 1, 2, 0);
}
CASE(ibput_overflow_of_blocks)
{
    shmem_long_ibput(block, here, 1, 1, SIZE_MAX / 8 + 2, 2, 0);
}
CASE(iget_private)
{
    shmem_iget64(here, here, 1, 1, 2, 0);
}
CASE(iput_null_source)
{
    shmem_long_iput(block, NULL, 2, 1, 2, (me + 1) % n);
}
CASE(iget_null_dest)
{
    shmem_long_iget(NULL, block, 2, 1, 2, (me + 1) % n);
}
CASE(ibget_past_block)
{
    shmem_long_ibget(here, block, 2, 5, 2, 3, 0);
}

CASE(lock_twice)
{
    shmem_set_lock(block + me);
    shmem_set_lock(block + me);
}
CASE(clear_free_lock)
{
    shmem_clear_lock(block);
}
CASE(clear_other_lock)
{
    if (me == 0)
        shmem_set_lock(block);
    shmem_barrier_all();
    if (me == 1)
        shmem_clear_lock(block);
    shmem_barrier_all();
}
CASE(lock_private)
{
    shmem_set_lock(here);
}
CASE(amo_misaligned)
{
    shmem_long_atomic_add((long *)((char *)block + 3), 1, (me + 1) % n);
}
CASE(fetch32_misaligned)
{
    here[0] = shmem_int_atomic_fetch((int *)((char *)block + 6), (me + 1) % n);
}
CASE(fetch_nbi_misaligned)
{
    shmem_long_atomic_fetch_nbi(here, (long *)((char *)block + 4), (me + 1) % n);
}
CASE(signal_misaligned)
{
    uint64_t *sig = (uint64_t *)((char *)block + 4);
    shmem_long_put_signal(block + 2, here, 1, sig, 1, SHMEM_SIGNAL_SET, (me + 1) % n);
}
CASE(lock_misaligned)
{
    shmem_test_lock((long *)((char *)block + 4));
}
CASE(lock_freed)
{
    shmem_free(block);
    shmem_test_lock(block);
}
CASE(hang_lock)
{
    if (me == 0)
        shmem_set_lock(block);
    shmem_barrier_all();
    if (me == 0)
        await_go();
    else
        shmem_set_lock(block);
    shmem_clear_lock(block);
}

static shmem_team_t everyone(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
    return team;
}

CASE(team_destroyed)
{
    shmem_team_t team = everyone();
    shmem_team_destroy(team);
    shmem_team_t other = everyone();
    (void)other;
    shmem_team_sync(team);
}
CASE(team_destroy_world)
{
    shmem_team_destroy(SHMEM_TEAM_WORLD);
}
CASE(team_destroy_shared)
{
    shmem_team_destroy(SHMEM_TEAM_SHARED);
}
CASE(team_arguments_differ)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1 + me, NULL, 0, &team);
}
CASE(team_mask)
{
    shmem_team_t team;
    shmem_team_config_t config = {0};
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, 6, &team);
}
CASE(team_no_config)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, SHMEM_TEAM_NUM_CONTEXTS, &team);
}
CASE(team_no_place)
{
    shmem_team_t team;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &team, NULL, 0, NULL);
}
CASE(team_root)
{
    shmem_long_broadcast(everyone(), block, block + 5, 1, -1);
}
CASE(collect_past_end)
{
    shmem_long_collect(SHMEM_TEAM_WORLD, block, block, (size_t)1 << 40);
}
CASE(collect_past_block)
{
    shmem_long_collect(SHMEM_TEAM_WORLD, block, block + 2 + me, 6);
}
CASE(alltoalls_stride)
{
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, block, block, 1, 0, 1);
}
CASE(alltoalls_overflow)
{
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, block, block, PTRDIFF_MAX, 1, 2);
}
CASE(reduce_overlap)
{
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block, block + 1, 2);
}
CASE(scan_overlap)
{
    shmem_long_sum_inscan(SHMEM_TEAM_WORLD, block + 1, block, 2);
}
CASE(fcollect_overlap)
{
    shmem_long_fcollect(SHMEM_TEAM_WORLD, block, block + 1, 2);
}
CASE(alltoall_overlap)
{
    shmem_long_alltoall(SHMEM_TEAM_WORLD, block, block, 1);
}
CASE(hang_team)
{
    shmem_team_t team = everyone();
    if (me == 0)
        await_go();
    shmem_team_sync(team);
}

CASE(quiet_wrong_pe)
{
    shmem_pe_quiet(n);
}
