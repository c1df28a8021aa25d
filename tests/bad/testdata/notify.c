/*
 * notify.c: notification counters that do not exist, or that the program may not use.
 */
#include "cases.h"

#include <shmemx.h>

#define NEXT ((me + 1) % n)

CASE(put_counter)
{
    shmemx_putmem_notify(block, block, 8, 4096, NEXT);
}
CASE(put_negative)
{
    shmemx_putmem_notify_nbi(block, block, 8, -1, NEXT);
}
CASE(put_few)
{
    shmemx_putmem_notify(block, block, 8, 8, NEXT);
}
CASE(put_wrong_pe)
{
    shmemx_putmem_notify(block, block, 8, 0, n);
}
CASE(put_private)
{
    shmemx_putmem_notify(here, block, 8, 0, NEXT);
}
CASE(put_null_source)
{
    shmemx_putmem_notify(block, NULL, 8, 0, NEXT);
}
CASE(put_unallocated)
{
    int range = shmemx_notify_alloc(3);
    shmemx_putmem_notify(block, block, 8, range + 3, NEXT);
}
CASE(put_freed)
{
    int range = shmemx_notify_alloc(3);
    shmemx_notify_free(range);
    shmemx_putmem_notify(block, block, 8, range, NEXT);
}
CASE(put_before_alloc)
{
    shmemx_putmem_notify(block, block, 8, 17, NEXT);
    shmemx_notify_wait(17, 1);
    shmem_barrier_all();
    fprintf(stderr, "PE %d went on\n", me);
}
CASE(wait_counter)
{
    shmemx_notify_wait(4096, 1);
}
CASE(wait_overflow)
{
    shmemx_notify_wait(0, (uint64_t)1 << 63);
}
CASE(test_overflow)
{
    shmemx_notify_test(0, UINT64_MAX);
}
CASE(fetch_counter)
{
    shmemx_notify_fetch(-7);
}
CASE(reset_counter)
{
    shmemx_notify_reset(5000, 1);
}
CASE(reset_overflow)
{
    shmemx_notify_reset(0, (uint64_t)1 << 63);
}
CASE(alloc_none)
{
    shmemx_notify_alloc(0);
}
CASE(alloc_differs)
{
    shmemx_notify_alloc(1 + me);
}
CASE(free_inside)
{
    shmemx_notify_free(shmemx_notify_alloc(3) + 1);
}
CASE(free_differs)
{
    shmemx_notify_alloc(3);
    shmemx_notify_alloc(3);
    shmemx_notify_free(3 * me);
}
CASE(free_twice)
{
    int range = shmemx_notify_alloc(3);
    shmemx_notify_free(range);
    shmemx_notify_free(range);
}
CASE(stream_counter)
{
    shmemx_putmem_notify_on_stream(block, block, 8, 4096, 0, NULL);
}
CASE(stream_null_source)
{
    shmemx_putmem_notify_nbi_on_stream(block, NULL, 8, 1, 0, NULL);
}
CASE(stream_wrong_pe)
{
    shmemx_putmem_notify_on_stream(NULL, NULL, 0, 1, -1, NULL);
}
CASE(stream_overflow)
{
    shmemx_notify_wait_on_stream(3, (uint64_t)1 << 63, NULL);
}
CASE(stream_reset)
{
    shmemx_notify_reset_on_stream(-1, 0, NULL);
}
CASE(stream_unallocated)
{
    int range = shmemx_notify_alloc(2);
    shmemx_notify_wait_on_stream(range + 2, 0, NULL);
}
CASE(after_finalize)
{
    shmem_finalize();
    shmemx_putmem_notify(block, block, 8, 0, 0);
}
CASE(wait_after_finalize)
{
    shmem_finalize();
    shmemx_notify_wait(0, 0);
}
CASE(hang)
{
    if (me == 1) {
        await_go();
        shmemx_putmem_notify(block, block, 8, 3, 0);
    } else {
        shmemx_notify_wait(3, 1);
    }
}
CASE(nothing)
{
}
