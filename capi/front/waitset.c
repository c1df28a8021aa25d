/*
 * waitset.c: wait and test over arrays of variables.
 *
 * The wait set is the elements that status does not exclude. Each step of a wait scans it from one
 * end to the other. wait_any and test_any begin after the element that the last call on the same
 * array has returned, so that an element for which the comparison always holds cannot hide the
 * others.
 */
#include "waitset.h"

#include "address.h"
#include "error.h"
#include "gpu.h"
#include "netcall.h"
#include "wait.h"

#include <inttypes.h>
#include <stdio.h>

/* A heap in GPU memory is read in copies of this many elements. */
#define WINDOW 512

/* The wait set of a call. */
struct set {
    const char *ivars;
    size_t nelems;
    const int *status; /* NULL: no element is excluded */
    int cmp;
    const void *values;
    bool each; /* there is a value for each element, else one for all */
    enum shmemi_kind kind;
    const char *what; /* for how many elements the comparison has to hold; for the report */
    const char *call;
};

/* Returns the bytes of an element. */
static size_t size_of(enum shmemi_kind kind)
{
    return kind == SHMEMI_KIND_i32 || kind == SHMEMI_KIND_u32 ? 4 : 8;
}

/* Returns an address at which the CPU can read the elements from `from` to just below `to` (at most
 * WINDOW of them). If they are in GPU memory, it copies them to `copy`. */
static const void *readable_window(const struct set *q, size_t from, size_t to, void *copy)
{
    size_t size = size_of(q->kind);
    const char *at = q->ivars + from * size;
    if (!shmemi_on_gpu(q->ivars))
        return at;
    shmemi_move(copy, at, (to - from) * size, q->call);
    return copy;
}

/* Reports whether an element is in the wait set. */
SHMEMI_INLINE bool included(const struct set *q, size_t i)
{
    return q->status == NULL || q->status[i] == 0;
}

/*
 * Returns the first element of the set, from `from` to just below `to`, for which the result of the
 * comparison is `wanted`; `to` if there is none. Each type of words has a function of its own,
 * whose loop has no test of the type. Other comparisons than the five that are named are
 * SHMEM_CMP_LE.
 */
#define FIND(T, suffix)                                                                            \
    static size_t find_##suffix(const struct set *q, size_t from, size_t to, bool wanted)          \
    {                                                                                              \
        T copy[WINDOW];                                                                            \
        const T *values = q->values;                                                               \
        for (size_t end; from < to; from = end) {                                                  \
            end = to - from > WINDOW ? from + WINDOW : to;                                         \
            const T *at = readable_window(q, from, end, copy);                                     \
            for (size_t i = from; i < end; i++) {                                                  \
                if (!included(q, i))                                                               \
                    continue;                                                                      \
                T now = shmemi_observe(&at[i - from]);                                             \
                T value = values[q->each ? i : 0];                                                 \
                bool holds;                                                                        \
                switch (q->cmp) {                                                                  \
                case SHMEM_CMP_EQ:                                                                 \
                    holds = now == value;                                                          \
                    break;                                                                         \
                case SHMEM_CMP_NE:                                                                 \
                    holds = now != value;                                                          \
                    break;                                                                         \
                case SHMEM_CMP_GT:                                                                 \
                    holds = now > value;                                                           \
                    break;                                                                         \
                case SHMEM_CMP_GE:                                                                 \
                    holds = now >= value;                                                          \
                    break;                                                                         \
                case SHMEM_CMP_LT:                                                                 \
                    holds = now < value;                                                           \
                    break;                                                                         \
                default:                                                                           \
                    holds = now <= value;                                                          \
                }                                                                                  \
                if (holds == wanted)                                                               \
                    return i;                                                                      \
            }                                                                                      \
        }                                                                                          \
        return to;                                                                                 \
    }

FIND(int32_t, i32)
FIND(uint32_t, u32)
FIND(int64_t, i64)
FIND(uint64_t, u64)

