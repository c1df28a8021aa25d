/*
 * stream.c: checks of calls that a CUDA stream executes. A wrong argument is reported when the call
 * is made, with the call's name, and not when the stream executes it.
 */
#include "stream.h"

#include "below.h"
#include "buffers.h"
#include "error.h"
#include "front.h"
#include "loader.h"
#include "notification.h"
#include "team_ids.h"
#include "team.h"
#include "units.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#define KERNELS_FILE "libshmem_kernels.fatbin"

/* Guards the first use of CUDA streams in a job. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool ready; /* the library's kernels are loaded; read without the mutex */

/* Writes the path of the file with the library's kernels, which is in the folder of this library.
 */
static void kernels_path(char *path, size_t size)
{
    const char *front = shmemi_front_path(), *slash = strrchr(front, '/');
    snprintf(path, size, "%.*s" KERNELS_FILE, slash ? (int)(slash - front + 1) : 0, front);
}

/* Loads the library's kernels, which carry out calls on streams, unless they are loaded in this
 * job. Returns 0, or -1 with the reason in error. */
int shmemi_streams_begin(char *error, size_t size)
{
    char path[PATH_MAX];
    int rc = 0;
    pthread_mutex_lock(&mutex);
    if (!ready) {
        kernels_path(path, sizeof path);
        if (shmemi_state.core->stream_open(path) != SHMEMI_DONE) {
            snprintf(error, size, "%s", shmemi_state.core->error());
            rc = -1;
        } else {
            shmemi_publish(&ready, true);
        }
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}

/* At finalize: records that calls on streams are errors from now on. */
void shmemi_streams_end(void)
{
    pthread_mutex_lock(&mutex);
    shmemi_publish(&ready, false);
    pthread_mutex_unlock(&mutex);
}

/* Checks at the beginning of a call on a stream: ends the program unless there is a job and this PE
 * has a GPU. The first call in a job also makes the image of the job's state for kernels, and loads
 * the library's kernels. */
static void check_gpu(const char *call)
{
    char error[1024] = "";
    if (SHMEMI_LIKELY(shmemi_state.n_pes > 0 && shmemi_observe(&ready)))
        return;
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (!shmemi_state.gpu)
        shmemi_abort(call, "start the PE where there is a GPU, with SHMEM_HEAP=device or pinned",
                     "this PE uses no GPU");
    if (shmemi_units_make_image(error, sizeof error) != 0 ||
        shmemi_streams_begin(error, sizeof error) != 0)
        shmemi_abort(call, NULL, "%s", error);
}

/* Enqueues a call on its CUDA stream. Ends the program if the driver refuses it. */
static void enqueue(struct shmemi_stream_work w, struct CUstream_st *stream, const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.core->stream_call(w.what, &w.call, stream) != SHMEMI_DONE))
        shmemi_abort(call, NULL, "%s", shmemi_state.core->error());
}

/* Checks a symmetric argument of n bytes, which `name` names in the error and which has to be
 * aligned to `align` bytes, a power of two, and returns its address in the heap. For a registered
 * buffer the program may pass the buffer's own address, which kernels do not know. Globals are
 * refused: they are not in the heap, to which kernels have access. */
static void *heap_address(const char *name, const void *p, size_t n, size_t align, const char *call)
{
    int64_t offset = shmemi_in_heap(p, n) ? (int64_t)((uintptr_t)p - shmemi_state.heap_base)
                                          : shmemi_buffer_offset(p, n);
    if (SHMEMI_UNLIKELY(offset == SHMEMI_NO_OFFSET))
        shmemi_abort(call, "pass memory from shmem_malloc, large enough for every element",
                     "%s %p with %zu bytes is not in the symmetric heap", name, p, n);
    if (SHMEMI_UNLIKELY(((uintptr_t)p & (align - 1)) != 0))
        shmemi_abort(call, "pass an element of an array of that type",
                     "%s %p is not aligned to %zu bytes", name, p, align);
    return (char *)shmemi_state.heap_base + offset;
}

