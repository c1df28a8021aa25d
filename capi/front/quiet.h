/*
 * quiet.h: fence and quiet when the thread's own memory fence does not suffice (slow halves);
 * front.h checks whether it does.
 */
#ifndef SHMEMI_QUIET_H
#define SHMEMI_QUIET_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Orders the context's later operations after its earlier ones: waits for copies of the GPU driver,
 * and calls the engine for operations on the network. */
void shmemi_fence_slow(shmem_ctx_t ctx, const char *call);
/* Waits for copies of the GPU driver, operations of kernels (default context only), and the
 * context's operations on the network. */
void shmemi_quiet_slow(shmem_ctx_t ctx, const char *call);
/* Performs a fence that a profiler shows as a range. */
void shmemi_fence_ranged(shmem_ctx_t ctx, const char *call);
/* Performs a quiet that a profiler shows as a range. */
void shmemi_quiet_ranged(shmem_ctx_t ctx, const char *call);
/* Implements shmem_pe_quiet, which waits for operations to one PE. */
void shmemi_pe_quiet(shmem_ctx_t ctx, int pe, const char *call);

#pragma GCC visibility pop

#endif
