/*
 * order.h: fences and quiets that the order of this processor's stores does not make. front.h
 * looks whether one is needed.
 */
#ifndef SHMEMI_ORDER_H
#define SHMEMI_ORDER_H

#include "base.h"

#pragma GCC visibility push(hidden)

void shmemi_fence_slow(shmem_ctx_t ctx, const char *call);
void shmemi_quiet_slow(shmem_ctx_t ctx, const char *call);
void shmemi_pe_quiet(shmem_ctx_t ctx, int pe, const char *call);

#pragma GCC visibility pop

#endif
