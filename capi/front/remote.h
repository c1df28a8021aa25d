/*
 * remote.h: operations on PEs of other nodes, by offset from the user heap (address.h). The
 * arguments are trusted; the public functions check theirs first.
 */
#ifndef SHMEMI_REMOTE_H
#define SHMEMI_REMOTE_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* False: it failed, and the thread has been told. */
bool shmemi_net_put(shmem_ctx_t ctx, int pe, int64_t offset, const void *source, size_t n, bool nbi,
                    const char *call);
bool shmemi_net_get(shmem_ctx_t ctx, int pe, int64_t offset, void *dest, size_t n, bool nbi,
                    const char *call);
bool shmemi_net_put_signal(shmem_ctx_t ctx, int pe, int64_t offset, const void *source, size_t n,
                           int64_t signal_offset, uint64_t signal, int op, bool nbi,
                           const char *call);
/* Halves of puts and a get of at most net_chunk bytes, for callers that have several under way:
 * true when the operation has to be finished before source may be reused, or dest be read. */
bool shmemi_net_put_start(shmem_ctx_t ctx, int pe, int64_t offset, const void *source, size_t n,
                          struct shmemi_request *r, const char *call);
bool shmemi_net_put_signal_start(shmem_ctx_t ctx, int pe, int64_t offset, const void *source,
                                 size_t n, int64_t signal_offset, uint64_t signal, int op,
                                 struct shmemi_request *r, const char *call);
bool shmemi_net_get_start(shmem_ctx_t ctx, int pe, int64_t offset, void *dest, size_t n,
                          struct shmemi_request *r, const char *call);
void shmemi_net_finish(struct shmemi_request *r, int pe, const char *call);
/* The slow halves of front.h: the peer is far, or the request is wrong. */
void shmemi_put_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                     const char *call);
void shmemi_put_nbi_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                         const char *call);
void shmemi_get_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                     const char *call);
void shmemi_get_nbi_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                         const char *call);
void shmemi_put_signal_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n,
                            uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, bool nbi,
                            const char *call);
uint64_t shmemi_amo_slow(shmem_ctx_t ctx, enum shmemi_amo op, int width, void *dest,
                         uint64_t operand, uint64_t compare, int pe, const char *call);
void shmemi_amo_nbi_slow(shmem_ctx_t ctx, enum shmemi_amo op, int width, void *fetch, void *dest,
                         uint64_t operand, uint64_t compare, int pe, const char *call);

/* Reports whether op writes: a fetch needs to wake no thread. */
SHMEMI_INLINE bool shmemi_amo_writes(enum shmemi_amo op)
{
    return op != SHMEMI_AMO_FETCH;
}

/* The library's own messages: no quiet of the program waits for them, unless the source may not be
 * reused when the call returns. */
void shmemi_net_set(int pe, int64_t offset, uint64_t value, const char *call);
void shmemi_net_apply(int pe, int64_t offset, enum shmemi_amo op, uint64_t value, const char *call);
void shmemi_net_set_with(int pe, int64_t offset, const void *source, size_t n, int64_t count_offset,
                         uint64_t count, const char *call);

/* The heap offset of n bytes at PE pe. Ends the program if they are not symmetric there, or if
 * `local`, which `what` names, is NULL. */
int64_t shmemi_check_target(const void *addr, size_t n, const void *local, int pe, const char *what,
                            const char *call);

#pragma GCC visibility pop

#endif
