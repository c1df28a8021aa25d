/*
 * eager.c: as api.c, for eager transfers.
 */
#include "cases.h"

#include <shmemx.h>

static shmemx_eager_t slots_of(size_t nbytes)
{
    shmemx_eager_t e;
    if (shmemx_eager_create(nbytes, 4, SHMEMX_EAGER_BEST, &e) != 0)
        exit(1);
    return e;
}
CASE(eager_no_bytes)
{
    shmemx_eager_t e;
    shmemx_eager_create(0, 4, SHMEMX_EAGER_BEST, &e);
}
CASE(eager_too_large)
{
    shmemx_eager_size(((size_t)1 << 30) + 1, SHMEMX_EAGER_LINE);
}
CASE(eager_no_slots)
{
    shmemx_eager_t e;
    shmemx_eager_create(64, 0, SHMEMX_EAGER_BEST, &e);
}
CASE(eager_no_tile)
{
    shmemx_eager_size(64, 64);
}
CASE(eager_best_size)
{
    shmemx_eager_size(64, SHMEMX_EAGER_BEST);
}
CASE(eager_no_place)
{
    shmemx_eager_create(64, 4, SHMEMX_EAGER_BEST, NULL);
}
CASE(eager_sizes_differ)
{
    slots_of(64 + (size_t)me);
}
CASE(eager_counts_differ)
{
    shmemx_eager_t e;
    shmemx_eager_create(64, 4 + (size_t)me, SHMEMX_EAGER_BEST, &e);
}
CASE(eager_tiles_differ)
{
    shmemx_eager_t e;
    shmemx_eager_create(64, 4, me == 0 ? SHMEMX_EAGER_NONE : SHMEMX_EAGER_BEST, &e);
}
CASE(eager_wrong_pe)
{
    shmemx_eager_t e = slots_of(64);
    shmemx_eager_send(&e, 0, block, 1, n);
}
CASE(eager_tile_wrong_pe)
{
    shmemx_eager_tile(-1);
}
CASE(put_ordered_wrong_pe)
{
    shmemx_put_ordered(n);
}
CASE(eager_no_source)
{
    shmemx_eager_t e = slots_of(64);
    shmemx_eager_send(&e, 0, NULL, 1, 0);
}
CASE(eager_no_dest)
{
    shmemx_eager_t e = slots_of(64);
    shmemx_eager_recv(&e, 0, NULL, 1);
}
CASE(eager_no_slot)
{
    shmemx_eager_t e = slots_of(64);
    shmemx_eager_send(&e, 4, block, 1, 0);
}
CASE(eager_no_eager)
{
    shmemx_eager_ready(NULL, 0, 1);
}
CASE(eager_destroyed)
{
    shmemx_eager_t e = slots_of(64);
    shmemx_eager_destroy(&e);
    shmemx_eager_ready(&e, 0, 1);
}
CASE(eager_copy_of_destroyed)
{
    shmemx_eager_t e = slots_of(64), copy = e;
    copy.slots = block - 1000000000;
    shmemx_eager_wait(&copy, 0, 1);
}
/* A token of a tile that is kept within the node and not by the network. */
CASE(eager_not_kept)
{
    shmemx_eager_t e = slots_of(4);
    e.tile = SHMEMX_EAGER_PACKET;
    shmemx_eager_send(&e, 0, block, 1, 1 - me);
}
CASE(eager_skipped)
{
    shmemx_eager_t e = slots_of(64);
    shmemx_eager_wait(&e, 2, 2);
}
CASE(eager_overrun)
{
    shmemx_eager_t e = slots_of(64);
    shmemx_eager_send(&e, 1, block, 1, me);
    shmemx_eager_send(&e, 1, block, 2, me);
    shmemx_eager_recv(&e, 1, here, 1);
}
CASE(eager_other_size)
{
    shmemx_eager_t e = slots_of(64), other = e;
    other.nbytes = 63;
    shmemx_eager_send(&e, 3, block, 1, me);
    shmemx_eager_wait(&other, 3, 1);
}
/* Slots whose tokens count. */
static shmemx_eager_t counted_of(size_t nbytes)
{
    shmemx_eager_t e;
    if (shmemx_eager_create(nbytes, 4, SHMEMX_EAGER_NOTIFY, &e) != 0)
        exit(1);
    return e;
}
CASE(eager_counted_skips)
{
    shmemx_eager_t e = counted_of(64);
    shmemx_eager_wait(&e, 2, 2);
}
/* The second token of the slot is numbered 3. */
CASE(eager_counted_number)
{
    shmemx_eager_t e = counted_of(64);
    shmemx_eager_send(&e, 1, block, 1, 1 - me);
    shmemx_eager_recv(&e, 1, here, 1);
    shmem_barrier_all();
    shmemx_eager_send(&e, 1, block, 3, 1 - me);
    shmemx_eager_recv(&e, 1, here, 2);
}
/* And here it is numbered 1 again. */
CASE(eager_counted_twice)
{
    shmemx_eager_t e = counted_of(64);
    shmemx_eager_send(&e, 1, block, 1, 1 - me);
    shmemx_eager_recv(&e, 1, here, 1);
    shmem_barrier_all();
    shmemx_eager_send(&e, 1, block, 1, 1 - me);
    shmemx_eager_recv(&e, 1, here, 2);
}
CASE(eager_counted_overrun)
{
    shmemx_eager_t e = counted_of(64);
    shmemx_eager_send(&e, 1, block, 1, 1 - me);
    shmemx_eager_send(&e, 1, block, 2, 1 - me);
    shmem_barrier_all();
    shmemx_eager_recv(&e, 1, here, 1);
}
CASE(eager_counted_size)
{
    shmemx_eager_t e = counted_of(64), other = e;
    other.nbytes = 63;
    shmemx_eager_send(&e, 3, block, 1, 1 - me);
    shmemx_eager_wait(&other, 3, 1);
}
CASE(eager_counted_nowhere)
{
    shmemx_eager_t e = counted_of(64);
    e.counter = 4095;
    shmemx_eager_send(&e, 3, block, 1, 1 - me);
}
/* A token that is a write of a network, in the layout that the network serves best. */
CASE(eager_network_number)
{
    static char token[5000], room[5000];
    shmemx_eager_t e = slots_of(sizeof token);
    printf("the tile is %u\n", e.tile);
    fflush(stdout);
    shmemx_eager_send(&e, 1, token, 1, 1 - me);
    shmemx_eager_recv(&e, 1, room, 1);
    shmem_barrier_all();
    shmemx_eager_send_nbi(&e, 1, token, 3, 1 - me);
    shmemx_eager_recv(&e, 1, room, 2);
}
/* The token comes when the test has read the report of the wait. */
CASE(hang_eager)
{
    shmemx_eager_t e = slots_of(64);
    if (me == 1) {
        await_go();
        shmemx_eager_send(&e, 0, block, 1, 0);
    } else {
        shmemx_eager_wait(&e, 0, 1);
    }
    shmemx_eager_destroy(&e);
}
