/* agree.c: a reduction, and a broadcast. */
#include "agree.h"

#include "symmetric.h"

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operands of collectives, which are symmetric memory. */
static int *failed; /* this PE if it has an error, else n_pes */
/* The least of all PEs, of this call and of the one before in turns: another PE may begin the next
 * call before this PE has read its word of this one. No PE begins the call after that, because the
 * next one needs this PE. */
static int *firsts;
static unsigned char *mine, *theirs; /* the bytes of this PE, and those of PE 0 */

void agree_init(void)
{
    struct symmetric heap = {0};
    failed = symmetric_alloc(&heap, sizeof *failed);
    firsts = symmetric_alloc(&heap, 2 * sizeof *firsts);
    mine = symmetric_alloc(&heap, AGREE_SAME_BYTES);
    theirs = symmetric_alloc(&heap, AGREE_SAME_BYTES);
    if (!heap.full)
        return;
    /* Without this memory there is no agreement, but also no need of one: an
     * allocation fails on all PEs or on none. */
    if (shmem_my_pe() == 0) {
        fprintf(stderr,
                "reshard: allocate %zu bytes: the symmetric heap is too small"
                " (set SHMEM_SYMMETRIC_SIZE, for example to 64m)\n",
                heap.nbytes);
        shmem_global_exit(EXIT_FAILURE);
    }
    shmem_barrier_all();
}

void agree(const char *error)
{
    static int calls;
    int me = shmem_my_pe(), n_pes = shmem_n_pes(), *first = &firsts[calls++ % 2];
    *failed = error ? me : n_pes;
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, first, failed, 1);
    if (*first == n_pes)
        return;
    if (*first == me) {
        fflush(stdout); /* shmem_global_exit may leave this out */
        fprintf(stderr, "reshard: PE %d: %s\n", me, error);
        shmem_global_exit(EXIT_FAILURE);
    }
    /* The PE that has the message ends the job. Until then the others wait, because a second PE
     * that ends it might be faster than the message. */
    shmem_barrier_all();
}

bool agree_same(const unsigned char bytes[AGREE_SAME_BYTES])
{
    memcpy(mine, bytes, AGREE_SAME_BYTES);
    shmem_broadcastmem(SHMEM_TEAM_WORLD, theirs, mine, AGREE_SAME_BYTES, 0);
    return shmem_my_pe() == 0 || memcmp(bytes, theirs, AGREE_SAME_BYTES) == 0;
}
