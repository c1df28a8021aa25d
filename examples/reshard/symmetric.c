/* symmetric.c: one allocator call, and the sum. */
#include "symmetric.h"

#include <shmem.h>
#include <string.h>

enum { CACHE_LINE = 64 };

void *symmetric_alloc(struct symmetric *s, size_t nbytes)
{
    /* For 0 bytes shmem_malloc returns NULL, which would look like a full heap. */
    size_t rounded = (nbytes / CACHE_LINE + 1) * CACHE_LINE;
    s->nbytes += rounded;
    void *p = shmem_malloc(rounded);
    if (!p) {
        s->full = true;
        return NULL;
    }
    memset(p, 0, rounded);
    /* shmem_malloc ends with a barrier, but the zeros come after it: without one more, a fast PE's
     * first put could be wiped out by them. shmem_calloc has to do both in this order; Open MPI
     * 4.1's does not. */
    shmem_barrier_all();
    return p;
}

size_t symmetric_need_mib(const struct symmetric *s)
{
    /* Rounded up, and one more for the data of the library's allocator. */
    return (s->nbytes >> 20) + 2;
}
