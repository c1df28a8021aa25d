/*
 * until.c: wait_until and test of one element, and of a signal.
 */
#define _GNU_SOURCE
#include "until.h"

#include "address.h"
#include "buffers.h"
#include "error.h"
#include "gpu.h"
#include "netcall.h"
#include "wait.h"

#include <inttypes.h>
#include <stdio.h>

/* A wait's comparison, for its report. */
struct comparison {
    const void *ivar; /* the word's address */
    int cmp;          /* SHMEM_CMP_ */
    int width;        /* bytes of the word: 2, 4 or 8 */
    bool is_signed;
    uint64_t value; /* with which the word is compared */
};

/* Returns the text of a comparison for reports: ">=" for SHMEM_CMP_GE. */
static const char *operator_text(int cmp)
{
    static const char *const text[] = {
        [SHMEM_CMP_EQ] = "==", [SHMEM_CMP_NE] = "!=", [SHMEM_CMP_GT] = ">",
        [SHMEM_CMP_LE] = "<=", [SHMEM_CMP_LT] = "<",  [SHMEM_CMP_GE] = ">=",
    };
    return text[cmp];
}

/* Returns what the word of a wait contains now, as bits, for the report of a long wait. The word
 * may be in memory of a GPU. */
static uint64_t bits_now(const struct comparison *c)
{
    if (shmemi_on_gpu(c->ivar))
        return shmemi_read_gpu(c->ivar, (size_t)c->width, "shmem_wait_until");
    switch (c->width) {
    case 2:
        return shmemi_read_once((const uint16_t *)c->ivar);
    case 4:
        return shmemi_read_once((const uint32_t *)c->ivar);
    default:
        return shmemi_read_once((const uint64_t *)c->ivar);
    }
}

/* For the hang report: prints the word, the comparison, and the word's value now. */
static void describe_comparison(const void *subject, char *text, size_t size)
{
    const struct comparison *c = subject;
    int64_t now = (int64_t)bits_now(c);
    if (c->width == 4 && c->is_signed)
        now = (int32_t)now;
    if (c->width == 2 && c->is_signed)
        now = (int16_t)now;
    const char *f = c->is_signed ? "for %p (%s) %s %" PRId64 ", now %" PRId64
                                 : "for %p (%s) %s %" PRIu64 ", now %" PRIu64;
    char place[SHMEMI_PLACE];
    snprintf(text, size, f, c->ivar, shmemi_place(place, c->ivar), operator_text(c->cmp), c->value,
             now);
}

/* Ends the program with the reason if the arguments of a wait are wrong. Returns if the address is
 * in a symmetric static or a registered buffer: those are valid, although the caller's quick check,
 * which knows only the heap, has failed. */
static SHMEMI_COLD void refuse(const void *ivar, int cmp, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if ((unsigned)cmp > SHMEM_CMP_GE)
        shmemi_abort(call, "use SHMEM_CMP_EQ, NE, GT, GE, LT or LE", "comparison %d does not exist",
                     cmp);
    if (shmemi_outside_offset(ivar, 1) != SHMEMI_NO_OFFSET)
        return;
    shmemi_check_allocated("the symmetric address", ivar, call);
    shmemi_refuse_outside(ivar, 1, call);
    shmemi_abort(call, "wait on memory from shmem_malloc", "%p is not a symmetric address", ivar);
}

/* Under full checks, ends the program if the memory was freed, or the word is not aligned. */
static SHMEMI_COLD void check_fully(const void *ivar, size_t size, const char *call)
{
    shmemi_check_aligned(ivar, size, call);
    if (shmemi_in_heap(ivar, size))
        shmemi_check_block(ivar, size, call);
}

