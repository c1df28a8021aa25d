/* waiter.h: one wait, as the waiting thread and the reports see it. */
#ifndef SHMEMI_WAITER_H
#define SHMEMI_WAITER_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Writes what a wait is for into text, for a report: "for the contribution of PE 3". */
typedef void (*shmemi_describe)(const void *subject, char *text, size_t size);

/* Lists the PEs for which the wait waits, at most `limit` of them, and returns how many there are
 * in all. */
typedef int (*shmemi_late)(const void *subject, int32_t *pes, int limit);

/*
 * Whose loss ends a wait (SHMEM_ON_FAILURE=return). The first six are kinds of waits that any PE
 * may end, so the library does not know for which PE they are: in each thread a loss ends one wait
 * of each kind, even if another call has reported that loss.
 */
enum shmemi_whom {
    SHMEMI_ANY_WRITER,   /* a PE that stores to memory */
    SHMEMI_ANY_NOTIFIER, /* a PE that adds to a notification counter */
    SHMEMI_ANY_TOKEN,    /* the sender of an eager token */
    SHMEMI_ANY_SENDER,   /* the sender of a two-sided message */
    SHMEMI_ANY_MATE,     /* a PE that makes the same team from an id */
    SHMEMI_ANY_TESTED,   /* a test that does not wait */
    SHMEMI_ANY_KINDS,    /* how many kinds there are */

    SHMEMI_MEMBERS, /* any PE that takes part in the collective call */
    SHMEMI_NOBODY,  /* no PE: the core completes the awaited operation */
};

/* How far the preparation of a sleep is. */
enum shmemi_sleep_stage {
    SHMEMI_AWAKE,
    SHMEMI_ANNOUNCED, /* writers see the announcement once a membarrier has run */
    SHMEMI_READY,     /* the membarrier has run: the thread may sleep */
};

/* The times on which the reports of a wait depend. */
struct shmemi_wait_clock {
    uint64_t since;    /* when it began; 0: the clock was not read yet */
    uint64_t reported; /* when the last report was made */
    uint32_t requests; /* state.report_requests when it was last read */
    bool probed;       /* late PEs were asked what they are doing, for the next report */
};

/* The state of one wait. Each wait that does not end at once clears one of these, so fields that
 * only long waits need are not in it. */
struct shmemi_waiter {
    struct shmemi_ctl *ctl;   /* the control page on which it sleeps */
    const char *call;         /* the program's call that waits */
    shmemi_describe describe; /* for reports; NULL: they do not say what the wait is for */
    const void *subject;      /* the argument of describe and late */
    struct shmemi_wait_clock clock;
    uint64_t first;      /* when the clock was first read, 0: not yet */
    uint64_t awake;      /* when the wait last began to spin or yield; 0: not yet */
    uint32_t steps;      /* steps since then; UINT32_MAX: the next step sleeps */
    uint32_t yield_at;   /* the step of the next yield; 0: not known */
    uint32_t unclocked;  /* steps since the clock was read */
    uint32_t wakes;      /* the value of the futex word at the announcement */
    uint32_t membarrier; /* the number of the membarrier that the sleep needs */
    uint32_t nap_us;     /* the length of the next sleep, in microseconds */
    uint64_t announced;  /* when the sleeper was announced */
    shmemi_late late;    /* lists the awaited PEs, or NULL; not used if about is set */
    uint64_t began;      /* with stalls: when the wait began, 0: not yet */
    bool stalls;         /* it waits for room for an operation, and counts as a stall */
    bool woken;          /* it has slept, and a writer has woken it */
    bool overslept;      /* the last step was a sleep that ended by its time limit */
    bool polling;        /* counted in state.pollers */
    enum shmemi_sleep_stage stage;
    enum shmemi_whom whom;
    int pe; /* the awaited PE, if about is set */
    bool about;
    bool limited;  /* the time limit of shmemx_wait_limit applies to it */
    uint8_t shown; /* 1 + its entry in the status page, 0: none */
    uint8_t entry; /* 1 + its entry in the control page, 0: none */
};
_Static_assert(SHMEMI_STATUSPAGE_WAITS < UINT8_MAX && SHMEMI_LONG_WAITS < UINT8_MAX, "places fit");

#pragma GCC visibility pop

#endif
