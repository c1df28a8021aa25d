/*
 * stream.h: the calls of shmemx.h that a CUDA stream executes. These functions check and pack the
 * arguments; the core decides how the stream executes each.
 */
#ifndef SHMEMI_STREAM_H
#define SHMEMI_STREAM_H

#include "base.h"

#include "zz_stream_work.h"

struct CUstream_st;

/* CUDA's types for C: structs that are passed in an integer register, like CUDA's own types in C++.
 */
struct __half {
    uint16_t bits;
};
struct __nv_bfloat16 {
    uint16_t bits;
};

#pragma GCC visibility push(hidden)

/* Each implements a shmemx call that ends in _on_stream. n counts bytes in puts, gets and copying
 * collectives, words in waits, and elements in reductions. The functions that return int return 0,
 * or -1 for SHMEM_TEAM_INVALID; other wrong arguments end the job. */
void shmemi_stream_put(void *dest, const void *source, size_t n, int pe, struct CUstream_st *stream,
                       const char *call);
void shmemi_stream_put_nbi(void *dest, const void *source, size_t n, int pe,
                           struct CUstream_st *stream, const char *call);
void shmemi_stream_get(void *dest, const void *source, size_t n, int pe, struct CUstream_st *stream,
                       const char *call);
void shmemi_stream_get_nbi(void *dest, const void *source, size_t n, int pe,
                           struct CUstream_st *stream, const char *call);
void shmemi_stream_p(void *dest, const void *value, size_t width, int pe,
                     struct CUstream_st *stream, const char *call);
void shmemi_stream_g(void *value, const void *source, size_t width, int pe,
                     struct CUstream_st *stream, const char *call);
void shmemi_stream_put_signal(void *dest, const void *source, size_t n, uint64_t *sig_addr,
                              uint64_t signal, int sig_op, int pe, struct CUstream_st *stream,
                              const char *call);
void shmemi_stream_put_signal_nbi(void *dest, const void *source, size_t n, uint64_t *sig_addr,
                                  uint64_t signal, int sig_op, int pe, struct CUstream_st *stream,
                                  const char *call);
void shmemi_stream_signal(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                          struct CUstream_st *stream, const char *call);
void shmemi_stream_put_notify(void *dest, const void *source, size_t n, int notify, int pe,
                              struct CUstream_st *stream, const char *call);
void shmemi_stream_put_notify_nbi(void *dest, const void *source, size_t n, int notify, int pe,
                                  struct CUstream_st *stream, const char *call);
void shmemi_stream_notify_wait(int notify, uint64_t count, struct CUstream_st *stream,
                               const char *call);
void shmemi_stream_notify_reset(int notify, uint64_t value, struct CUstream_st *stream,
                                const char *call);
void shmemi_stream_signal_wait(uint64_t *sig_addr, int cmp, uint64_t value,
                               struct CUstream_st *stream, const char *call);
/* value: one value for all words. values: one value for each word. One of the two is NULL. */
void shmemi_stream_wait(const void *ivars, size_t n, const int *status, int cmp, const void *value,
                        const void *values, uint32_t width, struct CUstream_st *stream,
                        const char *call);
void shmemi_stream_quiet(struct CUstream_st *stream, const char *call);
int shmemi_stream_sync(shmem_team_t team, struct CUstream_st *stream, const char *call);
int shmemi_stream_barrier(shmem_team_t team, struct CUstream_st *stream, const char *call);
int shmemi_stream_broadcast(shmem_team_t team, void *dest, const void *source, size_t n, int root,
                            struct CUstream_st *stream, const char *call);
int shmemi_stream_fcollect(shmem_team_t team, void *dest, const void *source, size_t n,
                           struct CUstream_st *stream, const char *call);
int shmemi_stream_alltoall(shmem_team_t team, void *dest, const void *source, size_t n,
                           struct CUstream_st *stream, const char *call);
int shmemi_stream_reduce(shmem_team_t team, void *dest, const void *source, size_t n,
                         uint32_t width, int op, struct CUstream_st *stream, const char *call);

/* Loads the library's kernels, unless they are loaded. Returns 0, or -1 with the reason in error.
 * If their file is missing, only a call that needs them fails. */
int shmemi_streams_begin(char *error, size_t size);
/* At finalize: records that calls on streams are errors from now on. */
void shmemi_streams_end(void);

#pragma GCC visibility pop

#endif
