/*
 * messages.c: as bad.c, for the names in messages: failed allocations, the arguments of collect,
 * and statics.
 */
#include "cases.h"

static long counter;
static long flags[8];

CASE(malloc_too_large)
{
    if (shmem_malloc((size_t)9 << 40) == NULL && shmem_calloc(3, (size_t)5 << 40) == NULL &&
        me == 0)
        puts("went on");
}
CASE(realloc_too_large)
{
    long *large = shmem_realloc(block, (size_t)9 << 40);
    if (large == NULL && me == 0)
        puts("went on");
}
CASE(use_failed)
{
    long *large = shmem_malloc((size_t)9 << 40);
    shmem_long_p(large, 1, (me + 1) % n);
}
CASE(broadcast_failed)
{
    long *large = shmem_malloc((size_t)9 << 40);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, large, block, 1, 0);
}
CASE(wait_failed)
{
    long *large = shmem_malloc((size_t)9 << 40);
    shmem_long_wait_until(large, SHMEM_CMP_EQ, 1);
}
/* The last PE contributes no elements, and has no room for those of the others. */
CASE(collect_null)
{
    int last = me == n - 1;
    shmem_long_collect(SHMEM_TEAM_WORLD, last ? NULL : block, block + 5, last ? 0 : 2);
}
CASE(collect_private)
{
    int last = me == n - 1;
    shmem_long_collect(SHMEM_TEAM_WORLD, last ? here : block, block + 5, last ? 0 : 2);
}
/* No PE contributes elements, so there is no mistake. */
CASE(collect_nothing)
{
    if (shmem_long_collect(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0 && me == 0)
        puts("went on");
}
/* In a heap of 1 MiB: dest ends where the heap does, and the last of two PEs contributes no
 * elements, so that its share begins behind the heap. */
CASE(collect_to_the_end)
{
    char *source = shmem_malloc((size_t)600 << 10), *dest = NULL;
    size_t rest = (size_t)424 << 10;
    for (; dest == NULL; rest -= 64)
        dest = shmem_malloc(rest);
    rest += 64;
    if (shmem_collectmem(SHMEM_TEAM_WORLD, dest, source, me == 0 ? rest : 0) == 0 && me == 0)
        puts("went on");
}
CASE(hang_static)
{
    if (me == 0)
        shmem_long_wait_until(&flags[2], SHMEM_CMP_EQ, 5);
    await_go();
    shmem_long_p(&flags[2], 5, 0);
}
CASE(hang_global)
{
    if (me == 0)
        shmem_long_wait_until(&counter, SHMEM_CMP_EQ, 5);
    await_go();
    shmem_long_p(&counter, 5, 0);
}
CASE(put_static)
{
    shmem_long_put(flags, here, 1, (me + 1) % n);
}
CASE(put_static_past_end)
{
    shmem_long_put(flags, block, 1 << 20, (me + 1) % n);
}
