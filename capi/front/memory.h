/* memory.h: the symmetric heap's collective calls. */
#ifndef SHMEMI_MEMORY_H
#define SHMEMI_MEMORY_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Each implements the shmem call of its name: all PEs call it with the same arguments. Those that
 * allocate return NULL on all PEs if any has no memory, if size is 0, or after the loss of a PE.
 * The library itself calls them, too. */
void *shmemi_malloc(size_t size, const char *call);
void *shmemi_calloc(size_t count, size_t size, const char *call);
void *shmemi_align(size_t alignment, size_t size, const char *call);
void *shmemi_realloc(void *ptr, size_t size, const char *call);
void shmemi_free(void *ptr, const char *call);
void *shmemi_malloc_with_hints(size_t size, long hints, const char *call);

#pragma GCC visibility pop

#endif