/* Returns the first element of the set, from `from` to just below `to`, for which the comparison
 * has the result `wanted`, by the type of the words; `to` if there is none. */
static size_t find_first(const struct set *q, size_t from, size_t to, bool wanted)
{
    switch (q->kind) {
    case SHMEMI_KIND_i32:
        return find_i32(q, from, to, wanted);
    case SHMEMI_KIND_u32:
        return find_u32(q, from, to, wanted);
    case SHMEMI_KIND_i64:
        return find_i64(q, from, to, wanted);
    default:
        return find_u64(q, from, to, wanted);
    }
}

/* ------------------------------------------------------------------- checks */

/* Ends the program with the most specific error about the arguments of a call. */
static SHMEMI_COLD void refuse_arguments(const struct set *q, size_t bytes)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(q->call);
    if ((unsigned)q->cmp > SHMEM_CMP_GE)
        shmemi_abort(q->call, "use SHMEM_CMP_EQ, NE, GT, GE, LT or LE",
                     "comparison %d does not exist", q->cmp);
    if (q->nelems > 0 && q->values == NULL)
        shmemi_abort(q->call, "pass a value for each element", "cmp_values is NULL");
    shmemi_refuse_outside(q->ivars, bytes, q->call);
    shmemi_abort(q->call, "wait on memory from shmem_malloc, and check the number of elements",
                 "ivars %p with %zu bytes is not in the symmetric heap", (const void *)q->ivars,
                 bytes);
}

/* Under full checks, ends the program if the arrays of a call overlap, or the memory was freed. */
static void check_full(const struct set *q, const size_t *indices, size_t bytes)
{
    shmemi_check_block(q->ivars, bytes, q->call);
    shmemi_check_aligned(q->ivars, size_of(q->kind), q->call);
    size_t masks = shmemi_bytes(q->nelems, sizeof *q->status);
    size_t places = shmemi_bytes(q->nelems, sizeof *indices);
    if (shmemi_overlap(q->ivars, bytes, q->status, masks) ||
        shmemi_overlap(q->ivars, bytes, indices, places) ||
        shmemi_overlap(q->status, masks, indices, places))
        shmemi_abort(q->call, "pass separate arrays",
                     "two of ivars %p, status %p and indices %p overlap", (const void *)q->ivars,
                     (const void *)q->status, (const void *)indices);
}

/* Ends the program if the arguments of a call are wrong. The usual checks are one condition;
 * refuse_arguments finds out which one has failed. */
static void check_arguments(const struct set *q, const size_t *indices)
{
    const struct shmemi_state *s = &shmemi_state;
    size_t bytes = shmemi_bytes(q->nelems, size_of(q->kind));
    if (SHMEMI_UNLIKELY(
            s->n_pes == 0 || (unsigned)q->cmp > SHMEM_CMP_GE ||
            (q->nelems > 0 && (q->values == NULL || !shmemi_symmetric(q->ivars, bytes)))))
        refuse_arguments(q, bytes);
    if (SHMEMI_UNLIKELY(s->checks == SHMEMI_CHECKS_FULL) && q->nelems > 0)
        check_full(q, indices, bytes);
}

/* Ends the job if the array for the indices is NULL. */
static void check_indices(const struct set *q, const size_t *indices)
{
    if (SHMEMI_UNLIKELY(indices == NULL && q->nelems > 0))
        shmemi_abort(q->call, "pass an array of nelems elements", "indices is NULL");
}

/* Reports whether the wait set has no elements, or the status array excludes all: such a wait
 * returns at once. */
static bool set_is_empty(const struct set *q)
{
    for (size_t i = 0; i < q->nelems; i++)
        if (included(q, i))
            return false;
    return true;
}

/* ------------------------------------------------------------------ reports */

/* Writes, for the report of a long wait, which elements it waits for, and the first ones for which
 * the comparison does not hold yet. */
