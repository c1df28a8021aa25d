/*
 * remote.h: operations on PEs of other nodes, by heap offset. Offsets below 0
 * reach the internal area. The arguments are trusted; the public functions
 * check theirs first.
 */
#ifndef SHMEMI_REMOTE_H
#define SHMEMI_REMOTE_H

#include "wait.h"

#pragma GCC visibility push(hidden)

void shmemi_net_put(int pe, int64_t offset, const void *source, size_t n, bool nbi,
                    const char *call);
void shmemi_net_get(int pe, int64_t offset, void *dest, size_t n, bool nbi, const char *call);
void shmemi_net_put_signal(int pe, int64_t offset, const void *source, size_t n,
                           int64_t signal_offset, uint64_t signal, int op, bool nbi,
                           const char *call);
void shmemi_net_set(int pe, int64_t offset, uint64_t value, const char *call);

void shmemi_refuse_uninitialised(const char *call) __attribute__((noreturn));

#pragma GCC visibility pop

#endif
