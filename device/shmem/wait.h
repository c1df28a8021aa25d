/*
 * wait.h: waits and tests of a word of this PE's memory that others write.
 */
#ifndef SHMEM_WAIT_H
#define SHMEM_WAIT_H

#include "map.h"
#include "order.h"
#include "zz_words.h"

#ifdef SHMEMI_KERNEL

/*
 * How often a wait polls its word before it checks whether a PE was lost. The count of lost PEs is
 * in main memory, and the reads of it by the warps of a GPU go one after the other: sums on two
 * H200 took 0.7 ms instead of 6 us when 1,024 warps checked after the same number of polls, and
 * each PE was then late for the next sum, so that the other PE checked as well. So the warps of a
 * grid are in up to SHMEMI_CHECK_GROUPS groups, which check one after the other. A poll of a word
 * in main memory takes microseconds: a warp that is alone checks earlier as well, at polls whose
 * number is a power of two, from SHMEMI_POLLS_FIRST on.
 */
#define SHMEMI_POLLS 1024
#define SHMEMI_POLLS_FIRST 64
#define SHMEMI_CHECK_GROUPS 64

/*
 * Reports whether a warp (of index `warp` among the grid's `warps`) checks for lost PEs at this
 * poll. polls counts the polls so far, and is a multiple of SHMEMI_POLLS_FIRST.
 */
SHMEMI_D int shmemi_checks_losses(uint32_t polls, uint32_t warp, uint32_t warps)
{
    uint32_t groups = warps - 1 < SHMEMI_CHECK_GROUPS ? warps : SHMEMI_CHECK_GROUPS; /* never 0 */
    if (polls % SHMEMI_POLLS != 0)
        return warps == 1 && (polls & (polls - 1)) == 0;
    return (polls / SHMEMI_POLLS + warp) % groups == 0;
}

/* Reports whether `have cmp want` is true, where cmp is one of SHMEMI_CMP_... . */
template <class T> SHMEMI_D int shmemi_compare(T have, int cmp, T want)
{
    switch (cmp) {
    case SHMEMI_CMP_EQ:
        return have == want;
    case SHMEMI_CMP_NE:
        return have != want;
    case SHMEMI_CMP_GT:
        return have > want;
    case SHMEMI_CMP_LE:
        return have <= want;
    case SHMEMI_CMP_LT:
        return have < want;
    default:
        return have >= want;
    }
}

/* Stops the kernel if the arguments of a wait or test are wrong: the `bytes` bytes at ivar must be
 * in the heap (with SHMEM_CHECKS=full), and cmp a comparison. */
SHMEMI_D void shmemi_check_wait(const struct shmemi_device_image *image, uint32_t call,
                                const void *ivar, uint64_t bytes, int cmp)
{
    shmemi_check_init(image, call);
    shmemi_check_range(image, call, image->job.me, ivar, bytes);
    if ((uint32_t)cmp > SHMEMI_CMP_GE)
        shmemi_fault(image, SHMEMI_FAULT_COMPARISON, call, image->job.me, (uint64_t)(uintptr_t)ivar,
                     (uint64_t)cmp);
}

/* Loads a word that another PE changes, by an acquire: what its writer wrote before is visible
 * afterwards. */
template <class T> SHMEMI_D T shmemi_poll(const T *ivar)
{
    typename shmemi_bits<sizeof(T)>::type v;
    shmemi_load_flag(ivar, &v);
    return shmemi_as<T>(v);
}

/* Reports whether the calling thread's warp checks for lost PEs at this poll: shmemi_checks_losses
 * with the warp's own number. Not inlined, because it is rarely called and takes registers. */
static __device__ __noinline__ int shmemi_checks_losses_here(uint32_t polls)
{
    return shmemi_checks_losses(polls, shmemi_warp(), shmemi_warps());
}

/*
 * Called between two polls: ends the thread when the job ends, or when a PE was lost that the
 * program has not acknowledged (shmemx_failure_ack): that PE may be the writer of the word. A wait
 * names no PE, so until then all waits end, also those of threads that begin to wait later; so a
 * kernel whose blocks run one after the other ends. The wait also ends when more than `losses` PEs
 * were lost, whatever the program has acknowledged, because it waits for all PEs that were alive at
 * that count. The lower half of job.stop is the number of lost PEs, all ones when the job ends, and
 * the upper half how many of them the program has acknowledged.
 */
SHMEMI_D void shmemi_keep_waiting_for(const struct shmemi_device_image *image, uint32_t *polls,
                                      uint32_t losses)
{
    if (++*polls % SHMEMI_POLLS_FIRST == 0 && image->job.stop != NULL &&
        shmemi_checks_losses_here(*polls)) {
        uint64_t stop = shmemi_load_far((const uint64_t *)image->job.stop);
        if ((uint32_t)stop != (uint32_t)(stop >> 32) || (uint32_t)stop > losses)
            shmemi_end();
    }
}

/*
 * Called between two polls of a wait for a word of any PE: shmemi_keep_waiting_for without a limit
 * of losses.
 */
SHMEMI_D void shmemi_keep_waiting(const struct shmemi_device_image *image, uint32_t *polls)
{
    shmemi_keep_waiting_for(image, polls, UINT32_MAX);
}

/* Waits until the comparison of a word with value is true, and returns the word. */
template <class T>
SHMEMI_D T shmemi_wait(const struct shmemi_device_image *image, uint32_t call, const T *ivar,
                       int cmp, T value)
{
    uint32_t polls = 0;
    shmemi_check_wait(image, call, ivar, sizeof(T), cmp);
    T v = shmemi_poll(ivar);
    while (!shmemi_compare(v, cmp, value)) {
        shmemi_keep_waiting(image, &polls);
        v = shmemi_poll(ivar);
    }
    return v;
}

