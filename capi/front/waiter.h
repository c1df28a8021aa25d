/* waiter.h: one wait, as the waiting thread and the reports see it. */
#ifndef SHMEMI_WAITER_H
#define SHMEMI_WAITER_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Writes what a wait is for into text, for a report: "for PE 3 to come". */
typedef void (*shmemi_describe)(const void *subject, char *text, size_t size);

/* Lists up to `most` PEs that have not arrived, and returns how many there are. */
typedef int (*shmemi_late)(const void *subject, int32_t *pes, int most);

/*
 * Whose loss ends a wait (SHMEM_ON_FAILURE=return). The first six are kinds of waits that any PE
 * may end, since it is not known which would: in each thread a loss ends one wait of each kind,
 * whatever other calls have reported before.
 */
enum shmemi_whom {
    SHMEMI_ANY_WRITER,   /* a PE that stores to memory */
    SHMEMI_ANY_NOTIFIER, /* a PE that adds to a notification counter */
    SHMEMI_ANY_TOKEN,    /* the sender of an eager token */
    SHMEMI_ANY_SENDER,   /* the sender of a two-sided message */
    SHMEMI_ANY_MATE,     /* a PE that makes a team by an id */
    SHMEMI_ANY_TESTED,   /* a test that does not wait */
    SHMEMI_ANY_KINDS,    /* how many kinds there are */

    SHMEMI_MEMBERS, /* any PE that takes part in the collective call */
    SHMEMI_NOBODY,  /* no PE: the core completes the awaited operation */
};

/* How far a wait is on its way to sleep. */
enum shmemi_sleep_stage {
    SHMEMI_AWAKE,
    SHMEMI_ANNOUNCED, /* writers see it once its membarrier has run */
    SHMEMI_READY,     /* its membarrier has run: the thread may sleep */
};

/* The times that the reports of a wait depend on. */
struct shmemi_wait_clock {
    uint64_t since;    /* when it began; 0: the clock was not read yet */
    uint64_t reported; /* when the last report was made */
    uint32_t requests; /* state.report_requests when it was last read */
    bool probed;
};

/* The state of one wait. Each wait that does not end at once clears one of these, so fields that
 * only long waits need are elsewhere. */
struct shmemi_waiter {
    struct shmemi_ctl *ctl; /* sleeps on this page, which writers wake */
    const char *call;
    shmemi_describe describe;
    const void *subject;
    struct shmemi_wait_clock clock;
    uint64_t first;      /* when the clock was first read, 0: not yet */
    uint64_t awake;      /* when the wait was last awake anew; 0: not yet */
    uint32_t steps;      /* UINT32_MAX: the wait is to sleep */
    uint32_t yield_at;   /* the step of the next yield; 0: not known */
    uint32_t unclocked;  /* steps since the clock was read */
    uint32_t wakes;      /* the futex word at the announcement */
    uint32_t membarrier; /* the number of the membarrier that the sleep needs */
    uint32_t nap_us;
    uint64_t announced; /* when the sleeper was announced */
    shmemi_late late;   /* lists the awaited PEs, unless about is set; or NULL */
    uint64_t began;     /* with stalls: when the wait began, 0: not yet */
    bool stalls;        /* a wait for room, counted as a stall */
    bool woken;         /* it has slept, and a writer has woken it */
    bool overslept;     /* the last step was a sleep that ended by its bound */
    bool polling;       /* counted in state.pollers */
    enum shmemi_sleep_stage stage;
    enum shmemi_whom whom;
    int pe; /* the awaited PE, if about is set */
    bool about;
    bool limited;  /* shmemx_wait_limit counts for it */
    uint8_t shown; /* 1 + its entry in the status page, 0: none */
    uint8_t entry; /* 1 + its entry in the control page, 0: none */
};
_Static_assert(SHMEMI_STATUSPAGE_WAITS < UINT8_MAX && SHMEMI_LONG_WAITS < UINT8_MAX, "places fit");

#pragma GCC visibility pop

#endif
