/*
 * eager_slots.c: where slots of eager transfers are, and the host's paths to them.
 */
#include "eager_slots.h"

#include "address.h"
#include "error.h"
#include "front.h"
#include "gpu.h"

#include <shmem/eager_layout.h>

#include <inttypes.h>

/* Returns the address of one of this PE's slots, each of which holds one token of an eager
 * transfer. Ends the job if the structure or the number is invalid. */
char *shmemi_eager_place(const shmemx_eager_t *e, uint32_t slot, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (e == NULL || e->slots == NULL || !shmemi_eager_tile_valid(e->tile))
        shmemi_abort(call, "pass the handle from shmemx_eager_create",
                     "eager does not come from shmemx_eager_create");
    if (slot >= e->count)
        shmemi_abort(call, "use 0 to count - 1",
                     "slot %" PRIu32 " does not exist, there are %" PRIu32, slot, e->count);
    char *at = (char *)e->slots + (size_t)slot * e->stride;
    if (!shmemi_in_heap(at, e->stride) || e->stride != shmemi_eager_stride(e->nbytes, e->tile))
        shmemi_abort(call, "pass the handle from shmemx_eager_create, before shmemx_eager_destroy",
                     "slot %" PRIu32 " at %p is not in the symmetric heap", slot, (void *)at);
    if (e->tile == SHMEMI_EAGER_NOTIFY &&
        (uint64_t)e->counter + slot >= shmemi_state.eager_counters)
        shmemi_abort(call, "pass the handle from shmemx_eager_create",
                     "slot %" PRIu32 " at %p has no counter", slot, (void *)at);
    return at;
}

/* Reports whether this PE's CPU reaches a PE only over the network. If the job uses GPUs, it also
 * reaches PEs of the node whose heap in GPU memory this process has mapped. */
bool shmemi_eager_is_far(int pe)
{
    const struct shmemi_state *s = &shmemi_state;
    return s->near_base[pe] == NULL && (!s->gpu || s->mapped_base[pe] == NULL);
}

/* Returns the largest tile (piece of a token that becomes visible all at once) on the path from
 * this PE's CPU to a PE. */
int shmemi_eager_host_tile(int pe)
{
    const struct shmemi_state *s = &shmemi_state;
    if (s->near_base[pe] != NULL)
        return SHMEMI_EAGER_BLOCK;
    return shmemi_eager_is_far(pe) && !s->gpu ? s->net_tiles[pe] : SHMEMI_EAGER_NONE;
}

/* Reports whether kernels of this PE store into a PE's memory themselves: it is this PE's own, or
 * memory of a GPU that this process has mapped. */
bool shmemi_eager_is_direct(int pe)
{
    const struct shmemi_state *s = &shmemi_state;
    return pe == s->my_pe || (s->p2p && s->mapped_base[pe] != NULL && s->near_base[pe] == NULL);
}

/* Returns the largest tile (piece of a token that becomes visible all at once) on the path from
 * this PE's kernels to a PE. Kernels store signals with release, as the host does. To PEs that they
 * cannot store to, the proxy writes a token from the memory of the GPU by one write, if the network
 * makes a tile visible all at once. */
int shmemi_eager_kernels_tile(int pe)
{
    const struct shmemi_state *s = &shmemi_state;
    if (shmemi_eager_is_direct(pe))
        return SHMEMI_EAGER_BLOCK;
    return s->net_tiles != NULL ? s->net_tiles[pe] : SHMEMI_EAGER_NONE;
}

/* Reports whether slots are in the memory of a GPU, where the host reads and sends no tiles. */
bool shmemi_eager_on_gpu(void)
{
    return shmemi_state.gpu && shmemi_heap_on_gpu();
}

/* Reports whether this PE's CPU sends tokens over a network to any PE. */
bool shmemi_eager_goes_far(void)
{
    if (shmemi_eager_on_gpu())
        return false; /* kernels send the tokens */
    for (uint32_t pe = 0; pe < shmemi_state.n_pes; pe++)
        if (shmemi_eager_is_far((int)pe))
            return true;
    return false;
}