/* Ends the program if a local address is NULL. */
static void check_local(const char *name, const void *p, const char *call)
{
    if (SHMEMI_UNLIKELY(p == NULL))
        shmemi_abort(call, "pass memory of this PE", "the local %s is NULL", name);
}

/* Returns the n bytes of a value, at most 8, as a 64-bit word with zeros above them. */
static uint64_t as_word(const void *value, size_t n)
{
    uint64_t bits = 0;
    memcpy(&bits, value, n);
    return bits;
}

/* Ends the job unless op is an operation on signals. */
static void check_signal_op(int op, const char *call)
{
    if (SHMEMI_UNLIKELY(op != SHMEM_SIGNAL_SET && op != SHMEM_SIGNAL_ADD))
        shmemi_abort(call, "use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD",
                     "signal operation %d does not exist", op);
}

/* ------------------------------------------------------ one PE with another */

/* Checks a put on a stream, and queues it. nbi: 1 for a nonblocking put. */
static void queue_put(void *dest, const void *source, size_t n, int pe, uint32_t nbi,
                      struct CUstream_st *stream, const char *call)
{
    check_gpu(call);
    shmemi_check_pe(pe, call);
    if (n == 0)
        return;
    dest = heap_address("dest", dest, n, /* align */ 1, call);
    check_local("source", source, call);
    enqueue(shmemi_work_put(dest, source, n, pe, nbi), stream, call);
}

/* Enqueues a put on a CUDA stream: it runs after the stream's earlier work and before its later
 * work. */
void shmemi_stream_put(void *dest, const void *source, size_t n, int pe, struct CUstream_st *stream,
                       const char *call)
{
    queue_put(dest, source, n, pe, /* nbi */ 0, stream, call);
}

/* Enqueues a nonblocking put on a stream: a quiet on the stream completes it. */
void shmemi_stream_put_nbi(void *dest, const void *source, size_t n, int pe,
                           struct CUstream_st *stream, const char *call)
{
    queue_put(dest, source, n, pe, /* nbi */ 1, stream, call);
}

/* Checks a get on a stream, and queues it. nbi: 1 for a nonblocking get. */
static void queue_get(void *dest, const void *source, size_t n, int pe, uint32_t nbi,
                      struct CUstream_st *stream, const char *call)
{
    check_gpu(call);
    shmemi_check_pe(pe, call);
    if (n == 0)
        return;
    source = heap_address("source", source, n, /* align */ 1, call);
    check_local("dest", dest, call);
    enqueue(shmemi_work_get(dest, source, n, pe, nbi), stream, call);
}

/* Enqueues a get on a CUDA stream: it runs after the stream's earlier work and before its later
 * work. */
void shmemi_stream_get(void *dest, const void *source, size_t n, int pe, struct CUstream_st *stream,
                       const char *call)
{
    queue_get(dest, source, n, pe, /* nbi */ 0, stream, call);
}

/* Enqueues a nonblocking get on a stream: a quiet on the stream completes it. */
void shmemi_stream_get_nbi(void *dest, const void *source, size_t n, int pe,
                           struct CUstream_st *stream, const char *call)
{
    queue_get(dest, source, n, pe, /* nbi */ 1, stream, call);
}

/* Implements shmemx_<type>_p_on_stream. */
void shmemi_stream_p(void *dest, const void *value, size_t width, int pe,
                     struct CUstream_st *stream, const char *call)
{
    check_gpu(call);
    shmemi_check_pe(pe, call);
    dest = heap_address("dest", dest, width, width, call);
    enqueue(shmemi_work_p(dest, as_word(value, width), (uint32_t)width, pe), stream, call);
}

/* Implements shmemx_<type>_g_on_stream: drains the stream, and then gets the element. */
void shmemi_stream_g(void *value, const void *source, size_t width, int pe,
                     struct CUstream_st *stream, const char *call)
{
    check_gpu(call);
    shmemi_check_pe(pe, call);
    source = heap_address("source", source, width, width, call);
    enqueue(shmemi_work_drain(), stream, call);
    shmemi_g(SHMEM_CTX_DEFAULT, value, source, width, pe, call);
}