static void describe(const void *subject, char *text, size_t size)
{
    static const char *const operators[] = {
        [SHMEM_CMP_EQ] = "==", [SHMEM_CMP_NE] = "!=", [SHMEM_CMP_GT] = ">",
        [SHMEM_CMP_LE] = "<=", [SHMEM_CMP_LT] = "<",  [SHMEM_CMP_GE] = ">=",
    };
    const struct set *q = subject;
    char place[SHMEMI_PLACE];
    size_t used =
        (size_t)snprintf(text, size, "for %s of %zu words at %p (%s) %s", q->what, q->nelems,
                         (const void *)q->ivars, shmemi_place(place, q->ivars), operators[q->cmp]);
    uint64_t value = 0;
    memcpy(&value, q->values, size_of(q->kind));
    bool is_signed = q->kind == SHMEMI_KIND_i32 || q->kind == SHMEMI_KIND_i64;
    if (q->kind == SHMEMI_KIND_i32)
        value = (uint64_t)(int64_t)(int32_t)value;
    if (q->each && used < size)
        used += (size_t)snprintf(text + used, size - used, " a value each");
    else if (used < size)
        used += (size_t)snprintf(text + used, size - used, is_signed ? " %" PRId64 : " %" PRIu64,
                                 value);
    const char *lead = "; not yet:";
    size_t shown = 0;
    for (size_t i = 0;
         (i = find_first(q, i, q->nelems, /* wanted */ false)) < q->nelems && used < size; i++) {
        if (shown++ == 8) { /* so many are enough for a report */
            snprintf(text + used, size - used, " and more");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s %zu", lead, i);
        lead = "";
    }
}

/* ---------------------------------------------------------------------- all */

/* Reports whether the comparison has held for all elements of the set, each at some time. *at is
 * the first for which it has not held yet; those before it are not read again. */
static bool advance_all(const struct set *q, size_t *at)
{
    *at = find_first(q, *at, q->nelems, /* wanted */ false);
    return *at == q->nelems;
}

/* Returns the arguments of a call on a set of elements. */
SHMEMI_INLINE struct set set_of(const char *what, const void *ivars, size_t nelems,
                                const int *status, int cmp, const void *values, bool each,
                                enum shmemi_kind kind, const char *call)
{
    return (struct set){ivars, nelems, status, cmp, values, each, kind, what, call};
}

/* Implements wait_until_all: returns when the comparison has held for each element of the set. */
void shmemi_wait_all(const void *ivars, size_t nelems, const int *status, int cmp,
                     const void *values, bool each, enum shmemi_kind kind, const char *call)
{
    const struct set q = set_of("all", ivars, nelems, status, cmp, values, each, kind, call);
    size_t at = 0;
    check_arguments(&q, NULL);
    SHMEMI_WAIT(SHMEMI_ANY_WRITER, call, describe, &q, advance_all(&q, &at));
}

/* Polls the network once, between the two tries of a test, and fails the call if a PE is lost. */
static void poll_network(const struct set *q)
{
    if (shmemi_state.networked)
        shmemi_net_poll(q->call);
    shmemi_fail_test_if_lost(q->call);
}

/* Implements test_all: returns 1 if the comparison holds for all elements of the set, else 0. */
int shmemi_test_all(const void *ivars, size_t nelems, const int *status, int cmp,
                    const void *values, bool each, enum shmemi_kind kind, const char *call)
{
    const struct set q = set_of("all", ivars, nelems, status, cmp, values, each, kind, call);
    size_t at = 0;
    check_arguments(&q, NULL);
    if (advance_all(&q, &at))
        return 1;
    poll_network(&q);
    return advance_all(&q, &at);
}

/* ---------------------------------------------------------------------- any */

/* Returns the index at which the next wait_any or test_any on an array begins its search. The table
 * has 64 entries, selected by the highest 6 bits of a hash of the array's address (Fibonacci
 * hashing: a product with 2^64 divided by the golden ratio). Several arrays may share an entry; the
 * search is still fair unless calls on them alternate. */
static size_t *cursor_of(const struct set *q)
{
    static size_t next[64];
    return &next[((uintptr_t)q->ivars >> 3) * 0x9E3779B97F4A7C15u >> 58];
}

/* Returns the index of an element of the set for which the comparison holds; SIZE_MAX if there is
 * none. It searches from the array's cursor (cursor_of) on, round robin, and sets the cursor to the
 * next element. */
static size_t find_any(const struct set *q)
{
    size_t *next = cursor_of(q), start = shmemi_read_once(next);
    if (start >= q->nelems)
        start = 0;
    size_t i = find_first(q, start, q->nelems, /* wanted */ true);
    if (i == q->nelems) {
        i = find_first(q, 0, start, /* wanted */ true);
        if (i == start)
            return SIZE_MAX;
    }
    shmemi_write_once(next, i + 1);
    return i;
}

/* Implements wait_until_any: returns the index of an element for which the comparison holds;
 * SIZE_MAX if the set is empty. */
size_t shmemi_wait_any(const void *ivars, size_t nelems, const int *status, int cmp,
                       const void *values, bool each, enum shmemi_kind kind, const char *call)
{
    const struct set q = set_of("any", ivars, nelems, status, cmp, values, each, kind, call);
    size_t found = SIZE_MAX;
    check_arguments(&q, NULL);
    if (set_is_empty(&q))
        return SIZE_MAX;
    SHMEMI_WAIT(SHMEMI_ANY_WRITER, call, describe, &q, (found = find_any(&q)) != SIZE_MAX);
    return found;
}

/* Implements test_any: returns the index of an element for which the comparison holds; SIZE_MAX if
 * there is none. */
size_t shmemi_test_any(const void *ivars, size_t nelems, const int *status, int cmp,
                       const void *values, bool each, enum shmemi_kind kind, const char *call)
{
    const struct set q = set_of("any", ivars, nelems, status, cmp, values, each, kind, call);
    check_arguments(&q, NULL);
    size_t found = find_any(&q);
    if (found != SIZE_MAX)
        return found;
    poll_network(&q);
    return find_any(&q);
}

/* --------------------------------------------------------------------- some */

/* Writes the indices of all elements for which the comparison holds, and returns how many they are.
 */
static size_t collect_some(const struct set *q, size_t *indices)
{
    size_t n = 0;
    for (size_t i = 0; (i = find_first(q, i, q->nelems, /* wanted */ true)) < q->nelems; i++)
        indices[n++] = i;
    return n;
}

/* Implements wait_until_some: writes the indices of the elements for which the comparison holds, at
 * least one. Returns how many; 0 if the set is empty, or a lost PE has ended the wait. */
size_t shmemi_wait_some(const void *ivars, size_t nelems, size_t *indices, const int *status,
                        int cmp, const void *values, bool each, enum shmemi_kind kind,
                        const char *call)
{
    const struct set q = set_of("some", ivars, nelems, status, cmp, values, each, kind, call);
    size_t n = 0;
    check_arguments(&q, indices);
    check_indices(&q, indices);
    if (set_is_empty(&q))
        return 0;
    SHMEMI_WAIT(SHMEMI_ANY_WRITER, call, describe, &q, (n = collect_some(&q, indices)) > 0);
    return n;
}

/* Implements test_some: writes the indices of the elements for which the comparison holds. Returns
 * how many, also 0. */
size_t shmemi_test_some(const void *ivars, size_t nelems, size_t *indices, const int *status,
                        int cmp, const void *values, bool each, enum shmemi_kind kind,
                        const char *call)
{
    const struct set q = set_of("some", ivars, nelems, status, cmp, values, each, kind, call);
    check_arguments(&q, indices);
    check_indices(&q, indices);
    size_t n = collect_some(&q, indices);
    if (n > 0)
        return n;
    poll_network(&q);
    return collect_some(&q, indices);
}