/* Ends the program if the address or the comparison of a wait is invalid. */
SHMEMI_INLINE void check(const void *ivar, int cmp, size_t size, const char *call)
{
    uintptr_t offset = (uintptr_t)ivar - shmemi_state.heap_base;
    if (SHMEMI_UNLIKELY(offset >= shmemi_state.heap_size || (unsigned)cmp > SHMEM_CMP_GE))
        refuse(ivar, cmp, call);
    if (SHMEMI_UNLIKELY(shmemi_state.checks == SHMEMI_CHECKS_FULL))
        check_fully(ivar, size, call);
}

/* Defines for the type T: whether the comparison holds now (*now gets the value that was compared),
 * the wait, and the test. A test that fails polls the network once and compares again, so that a
 * program that only tests makes progress. */
#define COMPARISONS(T, suffix, width_, signed_)                                                    \
    SHMEMI_INLINE bool holds_##suffix(const void *ivar, int cmp, T value, T *now,                  \
                                      const char *call)                                            \
    {                                                                                              \
        *now = shmemi_on_gpu(ivar) ? (T)shmemi_read_gpu(ivar, sizeof(T), call)                     \
                                   : shmemi_observe((const T *)ivar);                              \
        switch (cmp) {                                                                             \
        case SHMEM_CMP_EQ:                                                                         \
            return *now == value;                                                                  \
        case SHMEM_CMP_NE:                                                                         \
            return *now != value;                                                                  \
        case SHMEM_CMP_GT:                                                                         \
            return *now > value;                                                                   \
        case SHMEM_CMP_GE:                                                                         \
            return *now >= value;                                                                  \
        case SHMEM_CMP_LT:                                                                         \
            return *now < value;                                                                   \
        default:                                                                                   \
            return *now <= value;                                                                  \
        }                                                                                          \
    }                                                                                              \
    T shmemi_wait_##suffix(const void *ivar, int cmp, T value, const char *call)                   \
    {                                                                                              \
        check(ivar, cmp, sizeof(T), call);                                                         \
        struct comparison c = {ivar, cmp, width_, signed_, (uint64_t)value};                       \
        T now;                                                                                     \
        SHMEMI_WAIT(SHMEMI_ANY_WRITER, call, describe_comparison, &c,                              \
                    holds_##suffix(ivar, cmp, value, &now, call));                                 \
        return now;                                                                                \
    }                                                                                              \
    int shmemi_test_##suffix(const void *ivar, int cmp, T value, const char *call)                 \
    {                                                                                              \
        T now;                                                                                     \
        check(ivar, cmp, sizeof(T), call);                                                         \
        if (holds_##suffix(ivar, cmp, value, &now, call))                                          \
            return 1;                                                                              \
        if (shmemi_state.networked)                                                                \
            shmemi_net_poll(call);                                                                 \
        shmemi_fail_test_if_lost(call);                                                            \
        return holds_##suffix(ivar, cmp, value, &now, call);                                       \
    }

COMPARISONS(int16_t, i16, 2, true)
COMPARISONS(uint16_t, u16, 2, false)
COMPARISONS(int32_t, i32, 4, true)
COMPARISONS(uint32_t, u32, 4, false)
COMPARISONS(int64_t, i64, 8, true)
COMPARISONS(uint64_t, u64, 8, false)

/* Implements shmem_signal_fetch: returns the signal's present value, after one poll of the network.
 * SHMEM_CMP_EQ only passes the check of a comparison. */
uint64_t shmemi_signal_fetch(const uint64_t *sig_addr, const char *call)
{
    check(sig_addr, SHMEM_CMP_EQ, sizeof *sig_addr, call);
    if (shmemi_state.networked)
        shmemi_net_poll(call);
    return shmemi_on_gpu(sig_addr) ? shmemi_read_gpu(sig_addr, sizeof *sig_addr, call)
                                   : shmemi_observe(sig_addr);
}

/* Implements shmem_signal_wait_until: returns the value of the signal that ended the wait. */
uint64_t shmemi_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t value, const char *call)
{
    return shmemi_wait_u64(sig_addr, cmp, value, call);
}
