/*
 * caller.c: what the Python package and the library know of each other.
 *
 * The package raises exceptions where C returns a status, so it asks for the causes, and
 * reports name the line of Python below the C call. The package is asked for that line when a
 * report is made, by the thread that made the call: a call itself pays nothing for it.
 */
#include "caller.h"

#include <stdio.h>

/* Every name is for python/shmem. */
#pragma GCC visibility push(default)
void shmemi_set_caller(void (*name)(char *text, size_t size));
int shmemi_heap_use(uint64_t use[3]);
#pragma GCC visibility pop

static void (*namer)(char *text, size_t size);

/* NULL: the interpreter ends, and nothing can be asked any more. */
void shmemi_set_caller(void (*name)(char *text, size_t size))
{
    __atomic_store_n(&namer, name, __ATOMIC_RELEASE);
}

bool shmemi_host_language_raises(void)
{
    return __atomic_load_n(&namer, __ATOMIC_ACQUIRE) != NULL;
}

const char *shmemi_caller(char text[SHMEMI_CALLER])
{
    void (*name)(char *, size_t) = __atomic_load_n(&namer, __ATOMIC_ACQUIRE);
    text[0] = 0;
    if (name == NULL)
        return text;
    name(text, SHMEMI_CALLER - 2);
    size_t n = strnlen(text, SHMEMI_CALLER - 3);
    memcpy(text + n, n ? ": " : "", n ? 3 : 1);
    return text;
}

/* The bytes of the user heap, those that are free, and those of the largest free block; -1
 * where there is no heap. */
int shmemi_heap_use(uint64_t use[3])
{
    const struct shmemi_live *l = shmemi_state.live;
    if (shmemi_state.n_pes == 0)
        return -1;
    use[0] = __atomic_load_n(&l->heap_size, __ATOMIC_RELAXED);
    use[1] = use[0] - __atomic_load_n(&l->heap_used, __ATOMIC_RELAXED);
    use[2] = __atomic_load_n(&l->heap_largest, __ATOMIC_RELAXED);
    return 0;
}
