/*
 * remote.h: operations on PEs of other nodes, by offset from the user heap (address.h). The callers
 * of the shmemi_net_ functions have checked the arguments; the slow halves check theirs first.
 */
#ifndef SHMEMI_REMOTE_H
#define SHMEMI_REMOTE_H

#include "base.h"

#pragma GCC visibility push(hidden)

/*
 * The shmemi_net_ functions take an operation whose kind, ctx, pe, offset and call are set, as well
 * as the fields that the kind needs (zz_request.h); they set the other fields.
 *
 * shmemi_net_do performs an operation of any length; with nbi, a later quiet completes it. It
 * returns false if the operation has failed, and with it the call (failure.h).
 */
bool shmemi_net_do(struct shmemi_host_operation *o);
/* Begins a put, with or without signal, or a get, of at most net_chunk bytes, for callers that have
 * several operations under way, each with its request. If it returns true, the caller must call
 * shmemi_net_finish before source may be reused, or dest be read. */
bool shmemi_net_start(struct shmemi_host_operation *o);
/* Advances a put or get from one part to the next. */
void shmemi_net_advance(struct shmemi_host_operation *o);
/* Waits until an operation is complete that shmemi_net_start or shmemi_net_lend has begun. pe: its
 * target. If it has failed, the call fails (failure.h). */
void shmemi_net_finish(const struct shmemi_request *r, int pe, const char *call);
/* Sends a message of the library's own, a put with signal or an atomic that does not fetch. No
 * quiet of the program waits for it, unless source may not be reused when the call returns. */
void shmemi_net_message(struct shmemi_host_operation *o);
/* Sends a message like shmemi_net_message, but with bytes that the caller does not change
 * meanwhile. If it returns true, the caller must call shmemi_net_finish with o->request before
 * source may be reused. Without a request the caller must not change the bytes until they have
 * arrived. */
bool shmemi_net_lend(struct shmemi_host_operation *o);

/* The slow halves of the functions in front.h, called if the PE is on another node or lost, an
 * argument is wrong, or the memory is not in a heap that this process stores to (globals,
 * registered buffers, memory of a GPU); and for every PE if accesses are checked
 * (SHMEM_CHECKS=full) or shown. The ranged ones show the call to a profiler. */
#define SHMEMI_HALVES(half)                                                                        \
    void shmemi_put_##half(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,      \
                           const char *call);                                                      \
    void shmemi_put_nbi_##half(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,  \
                               const char *call);                                                  \
    void shmemi_get_##half(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,      \
                           const char *call);                                                      \
    void shmemi_get_nbi_##half(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,  \
                               const char *call);                                                  \
    void shmemi_put_signal_##half(shmem_ctx_t ctx, void *dest, const void *source, size_t n,       \
                                  uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,         \
                                  bool nbi, const char *call);                                     \
    uint64_t shmemi_amo_##half(shmem_ctx_t ctx, enum shmemi_amo op, int width, void *dest,         \
                               uint64_t operand, uint64_t compare, int pe, const char *call);      \
    void shmemi_amo_nbi_##half(shmem_ctx_t ctx, enum shmemi_amo op, int width, void *fetch,        \
                               void *dest, uint64_t operand, uint64_t compare, int pe,             \
                               const char *call);
SHMEMI_HALVES(slow)
SHMEMI_HALVES(ranged)

/* Reports whether op writes to memory. A fetch does not, so that no thread has to be woken after
 * it. */
SHMEMI_INLINE bool shmemi_amo_writes(enum shmemi_amo op)
{
    return op != SHMEMI_AMO_FETCH;
}

/* Returns the offset of n bytes at symmetric address addr from the user heap of PE pe. Ends the
 * program if they are not symmetric, or if `local`, which `what` names, is NULL. */
int64_t shmemi_check_target(const void *addr, size_t n, const void *local, int pe, const char *what,
                            const char *call);

#pragma GCC visibility pop

#endif