/* Checks the arguments of a put with signal and enqueues it on the stream. Without bytes it
 * enqueues only the signal. nbi: 1 for a nonblocking put. */
static void put_signal(void *dest, const void *source, size_t n, uint64_t *sig_addr,
                       uint64_t signal, int sig_op, int pe, uint32_t nbi,
                       struct CUstream_st *stream, const char *call)
{
    check_gpu(call);
    shmemi_check_pe(pe, call);
    check_signal_op(sig_op, call);
    sig_addr = heap_address("sig_addr", sig_addr, sizeof *sig_addr, sizeof *sig_addr, call);
    if (n > 0) {
        dest = heap_address("dest", dest, n, /* align */ 1, call);
        check_local("source", source, call);
    }
    enqueue(n > 0 ? shmemi_work_put_signal(dest, source, n, sig_addr, signal, sig_op, pe, nbi)
                  : shmemi_work_signal(sig_addr, signal, sig_op, pe),
            stream, call);
}

/* Enqueues a put with signal on a stream. */
void shmemi_stream_put_signal(void *dest, const void *source, size_t n, uint64_t *sig_addr,
                              uint64_t signal, int sig_op, int pe, struct CUstream_st *stream,
                              const char *call)
{
    put_signal(dest, source, n, sig_addr, signal, sig_op, pe, /* nbi */ 0, stream, call);
}

/* Enqueues a nonblocking put with signal on a stream: a quiet on the stream completes it. */
void shmemi_stream_put_signal_nbi(void *dest, const void *source, size_t n, uint64_t *sig_addr,
                                  uint64_t signal, int sig_op, int pe, struct CUstream_st *stream,
                                  const char *call)
{
    put_signal(dest, source, n, sig_addr, signal, sig_op, pe, /* nbi */ 1, stream, call);
}

/* Enqueues an update of a signal on a stream: a put with signal without bytes. */
void shmemi_stream_signal(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                          struct CUstream_st *stream, const char *call)
{
    put_signal(/* dest */ NULL, /* source */ NULL, /* n */ 0, sig_addr, signal, sig_op, pe,
               /* nbi */ 0, stream, call);
}

/* Checks the arguments of a put with notification and enqueues it on the stream. nbi: 1 for a
 * nonblocking put. */
static void put_notify(void *dest, const void *source, size_t n, int notify, int pe, uint32_t nbi,
                       struct CUstream_st *stream, const char *call)
{
    check_gpu(call);
    shmemi_check_pe(pe, call);
    shmemi_notification_check(notify, call);
    if (n > 0) {
        dest = heap_address("dest", dest, n, /* align */ 1, call);
        check_local("source", source, call);
    } else {
        dest = (void *)shmemi_state.heap_base; /* the program's dest may be any value */
    }
    enqueue(shmemi_work_put_notify(dest, source, n, notify, pe, nbi), stream, call);
}

/* Enqueues a put on a stream that increments a notification counter of its target. */
void shmemi_stream_put_notify(void *dest, const void *source, size_t n, int notify, int pe,
                              struct CUstream_st *stream, const char *call)
{
    put_notify(dest, source, n, notify, pe, /* nbi */ 0, stream, call);
}

/* Enqueues a nonblocking put on a stream that increments a notification counter of its target: a
 * quiet on the stream completes it. */
void shmemi_stream_put_notify_nbi(void *dest, const void *source, size_t n, int notify, int pe,
                                  struct CUstream_st *stream, const char *call)
{
    put_notify(dest, source, n, notify, pe, /* nbi */ 1, stream, call);
}

/* Checks a call on a notification counter on a stream. */
static void check_counter(int notify, uint64_t value, const char *name, const char *call)
{
    check_gpu(call);
    shmemi_notification_check(notify, call);
    shmemi_notification_check_value(value, name, call);
}

/* Makes a stream wait until a notification counter of this PE has reached count. */
void shmemi_stream_notify_wait(int notify, uint64_t count, struct CUstream_st *stream,
                               const char *call)
{
    check_counter(notify, count, "the count", call);
    enqueue(shmemi_work_notify_wait(notify, count), stream, call);
}

