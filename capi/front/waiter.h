/* waiter.h: a wait, for those who wait and for those who report it. */
#ifndef SHMEMI_WAITER_H
#define SHMEMI_WAITER_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Describes the wait in the report that follows a timeout; writes into text. */
typedef void (*shmemi_describe)(const void *subject, char *text, size_t size);

/* Lists PEs that have not come, at most so many of them, and returns how many there are. */
typedef int (*shmemi_late)(const void *subject, int32_t *pes, int most);

/* Whose loss ends a wait (SHMEM_ON_FAILURE=return). */
enum shmemi_whom {
    SHMEMI_ANYBODY, /* of any PE that the thread has not been told of: who would write
                       to the memory that is waited for is not known */
    SHMEMI_MEMBERS, /* of a PE that takes part in the collective call */
    SHMEMI_NOBODY,  /* of none: the core ends what is waited for */
};

/* What the reports of a wait go by. */
struct shmemi_wait_clock {
    uint64_t since;    /* when it began, 0: nobody has looked yet */
    uint64_t reported; /* when the last report was made */
    uint32_t asked;    /* state.asked when it was looked at */
    bool probed;
};

/* Every wait that does not end at once clears one of these. What long waits alone need is
 * elsewhere. */
struct shmemi_waiter {
    struct shmemi_ctl *ctl; /* sleeps here: writers to what is waited for wake this page */
    const char *call;
    shmemi_describe describe;
    const void *subject;
    struct shmemi_wait_clock clock;
    uint64_t first; /* when the clock was looked at first, 0: not yet */
    uint64_t awake; /* the same since the network was busy */
    uint32_t turns;
    uint32_t unclocked; /* turns since the clock was looked at */
    uint32_t wakes;     /* the futex word at the announcement */
    uint32_t nap_us;
    shmemi_late late; /* lists the PEs that are waited for, where about is not set; or NULL */
    uint64_t began;   /* with stalls: when the first turn was, 0: none yet */
    bool stalls;      /* it waits for room, which is counted */
    bool announced;
    bool polling; /* counted in state.pollers */
    enum shmemi_whom whom;
    int pe; /* that is waited for, where about is set */
    bool about;
    bool limited;  /* shmemx_wait_limit counts for it */
    uint8_t shown; /* 1 + the place where other processes see it, 0: none */
    uint8_t entry; /* the same where PEs of the node see it */
};
_Static_assert(SHMEMI_LIVE_WAITS < UINT8_MAX && SHMEMI_LONG_WAITS < UINT8_MAX, "places fit");

#pragma GCC visibility pop

#endif