/* Reports whether the comparison of a word with value is true now. */
template <class T>
SHMEMI_D int shmemi_test(const struct shmemi_device_image *image, uint32_t call, const T *ivar,
                         int cmp, T value)
{
    shmemi_check_wait(image, call, ivar, sizeof(T), cmp);
    return shmemi_compare(shmemi_poll(ivar), cmp, value);
}

/*
 * The arguments of a wait or test on an array of words, ivars. Words whose entry in status is not 0
 * are left out; status may be NULL. Each word is compared with values[0], or, if each is set, with
 * its own entry of values.
 */
template <class T> struct shmemi_vector {
    const T *ivars;
    size_t n;
    const int *status;
    int cmp;
    const T *values;
    int each; /* values has one entry for each word */

    __device__ __forceinline__ int in(size_t i) const
    {
        return status == NULL || status[i] == 0;
    }
    __device__ __forceinline__ int holds(size_t i) const
    {
        return shmemi_compare(shmemi_poll(ivars + i), cmp, values[each ? i : 0]);
    }
};

#define SHMEMI_NONE ((size_t)-1) /* SIZE_MAX, as the specification asks */

/* Waits until the comparison has been true once for each word of v. */
template <class T>
SHMEMI_D void shmemi_wait_all(const struct shmemi_device_image *image, uint32_t call,
                              struct shmemi_vector<T> v)
{
    uint32_t polls = 0;
    shmemi_check_wait(image, call, v.ivars, v.n * sizeof(T), v.cmp);
    for (size_t i = 0; i < v.n; i++)
        while (v.in(i) && !v.holds(i))
            shmemi_keep_waiting(image, &polls);
}

/* Reports whether the comparison is true for each word of v. */
template <class T>
SHMEMI_D int shmemi_test_all(const struct shmemi_device_image *image, uint32_t call,
                             struct shmemi_vector<T> v)
{
    shmemi_check_wait(image, call, v.ivars, v.n * sizeof(T), v.cmp);
    for (size_t i = 0; i < v.n; i++)
        if (v.in(i) && !v.holds(i))
            return 0;
    return 1;
}

/*
 * Returns the index of the first word that satisfies the comparison, or SHMEMI_NONE. It sets *any
 * to 1 if it has found a word that status does not exclude: only then may a caller wait.
 */
template <class T> SHMEMI_D size_t shmemi_find(const struct shmemi_vector<T> &v, int *any)
{
    for (size_t i = 0; i < v.n; i++) {
        if (!v.in(i))
            continue;
        *any = 1;
        if (v.holds(i))
            return i;
    }
    return SHMEMI_NONE;
}

/* Returns the index of a word for which the comparison is true, or SHMEMI_NONE. */
template <class T>
SHMEMI_D size_t shmemi_test_any(const struct shmemi_device_image *image, uint32_t call,
                                struct shmemi_vector<T> v)
{
    int any = 0;
    shmemi_check_wait(image, call, v.ivars, v.n * sizeof(T), v.cmp);
    return shmemi_find(v, &any);
}

/* Waits until the comparison is true for some word, and returns its index; SHMEMI_NONE: status
 * excludes all words. */
template <class T>
SHMEMI_D size_t shmemi_wait_any(const struct shmemi_device_image *image, uint32_t call,
                                struct shmemi_vector<T> v)
{
    uint32_t polls = 0;
    int any = 0;
    shmemi_check_wait(image, call, v.ivars, v.n * sizeof(T), v.cmp);
    for (;;) {
        size_t i = shmemi_find(v, &any);
        if (i != SHMEMI_NONE || !any)
            return i;
        shmemi_keep_waiting(image, &polls);
    }
}

/*
 * Stores the indices of all words that satisfy the comparison and returns how many there are. It
 * sets *any to 1 if status does not exclude all words: only then may a caller wait.
 */
template <class T>
SHMEMI_D size_t shmemi_collect(const struct shmemi_vector<T> &v, size_t *indices, int *any)
{
    size_t found = 0;
    for (size_t i = 0; i < v.n; i++) {
        if (!v.in(i))
            continue;
        *any = 1;
        if (v.holds(i))
            indices[found++] = i;
    }
    return found;
}

/* Stores the indices of all words for which the comparison is true, and returns their number. */
template <class T>
SHMEMI_D size_t shmemi_test_some(const struct shmemi_device_image *image, uint32_t call,
                                 struct shmemi_vector<T> v, size_t *indices)
{
    int any = 0;
    shmemi_check_wait(image, call, v.ivars, v.n * sizeof(T), v.cmp);
    return shmemi_collect(v, indices, &any);
}

/* Waits until the comparison is true for some words, stores their indices and returns their
 * number; 0: status excludes all words. */
template <class T>
SHMEMI_D size_t shmemi_wait_some(const struct shmemi_device_image *image, uint32_t call,
                                 struct shmemi_vector<T> v, size_t *indices)
{
    uint32_t polls = 0;
    int any = 0;
    shmemi_check_wait(image, call, v.ivars, v.n * sizeof(T), v.cmp);
    for (;;) {
        size_t found = shmemi_collect(v, indices, &any);
        if (found != 0 || !any)
            return found;
        shmemi_keep_waiting(image, &polls);
    }
}

/* Returns the arguments of a wait or test of several words as a struct, as the functions above take
 * them. */
template <class T>
SHMEMI_D struct shmemi_vector<T> shmemi_words_of(const T *ivars, size_t n, const int *status,
                                                 int cmp, const T *values, int each) {
    struct shmemi_vector<T> v = {
        ivars, n, status, cmp, values, each
    };
    return v;
}

#endif

#endif
