/*
 * wait.h: waiting for a word of this PE's memory that others write, and looking
 * at it.
 */
#ifndef SHMEM_WAIT_H
#define SHMEM_WAIT_H

#include <shmem.h>

#include "order.h"

#ifdef __CUDACC__

/* How often a wait looks at its word before it asks whether the job ends. */
#define SHMEMI_LOOKS 1024

template <class T> SHMEMI_D int shmemi_compare(T have, int cmp, T want)
{
    switch (cmp) {
    case SHMEM_CMP_EQ:
        return have == want;
    case SHMEM_CMP_NE:
        return have != want;
    case SHMEM_CMP_GT:
        return have > want;
    case SHMEM_CMP_LE:
        return have <= want;
    case SHMEM_CMP_LT:
        return have < want;
    default:
        return have >= want;
    }
}

SHMEMI_D void shmemi_check_wait(const struct shmemi_device_image *image, uint32_t call,
                                const void *ivar, uint64_t bytes, int cmp)
{
    shmemi_check_init(image, call);
    shmemi_check_range(image, call, image->job.me, ivar, bytes);
    if ((uint32_t)cmp > SHMEM_CMP_GE)
        shmemi_fault(image, SHMEMI_FAULT_COMPARISON, call, image->job.me, (uint64_t)(uintptr_t)ivar,
                     (uint64_t)cmp);
}

/* The word as it is now; what its writer wrote before it is visible after. */
template <class T> SHMEMI_D T shmemi_look(const T *ivar)
{
    typename shmemi_bits<sizeof(T)>::type v;
    shmemi_load_flag(ivar, &v);
    return shmemi_as<T>(v);
}

/* Between two looks: ends the thread when the job ends. */
SHMEMI_D void shmemi_keep_waiting(const struct shmemi_device_image *image, uint32_t *looks)
{
    if (++*looks % SHMEMI_LOOKS == 0 && image->job.stop != NULL &&
        shmemi_load_far32((const uint32_t *)image->job.stop) != 0)
        shmemi_end();
}

template <class T>
SHMEMI_D T shmemi_wait(const struct shmemi_device_image *image, uint32_t call, const T *ivar,
                       int cmp, T value)
{
    uint32_t looks = 0;
    shmemi_check_wait(image, call, ivar, sizeof(T), cmp);
    T v = shmemi_look(ivar);
    while (!shmemi_compare(v, cmp, value)) {
        shmemi_keep_waiting(image, &looks);
        v = shmemi_look(ivar);
    }
    return v;
}

template <class T>
SHMEMI_D int shmemi_test(const struct shmemi_device_image *image, uint32_t call, const T *ivar,
                         int cmp, T value)
{
    shmemi_check_wait(image, call, ivar, sizeof(T), cmp);
    return shmemi_compare(shmemi_look(ivar), cmp, value);
}

#endif

#endif
