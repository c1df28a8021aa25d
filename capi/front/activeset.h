/*
 * activeset.h: implements the collectives on active sets.
 */
#ifndef SHMEMI_ACTIVESET_H
#define SHMEMI_ACTIVESET_H

#include "base.h"
#include "below.h"

#pragma GCC visibility push(hidden)

/* In each of these calls the set has the PEs start + i * 2^log_stride, for i below size, and psync
 * is the program's array for the set's messages (activeset_messages.h). A wrong argument ends the
 * job; the loss of a PE fails the call (failure.h). */
void shmemi_activeset_barrier(int start, int log_stride, int size, long *psync, const char *call);
void shmemi_activeset_sync(int start, int log_stride, int size, long *psync, const char *call);
void shmemi_activeset_broadcast(void *dest, const void *source, size_t nbytes, int root, int start,
                                int log_stride, int size, long *psync, const char *call);
void shmemi_activeset_collect(void *dest, const void *source, size_t nbytes, int start,
                              int log_stride, int size, long *psync, const char *call);
void shmemi_activeset_fcollect(void *dest, const void *source, size_t nbytes, int start,
                               int log_stride, int size, long *psync, const char *call);
void shmemi_activeset_alltoall(void *dest, const void *source, size_t nbytes, int start,
                               int log_stride, int size, long *psync, const char *call);
void shmemi_activeset_alltoalls(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                size_t nelems, size_t width, int start, int log_stride, int size,
                                long *psync, const char *call);
void shmemi_activeset_reduce(void *dest, const void *source, int nreduce, int start, int log_stride,
                             int size, void *pwrk, long *psync,
                             const struct shmemi_reducer *reducer, const char *call);

#pragma GCC visibility pop

#endif
