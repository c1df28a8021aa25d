/*
 * quiet.h: the slow halves of fence and quiet; front.h checks whether they are needed.
 */
#ifndef SHMEMI_QUIET_H
#define SHMEMI_QUIET_H

#include "base.h"

#pragma GCC visibility push(hidden)

void shmemi_fence_slow(shmem_ctx_t ctx, const char *call);
void shmemi_quiet_slow(shmem_ctx_t ctx, const char *call);
/* A fence that a profiler sees as a range. */
void shmemi_fence_ranged(shmem_ctx_t ctx, const char *call);
void shmemi_quiet_ranged(shmem_ctx_t ctx, const char *call);
void shmemi_pe_quiet(shmem_ctx_t ctx, int pe, const char *call);

#pragma GCC visibility pop

#endif