/* Makes a stream set a notification counter of this PE. */
void shmemi_stream_notify_reset(int notify, uint64_t value, struct CUstream_st *stream,
                                const char *call)
{
    check_counter(notify, value, "the value", call);
    enqueue(shmemi_work_notify_reset(notify, value), stream, call);
}

/* ------------------------------------------------------------------ waiting */

/* Ends the program if a comparison is invalid. */
static void check_comparison(int cmp, const char *call)
{
    if (SHMEMI_UNLIKELY(cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_GE))
        shmemi_abort(call, "use SHMEM_CMP_EQ, NE, GT, GE, LT or LE", "comparison %d does not exist",
                     cmp);
}

/* Implements shmemx_signal_wait_until_on_stream: makes a stream wait until the comparison holds for
 * the signal, a word of this PE's heap, and value. */
void shmemi_stream_signal_wait(uint64_t *sig_addr, int cmp, uint64_t value,
                               struct CUstream_st *stream, const char *call)
{
    check_gpu(call);
    check_comparison(cmp, call);
    sig_addr = heap_address("sig_addr", sig_addr, sizeof *sig_addr, sizeof *sig_addr, call);
    enqueue(shmemi_work_count(sig_addr, /* words */ 1, value, cmp, sizeof *sig_addr), stream, call);
}

/* Makes a stream wait until the comparison holds for n words of this PE: with value for all, or, if
 * value is NULL, with one of values for each. status: 0 for each word of the wait, another number
 * for a word that is excluded; NULL: none is. width: the bytes of a word, with SHMEMI_SIGNED added
 * for a signed type. */
void shmemi_stream_wait(const void *ivars, size_t n, const int *status, int cmp, const void *value,
                        const void *values, uint32_t width, struct CUstream_st *stream,
                        const char *call)
{
    size_t bytes = width & 15; /* without SHMEMI_SIGNED, which is above these bits */
    check_gpu(call);
    check_comparison(cmp, call);
    if (n == 0)
        return;
    ivars = heap_address("ivars", ivars, shmemi_bytes(n, bytes), bytes, call);
    if (value == NULL)
        check_local("cmp_values", values, call);
    enqueue(shmemi_work_wait(ivars, values, n, status, value == NULL ? 0 : as_word(value, bytes),
                             cmp, width),
            stream, call);
}

/* Enqueues a quiet on a stream. */
void shmemi_stream_quiet(struct CUstream_st *stream, const char *call)
{
    check_gpu(call);
    enqueue(shmemi_work_quiet(), stream, call);
}

/* ------------------------------------------------------------------ all PEs */

/* Checks a collective call on a stream. Returns the number of PEs of the team; -1 for
 * SHMEM_TEAM_INVALID, which the call then returns, too. */
static int check_team(shmem_team_t team, const char *call)
{
    check_gpu(call);
    const struct shmemi_team *t = shmemi_team_of(team, call);
    return t == NULL ? -1 : t->n;
}

/* Implements shmemx_team_sync_on_stream: enqueues a sync of a team. Returns 0, or -1 for
 * SHMEM_TEAM_INVALID. */
int shmemi_stream_sync(shmem_team_t team, struct CUstream_st *stream, const char *call)
{
    int n_pes = check_team(team, call);
    if (n_pes < 0)
        return -1;
    enqueue(shmemi_work_sync(team, n_pes), stream, call);
    return 0;
}

/* Implements shmemx_barrier_on_stream: enqueues a quiet and a sync of a team. Returns 0, or -1 for
 * SHMEM_TEAM_INVALID. */
int shmemi_stream_barrier(shmem_team_t team, struct CUstream_st *stream, const char *call)
{
    int n_pes = check_team(team, call);
    if (n_pes < 0)
        return -1;
    enqueue(shmemi_work_barrier(team, n_pes), stream, call);
    return 0;
}

/* Implements shmemx_broadcast_on_stream: enqueues a broadcast of n bytes, by a kernel. Returns 0,
 * or -1 for SHMEM_TEAM_INVALID. */
int shmemi_stream_broadcast(shmem_team_t team, void *dest, const void *source, size_t n, int root,
                            struct CUstream_st *stream, const char *call)
{
    int n_pes = check_team(team, call);
    if (n_pes < 0)
        return -1;
    if ((uint32_t)root >= (uint32_t)n_pes)
        shmemi_abort(call, "use 0 to shmem_team_n_pes(team) - 1",
                     "root PE %d does not exist, the team has %d", root, n_pes);
    if (n == 0)
        return 0;
    dest = heap_address("dest", dest, n, /* align */ 1, call);
    source = heap_address("source", source, n, /* align */ 1, call);
    enqueue(shmemi_work_broadcast(dest, source, n, root, team, n_pes), stream, call);
    return 0;
}

/* Enqueues fcollect or alltoall on a stream. blocks: each PE gets another part of source, as in
 * alltoall; otherwise all of it, as in fcollect. Like the functions below, it returns 0, or -1 for
 * SHMEM_TEAM_INVALID. */
static int queue_exchange(bool blocks, shmem_team_t team, void *dest, const void *source, size_t n,
                          struct CUstream_st *stream, const char *call)
{
    int n_pes = check_team(team, call);
    if (n_pes < 0)
        return -1;
    if (n == 0)
        return 0;
    dest = heap_address("dest", dest, shmemi_bytes((size_t)n_pes, n), /* align */ 1, call);
    source = heap_address("source", source, blocks ? shmemi_bytes((size_t)n_pes, n) : n,
                          /* align */ 1, call);
    enqueue(blocks ? shmemi_work_alltoall(dest, source, n, team, n_pes)
                   : shmemi_work_fcollect(dest, source, n, team, n_pes),
            stream, call);
    return 0;
}

/* Enqueues an fcollect on a stream. */
int shmemi_stream_fcollect(shmem_team_t team, void *dest, const void *source, size_t n,
                           struct CUstream_st *stream, const char *call)
{
    return queue_exchange(/* blocks */ false, team, dest, source, n, stream, call);
}

/* Enqueues an alltoall on a stream. */
int shmemi_stream_alltoall(shmem_team_t team, void *dest, const void *source, size_t n,
                           struct CUstream_st *stream, const char *call)
{
    return queue_exchange(/* blocks */ true, team, dest, source, n, stream, call);
}

/* Enqueues reduce or reducescatter on a stream. width: the bytes of an element, with SHMEMI_SIGNED
 * or SHMEMI_REAL added for its type. scatter: source has a part of n elements for each PE, and each
 * gets one. */
static int queue_reduction(bool scatter, shmem_team_t team, void *dest, const void *source,
                           size_t n, uint32_t width, int op, struct CUstream_st *stream,
                           const char *call)
{
    size_t bytes = width & 15; /* without SHMEMI_SIGNED and SHMEMI_REAL, above these bits */
    int n_pes = check_team(team, call);
    if (n_pes < 0)
        return -1;
    if (n == 0)
        return 0;
    size_t whole = shmemi_bytes(n, bytes);
    dest = heap_address("dest", dest, whole, bytes, call);
    source = heap_address("source", source, scatter ? shmemi_bytes((size_t)n_pes, whole) : whole,
                          bytes, call);
    enqueue(scatter ? shmemi_work_reducescatter(dest, source, n, op, width, team, n_pes)
                    : shmemi_work_reduce(dest, source, n, op, width, team, n_pes),
            stream, call);
    return 0;
}

/* Enqueues a reduction on a stream. */
int shmemi_stream_reduce(shmem_team_t team, void *dest, const void *source, size_t n,
                         uint32_t width, int op, struct CUstream_st *stream, const char *call)
{
    return queue_reduction(/* scatter */ false, team, dest, source, n, width, op, stream, call);
}

/* Enqueues a reducescatter on a stream. */
int shmemi_stream_reducescatter(shmem_team_t team, void *dest, const void *source, size_t n,
                                uint32_t width, int op, struct CUstream_st *stream,
                                const char *call)
{
    return queue_reduction(/* scatter */ true, team, dest, source, n, width, op, stream, call);
}
